// SPDX-License-Identifier: Apache-2.0
#include "unit/config/loaded.h"

namespace signalbox::config::test {

TEST_CASE(
    "RFC 9260's values need 63 s for a path with 5 retransmissions, and the description says so") {
    const Configuration c = good(
        load_text(kBase + "peers: [{name: a, listener: l, addresses: [10.0.0.2]}]\n", "t.yaml"));
    CHECK(describe(c) ==
          "profile rfc9260, 1 path (1 peer: a)\n"
          "  declares a path down within 63 s with data outstanding, 306.5 s idle\n"
          "  declares the association lost within 63 s with data outstanding, 306.5 s idle\n");
}

TEST_CASE(
    "PATH-3: with PF 0 the first time-out moves traffic; PATH-2: two paths sum their limits") {
    const Configuration c = good(load_text(
        kBase +
            "peers:\n"
            "  - {name: a, listener: l, addresses: [10.0.0.2, 10.0.0.3], profile: sigtran-lan}\n",
        "t.yaml"));
    CHECK(describe(c) ==
          "profile sigtran-lan, 2 paths (1 peer: a)\n"
          "  moves to another path within 0.12 s with data outstanding, 1.3 s idle\n"
          "  declares a path down within 1.56 s with data outstanding, 7.74 s idle\n"
          "  declares the association lost within 3.16 s with data outstanding, 14.14 s idle\n");
}

TEST_CASE("peers of one profile are described together") {
    const Configuration c = good(load_text(
        kBase +
            "peer_templates: [{name: 'c{n}', count: 9, listener: l, first_address: 10.0.0.2}]\n",
        "t.yaml"));
    CHECK(describe(c).find("profile rfc9260, 1 path (9 peers: c0, c1, c2 .. c8)\n") == 0);
}

TEST_CASE("linear back-off keeps the RTO") {
    const Configuration c = good(
        load_text(kBase + "sctp_profiles: {s: {preset: sigtran-lan, rto_backoff: linear}}\n"
                          "peers: [{name: a, listener: l, addresses: [10.0.0.2], profile: s}]\n",
                  "t.yaml"));
    CHECK(describe(c).find("declares a path down within 0.6 s with data") != std::string::npos);
}

}  // namespace signalbox::config::test
