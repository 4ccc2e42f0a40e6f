// SPDX-License-Identifier: Apache-2.0
// What the configuration says about M3UA peers and application servers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/time.h"

namespace signalbox::sigtran {

enum class TrafficMode : std::uint8_t {
    override_ = 1,
    loadshare = 2,
    broadcast = 3
};  // RFC 4666 3.5.1
enum class Admin : std::uint8_t { enabled, blocked, shutdown };

struct Quirks {  // sigtran.md section 2, decision 7
    bool etsi_rc_error = false;
    bool no_notify = false;
    bool snm_in_inactive = false;
    bool data_on_stream_0 = false;
    bool daud_in_asp = false;
    bool ppid_any = false;
    friend bool operator==(const Quirks&, const Quirks&) = default;
};

struct PeerSettings {
    std::string name;
    std::optional<std::uint32_t> asp_id;
    Admin admin = Admin::enabled;
    Quirks quirks;
    Duration beat_interval{};  // T(beat); 0: no BEAT of ours
    bool retired = false;      // a reload took it away; its position stays
    friend bool operator==(const PeerSettings&, const PeerSettings&) = default;
};

/// What a message must show besides its destination (RFC 4666 3.6.1); everything absent: any.
struct KeyFields {
    std::optional<PointCode> opc;
    std::uint8_t opc_mask_bits = 0;
    std::uint16_t service_indicators = 0;  // a bit each; 0: any
    std::vector<std::uint8_t> ssns;        // sorted
    bool has_circuits = false;
    std::uint16_t first_circuit = 0;
    std::uint16_t last_circuit = 0;
    friend bool operator==(const KeyFields&, const KeyFields&) = default;
};

struct DestinationKey {
    PointCode dpc;
    std::uint8_t mask_bits = 0;
    KeyFields fields{};
    std::uint8_t priority = 1;  // 1 is taken first; of `routes`: what the operator says
    std::uint16_t weight = 1;
    friend bool operator==(const DestinationKey&, const DestinationKey&) = default;
};

/// What becomes of messages on the wire, not acknowledged, when their association is lost.
enum class OnLoss : std::uint8_t { resend, report };

struct Member {
    PeerIndex peer;
    std::uint16_t weight = 1;
    friend bool operator==(const Member&, const Member&) = default;
};

struct AsSettings {
    std::string name;
    std::uint16_t instance = 0;                    // index of mtp3::Instance
    std::optional<std::uint32_t> routing_context;  // absent: none on the wire; 0 is a value
    std::optional<std::uint32_t> network_appearance;
    std::vector<DestinationKey> keys;
    TrafficMode mode = TrafficMode::loadshare;
    std::uint16_t required_active = 1;
    Duration recovery_timer = std::chrono::seconds{2};  // T(r)
    std::uint32_t recovery_queue_messages = 1024;
    std::uint32_t recovery_queue_bytes = 4 * 1024 * 1024;
    OnLoss on_loss = OnLoss::resend;
    std::vector<Member> members;
    std::uint8_t sls_bits = 4;  // of its instance's variant
    bool retired = false;       // a reload took it away; its position stays
    friend bool operator==(const AsSettings&, const AsSettings&) = default;
};

/// ASPs see no difference: the reload of one into the other leaves them active.
bool is_same_on_wire(const AsSettings& a, const AsSettings& b);

}  // namespace signalbox::sigtran
