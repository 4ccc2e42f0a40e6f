// SPDX-License-Identifier: Apache-2.0
// Packets as the Linux kernel sends them, with their dissection.
#pragma once
#include "hex.h"

namespace signalbox::wire::samples {

// IPv4 192.168.0.1 -> 192.0.2.1, ECT(0), DF, total 68; SCTP 8080 -> 8080, tag 0, CRC 0xf574fc14
//   INIT, length 36: initiate tag 0x67ab569c, a_rwnd 106496, 10 streams out, 65535 in, TSN
//   3179790325
//     supported address types (12), length 6: IPv4; padding 2
//     ECN capable (0x8000), length 4
//     forward TSN supported (0xc000), length 4
inline constexpr auto kInit =
    hex("4502 0044 0000 4000 4084 b789 c0a80001 c0000201"
        "1f90 1f90 00000000 f574fc14"
        "01 00 0024 67ab569c 0001a000 000a ffff bd87bff5"
        "000c 0006 0005 0000 8000 0004 c000 0004");

// Ethernet 52:54:00:77:00:03 -> 52:54:00:77:00:05, IPv4 10.77.0.3 -> 10.77.0.5, total 88
// SCTP 2905 -> 51044, tag 0x1676ccf8
//   SACK, length 16: cumulative TSN 518146764, a_rwnd 106496, no gaps, no duplicates
//   DATA, length 40, BE: TSN 2203757252, stream 0, SSN 1, PPID 3 (M3UA): ASPAC ACK, 24 bytes
inline constexpr auto kSackAndData =
    hex("525400770005 525400770003 0800"
        "4502 0058 7b78 4000 4084 aa06 0a4d0003 0a4d0005"
        "0b59 c764 1676ccf8 e67c20e6"
        "03 00 0010 1ee24acc 0001a000 0000 0000"
        "00 03 0028 835aaac4 0000 0001 00000003"
        "01000403 00000018 000b0008 00000001 00060008 00000005");

}  // namespace signalbox::wire::samples
