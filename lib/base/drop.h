// SPDX-License-Identifier: Apache-2.0
// Every reason for which a packet, chunk or message is discarded: enum, counter, metric label and
// documentation in one list. Add a reason here and it exists everywhere; no reason is called
// "unknown".
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace signalbox {

// X(name, help). The name is the metric's label; append at the end of its group.
#define SIGNALBOX_DROPS(X)                                                                    \
    /* IP */                                                                                  \
    X(ip_truncated, "IP packet shorter than its header or length field says")                 \
    X(ip_bad_version, "IP version is neither 4 nor 6")                                        \
    X(ip_bad_header_checksum, "IPv4 header checksum is wrong")                                \
    X(ip_not_sctp, "IP protocol is not SCTP and is not served")                               \
    X(ip_not_ours, "destination is not an address of this node")                              \
    X(ip_bad_source, "source is unspecified, multicast, broadcast, loopback or our own")      \
    X(ip_bad_destination, "destination is multicast or broadcast")                            \
    X(ip_fragment_refused, "fragment overlaps, is one of too many, or timed out")             \
    X(ip_bad_extension, "IPv6 extension header chain is malformed or too long")               \
    X(l2_not_ours, "frame for another station or another VLAN")                               \
    X(l2_unknown_ethertype, "frame of a protocol that is not served")                         \
    X(arp_malformed, "ARP or neighbour discovery message is malformed")                       \
    X(icmp_not_served, "ICMP message of a type that is not served")                           \
    X(icmp_malformed, "ICMP message that is short or whose checksum is wrong")                \
    X(icmp_unmatched, "ICMP error that quotes no association or a wrong tag")                 \
    X(icmp_ignored, "ICMP error with the right tag that changes nothing here")                \
    X(icmp_limited, "ICMP error over the budget")                                             \
    X(neighbour_unresolved, "no answer from the neighbour, or its queue is full")             \
    X(no_route, "no route or gateway for the destination")                                    \
    /* SCTP packet */                                                                         \
    X(sctp_truncated, "SCTP packet shorter than common header and one chunk")                 \
    X(bad_crc, "CRC32c is wrong")                                                             \
    X(port_zero, "source or destination port is 0")                                           \
    X(bad_tag, "verification tag is wrong for the association")                               \
    X(chunk_bad_length, "chunk length lies; the rest of the packet is discarded")             \
    X(chunk_malformed, "known chunk whose content is impossible")                             \
    X(chunk_too_many, "more chunks in one packet than the limit")                             \
    X(chunk_unexpected, "chunk that the state of the association does not accept")            \
    X(chunk_unknown, "chunk type is not known; acted on by its high bits")                    \
    X(out_of_the_blue, "packet for no association")                                           \
    X(out_of_the_blue_limited, "packet for no association, not answered: budget used up")     \
    X(not_listening, "no listener on the port")                                               \
    X(after_close, "rest of a packet after its association ended")                            \
    /* handshake */                                                                           \
    X(init_malformed, "INIT or INIT ACK violates RFC 9260 3.3.2 or 3.3.3")                    \
    X(init_bundled, "INIT, INIT ACK or SHUTDOWN COMPLETE bundled with another chunk")         \
    X(init_refused_peer, "INIT from a peer that the access list does not hold")               \
    X(init_limited, "INIT over the budget")                                                   \
    X(init_refused_resources, "INIT refused: limit of associations or addresses")             \
    X(cookie_malformed, "state cookie is too short or its lengths lie")                       \
    X(cookie_bad_mac, "state cookie fails authentication")                                    \
    X(cookie_mismatch, "state cookie was made for other ports, tag or address")               \
    X(cookie_stale, "state cookie is past its life")                                          \
    X(cookie_late, "COOKIE ECHO of an old association (5.2.4 case C)")                        \
    X(cookie_limited, "COOKIE ECHO over the budget")                                          \
    X(cookie_try_lock, "COOKIE ECHO dropped: the shard was being written")                    \
    X(table_full, "the transport table takes no more entries of this key, or none at all")    \
    X(path_not_indexed, "from an address that the table may not yet hold")                    \
    X(restart_new_addresses, "restart with addresses that the association did not have")      \
    /* data */                                                                                \
    X(data_no_memory, "DATA not received: no page free")                                      \
    X(data_window_full, "DATA beyond the closed receive window")                              \
    X(data_out_of_range, "DATA too far ahead of the cumulative TSN")                          \
    X(data_duplicate, "DATA that was received before")                                        \
    X(data_invalid_stream, "DATA on a stream that was not negotiated")                        \
    X(data_empty, "DATA without user data")                                                   \
    X(data_protocol_violation, "fragments that contradict each other")                        \
    X(data_too_long, "message longer than the limit")                                         \
    X(reassembly_stalled, "association ended: undeliverable DATA waited for too long")        \
    X(data_not_accepted, "DATA in a state that takes none")                                   \
    X(sack_malformed, "SACK whose counts or blocks are impossible")                           \
    X(sack_old, "SACK older than one already applied")                                        \
    X(sack_unsent, "SACK of a TSN that was never sent")                                       \
    X(forward_tsn_malformed, "FORWARD TSN of a wrong length or beyond the window")            \
    X(forward_tsn_old, "FORWARD TSN that skips nothing new")                                  \
    X(forward_tsn_bad_stream, "FORWARD TSN entry of a stream that was not negotiated")        \
    X(data_skipped, "fragments of a message that the peer gave up")                           \
    X(message_abandoned, "message past its lifetime or its retransmission limit")             \
    X(reconfig_malformed, "RE-CONFIG whose parameters are impossible")                        \
    X(reconfig_bad_number, "RE-CONFIG request that is neither the next nor the last one")     \
    X(reconfig_unmatched, "RE-CONFIG response to no request")                                 \
    X(stream_not_added, "message for an outgoing stream that the peer did not add")           \
    X(heartbeat_ack_unmatched, "HEARTBEAT ACK whose nonce is not ours")                       \
    X(send_buffer_full, "message refused: the association's send buffer is full")             \
    X(transmit_no_buffer, "no transmit buffer")                                               \
    X(transmit_refused, "the port did not take the packet")                                   \
    /* hand-off */                                                                            \
    X(handoff_ring_full, "packet for another worker: its ring is full")                       \
    X(message_ring_full, "message for another worker: its ring is full")                      \
    X(control_ring_full, "management message: the control ring is full")                      \
    /* M3UA and routing */                                                                    \
    X(ppid_unexpected, "payload protocol identifier is not the listener's")                   \
    X(m3ua_malformed, "M3UA message that cannot be parsed")                                   \
    X(m3ua_unexpected, "M3UA message in a state that does not take it")                       \
    X(m3ua_stream_zero, "M3UA DATA on stream 0")                                              \
    X(m3ua_bad_routing_context, "M3UA DATA with a routing context that is not served")        \
    X(m3ua_bad_network_appearance, "M3UA DATA with a network appearance that is not served")  \
    X(m3ua_missing_parameter, "M3UA message without a mandatory parameter")                   \
    X(m3ua_limited, "M3UA management message over the budget of its peer")                    \
    X(audit_limited, "audit not answered: asked a moment ago, or too many at once")           \
    X(m3ua_beat_unanswered, "nothing heard for 2 x T(beat); the association was aborted")     \
    X(m3ua_management_overflow, "management message refused: send buffer full; aborted")      \
    X(broadcast_copy, "copy of a broadcast message that its ASP could not take")              \
    X(peer_rate_limited, "DATA over the messages_per_second of its peer")                     \
    X(screening_denied, "refused by the ingress screening")                                   \
    X(unacknowledged_reported, "on the wire when its association was lost (on_loss: report)") \
    X(mtp3_own_origin, "our own point code as origin, from outside: forged or a loop")        \
    X(mtp3_network_management, "service indicator 0 to 2 from a peer: never routed")          \
    X(mtp3_bad_service_information, "network indicator or service indicator is reserved")     \
    X(mtp3_bad_network_indicator, "network indicator is not the instance's")                  \
    X(mtp3_bad_point_code, "point code out of the range of its variant")                      \
    X(mtp3_no_route, "no application server for the destination (HMRT)")                      \
    X(mtp3_loop, "message would go back to where it came from")                               \
    X(mtp3_local_user, "message for our own point code: no local user part")                  \
    X(as_unavailable, "application server is not active and never was pending")               \
    X(as_pending_expired, "T(r) over before an ASP became active")                            \
    X(as_pending_full, "queue of the pending application server is full")                     \
    X(association_lost, "message given up with its association")                              \
    X(peer_congested, "message held too long at its incoming association")

enum class Drop : std::uint8_t {
#define SIGNALBOX_DROP_ENUM(name, help) name,
    SIGNALBOX_DROPS(SIGNALBOX_DROP_ENUM)
#undef SIGNALBOX_DROP_ENUM
};

#define SIGNALBOX_DROP_COUNT(name, help) +1
inline constexpr std::size_t kDropCount = 0 SIGNALBOX_DROPS(SIGNALBOX_DROP_COUNT);
#undef SIGNALBOX_DROP_COUNT

inline constexpr std::array<std::string_view, kDropCount> kDropNames{
#define SIGNALBOX_DROP_NAME(name, help) #name,
    SIGNALBOX_DROPS(SIGNALBOX_DROP_NAME)
#undef SIGNALBOX_DROP_NAME
};

inline constexpr std::array<std::string_view, kDropCount> kDropHelp{
#define SIGNALBOX_DROP_HELP(name, help) help,
    SIGNALBOX_DROPS(SIGNALBOX_DROP_HELP)
#undef SIGNALBOX_DROP_HELP
};

}  // namespace signalbox
