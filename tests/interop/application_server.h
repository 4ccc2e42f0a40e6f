// SPDX-License-Identifier: Apache-2.0
// An application server process: comes up in M3UA, sends stamped traffic through the gateway,
// judges what it gets.
//
//   connect -> ASPUP -> ASPUP ACK -> ASPAC -> ASPAC ACK, NTFY AS-ACTIVE -> DAUD .. DAVA -> traffic
//           -> ASPIA -> ASPIA ACK -> ASPDN -> ASPDN ACK -> SHUTDOWN
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "flow.h"
#include "options.h"
#include "sctp_socket.h"

namespace interop {

class ApplicationServer {
 public:
    ApplicationServer(const Options& options, const volatile std::atomic<bool>& stop);
    ~ApplicationServer();
    /// The exit code: 0 only when everything sent was taken and everything expected came, once, in
    /// order, intact.
    int run();

 private:
    using Clock = std::chrono::steady_clock;
    // What the receiver has seen; each flag is raised once and lowered by nobody but lost paths.
    struct Seen {
        bool up = false, aspup_ack = false, aspac_ack = false, as_active = false, dava = false;
        bool aspia_ack = false, aspdn_ack = false, ended = false;
    };

    bool bring_up();
    bool associate();
    bool await_association();
    bool wait_to_start();
    void send_traffic();
    bool send_one(std::uint64_t index);
    void wait_for_the_rest();
    void leave();
    std::uint64_t received();
    int report();
    void show_progress(bool now);

    void receive_all();
    void on_message(const Received& received);
    void on_data(const m3ua::Message& message, std::uint16_t stream);
    void on_notify(const m3ua::Message& message);
    void write_record(const Stamp& stamp);

    bool send_control(const m3ua::Message& message);
    m3ua::Message about_traffic(m3ua::Kind kind, bool with_mode) const;
    template <class Condition>
    bool wait(double seconds, Condition condition);
    bool out_of_time() const { return stop_ || Clock::now() >= deadline_; }

    const Options options_;
    const volatile std::atomic<bool>& stop_;
    const Clock::time_point started_ = Clock::now();
    const Clock::time_point deadline_;
    Clock::time_point first_sent_{};
    Clock::time_point last_progress_ = started_;
    std::unique_ptr<SctpSocket> socket_;
    std::thread receiver_;
    std::FILE* record_ = nullptr;
    std::uint16_t streams_ = 0;
    std::vector<std::uint64_t> next_sequence_;
    std::atomic<std::uint64_t> sent_{0};

    std::mutex mutex_;
    std::condition_variable changed_;
    // Below: under mutex_, receiver writes, main reads.
    Seen seen_;
    Ledger ledger_;
    std::uint64_t on_stream_zero_ = 0;
    std::uint64_t errors_ = 0;
    std::uint64_t last_error_ = 0;
    std::uint64_t paths_lost_ = 0;
    std::uint64_t paths_restored_ = 0;
    bool leaving_ = false;
    bool lost_ = false;
    std::string failed_at_;
};

}  // namespace interop
