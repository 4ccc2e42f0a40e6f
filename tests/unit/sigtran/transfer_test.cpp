// SPDX-License-Identifier: Apache-2.0
// The data path: which DATA is accepted, and how DATA leaves (RFC 4666 3.3.1; sigtran.md section 3,
// row DATA).
#include "sigtran/transfer.h"

#include <set>

#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

struct AsOfPeer {
    std::optional<std::uint32_t> context;
    std::optional<std::uint32_t> appearance;
    AspState state = AspState::active;
};

/// One peer, member of these AS.
Distribution peer_in(std::vector<AsOfPeer> list) {
    Distribution d;
    d.peers.resize(1);
    d.peers.edit(0).up = true;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
        AsView v;
        v.routing_context = list[i].context;
        v.network_appearance = list[i].appearance;
        d.servers.push_back(v);
        d.peers.edit(0).memberships.push_back({AsIndex{i}, list[i].context, list[i].state});
    }
    return d;
}

/// "as 1", or the name of the drop.
std::string judge(const Distribution& d, const Message& m, std::uint16_t stream = 1,
                  Quirks quirks = {}) {
    Drop why{};
    const auto accepted = accept_data(d, A, quirks, StreamId{stream}, m, why);
    if (accepted) return "as " + std::to_string(accepted->from_as.value);
    return std::string{kDropNames[static_cast<std::size_t>(why)]};
}

Message with_octet(Message m, std::size_t at, std::uint8_t value) {
    m.at(at) = value;
    return m;
}

}  // namespace

TEST_CASE("SG 3: DATA in ASP-ACTIVE is accepted with all fields of the routing label") {
    const Distribution d = peer_in({{100, {}}});
    const Message m =
        data({rc({100}),
              protocol_data({.opc = 0x111, .dpc = 0x222, .si = 5, .ni = 3, .mp = 2, .sls = 0xfe})});
    Drop why{};
    const auto a = accept_data(d, A, {}, StreamId{1}, m, why);
    REQUIRE(a);
    CHECK(a->from_as == AsIndex{0});
    CHECK(a->data.opc == PointCode{0x111});
    CHECK(a->data.dpc == PointCode{0x222});
    CHECK(a->data.si == 5);
    CHECK(a->data.ni == 3);
    CHECK(a->data.mp == 2);
    CHECK(a->data.sls == Sls{0xfe});
    CHECK(Message(a->data.user_data.begin(), a->data.user_data.end()) ==
          Message{0xde, 0xad, 0xbe, 0xef});
    CHECK(a->data.user_data.data() >= m.data());  // a view, no copy
}

TEST_CASE("SG 3: DATA in ASP-DOWN and ASP-INACTIVE is unexpected") {
    const Message m = data({rc({100}), protocol_data()});
    CHECK(judge(peer_in({{100, {}, AspState::down}}), m) == "m3ua_unexpected");
    CHECK(judge(peer_in({{100, {}, AspState::inactive}}), m) == "m3ua_unexpected");
    CHECK(judge(peer_in({}), m) == "m3ua_unexpected");
    CHECK(judge(Distribution{}, m) == "m3ua_unexpected");
}

TEST_CASE("decision 1: DATA is judged by the state in the AS that it names") {
    const Distribution d = peer_in({{100, {}, AspState::active}, {200, {}, AspState::inactive}});
    CHECK(judge(d, data({rc({100}), protocol_data()})) == "as 0");
    CHECK(judge(d, data({rc({200}), protocol_data()})) == "m3ua_unexpected");
}

TEST_CASE("SG 3: DATA on stream 0 is refused, unless the quirk allows it") {
    const Distribution d = peer_in({{100, {}}});
    const Message m = data({rc({100}), protocol_data()});
    Quirks quirks;
    quirks.data_on_stream_0 = true;
    CHECK(judge(d, m, 0) == "m3ua_stream_zero");
    CHECK(judge(d, m, 0, quirks) == "as 0");
    CHECK(judge(d, m, 65535) == "as 0");
}

TEST_CASE("SG 3: DATA needs exactly one routing context that is served, or none with a single AS") {
    const Distribution one = peer_in({{100, {}}});
    const Distribution two = peer_in({{100, {}}, {0, {}}});
    CHECK(judge(one, data({protocol_data()})) == "as 0");
    CHECK(judge(two, data({protocol_data()})) == "m3ua_missing_parameter");
    CHECK(judge(two, data({rc({0}), protocol_data()})) == "as 1");
    CHECK(judge(two, data({rc({7}), protocol_data()})) == "m3ua_bad_routing_context");
    CHECK(judge(two, data({rc({100, 0}), protocol_data()})) == "m3ua_bad_routing_context");
    CHECK(judge(two, data({rc({}), protocol_data()})) == "m3ua_malformed");
    CHECK(judge(two, data({parameter(6, {1, 2, 3}), protocol_data()})) == "m3ua_malformed");
}

TEST_CASE("decision 2: an AS without routing context: 0 does not name it, none does") {
    const Distribution d = peer_in({{std::nullopt, {}}});
    CHECK(judge(d, data({protocol_data()})) == "as 0");
    CHECK(judge(d, data({rc({0}), protocol_data()})) == "m3ua_bad_routing_context");
    const Distribution mixed = peer_in({{std::nullopt, {}}, {5, {}}});
    CHECK(judge(mixed, data({protocol_data()})) == "as 0");
    CHECK(judge(mixed, data({rc({5}), protocol_data()})) == "as 1");
}

TEST_CASE("SG 3: the network appearance of DATA must be that of the AS") {
    const Distribution with = peer_in({{100, 7}});
    const Distribution without = peer_in({{100, {}}});
    CHECK(judge(with, data({na(7), rc({100}), protocol_data()})) == "as 0");
    CHECK(judge(with, data({rc({100}), protocol_data()})) == "as 0");
    CHECK(judge(with, data({na(8), rc({100}), protocol_data()})) == "m3ua_bad_network_appearance");
    CHECK(judge(without, data({na(0), rc({100}), protocol_data()})) ==
          "m3ua_bad_network_appearance");
    CHECK(judge(with, data({parameter(0x200, {7}), rc({100}), protocol_data()})) ==
          "m3ua_malformed");
}

TEST_CASE(
    "decision 2: one routing context in two networks is told apart by the network appearance") {
    const Distribution d = peer_in({{100, 7}, {100, 8}});
    CHECK(judge(d, data({na(8), rc({100}), protocol_data()})) == "as 1");
    CHECK(judge(d, data({na(7), rc({100}), protocol_data()})) == "as 0");
    CHECK(judge(d, data({na(9), rc({100}), protocol_data()})) == "m3ua_bad_network_appearance");
    CHECK(judge(d, data({rc({100}), protocol_data()})) == "m3ua_missing_parameter");
}

TEST_CASE("M09: DATA without Protocol Data, or with one shorter than the routing label") {
    const Distribution d = peer_in({{100, {}}});
    CHECK(judge(d, data({rc({100})})) == "m3ua_missing_parameter");
    CHECK(judge(d, data({rc({100}), parameter(0x210, Message(11, 0))})) == "m3ua_malformed");
    CHECK(judge(d, data({rc({100}), parameter(0x210, Message(12, 0))})) == "as 0");
    CHECK(judge(d, data({rc({100}), protocol_data({.si = 16})})) == "m3ua_malformed");
}

TEST_CASE("M02: parameters that lie, come twice or are too many; what is not known is ignored") {
    const Distribution d = peer_in({{100, {}}});
    const Message good = data({rc({100}), protocol_data()});
    CHECK(judge(d, with_octet(good, 11, 3)) == "m3ua_malformed");
    CHECK(judge(d, with_octet(good, 11, 0)) == "m3ua_malformed");
    CHECK(judge(d, with_octet(good, 18, 0xff)) == "m3ua_malformed");
    CHECK(judge(d, data({rc({100}), rc({100}), protocol_data()})) == "m3ua_malformed");
    CHECK(judge(d, data({rc({100}), protocol_data(), protocol_data()})) == "m3ua_malformed");
    CHECK(judge(d, data({rc({100}), numbers(0x13, {1}), numbers(0x7777, {1}), protocol_data()})) ==
          "as 0");
    Message many = good;
    for (int i = 0; i < 1000; ++i) {
        const Message p = numbers(0x7777, {1});
        many.insert(many.end(), p.begin(), p.end());
    }
    many[6] = static_cast<std::uint8_t>(many.size() >> 8);
    many[7] = static_cast<std::uint8_t>(many.size());
    CHECK(judge(d, many) == "m3ua_malformed");
}

TEST_CASE(
    "M01: reserved octet ignored, last padding uncounted or not zero accepted; version and length "
    "judged") {
    const Distribution d = peer_in({{100, {}}});
    const Message good = data({rc({100}), protocol_data({}, {1, 2, 3, 4, 5})});
    REQUIRE(good.size() == 40);
    CHECK(judge(d, with_octet(good, 1, 0xff)) == "as 0");
    CHECK(judge(d, with_octet(good, 7, 37)) == "as 0");
    CHECK(judge(d, with_octet(good, 39, 0xff)) == "as 0");
    CHECK(judge(d, Message(good.begin(), good.end() - 3)) == "as 0");
    CHECK(judge(d, with_octet(good, 7, 44)) == "m3ua_malformed");
    CHECK(judge(d, with_octet(good, 7, 36)) == "m3ua_malformed");
    CHECK(judge(d, with_octet(good, 0, 2)) == "m3ua_malformed");
    CHECK(judge(d, Message{1, 0, 1}) == "m3ua_malformed");
    CHECK(judge(d, {}) == "m3ua_malformed");
}

TEST_CASE("every truncation of DATA is refused or accepted without reading past it") {
    const Distribution d = peer_in({{100, 7}});
    const Message good = data({na(7), rc({100}), protocol_data()});
    for (std::size_t n = 0; n < good.size(); ++n) {
        const Message cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
        CAPTURE(n);
        CHECK(judge(d, cut) == "m3ua_malformed");
    }
}

TEST_CASE("the class and type of a message are known unless its header is bad") {
    const auto k = kind_of(aspup());
    REQUIRE(k);
    CHECK((k->message_class == 3 && k->message_type == 1));
    CHECK_FALSE(kind_of(Message{1, 0, 3, 1}));
    CHECK_FALSE(kind_of(with_octet(aspup(), 0, 2)));
    CHECK_FALSE(kind_of(with_octet(aspup(), 7, 7)));
    CHECK_FALSE(kind_of(with_octet(aspup(), 4, 0xff)));
}

TEST_CASE("DATA leaves with what its AS has: network appearance and routing context, or neither") {
    const Message user{9, 8, 7, 6, 5};
    const ProtocolData pd{PointCode{0x1234}, PointCode{0x5678}, 3, 2, 1, Sls{0xab}, user};
    const auto encode = [&](std::optional<std::uint32_t> context,
                            std::optional<std::uint32_t> appearance) {
        AsView to;
        to.routing_context = context;
        to.network_appearance = appearance;
        const DataHeader h = encode_data_header(to, pd);
        Message m(h.span().begin(), h.span().end());
        m.insert(m.end(), user.begin(), user.end());
        m.insert(m.end(), h.trailer().begin(), h.trailer().end());
        return m;
    };
    const Message label =
        protocol_data({.opc = 0x1234, .dpc = 0x5678, .si = 3, .ni = 2, .mp = 1, .sls = 0xab}, user);
    CHECK(encode({}, {}) == data({label}));
    CHECK(encode(0, {}) == data({rc({0}), label}));
    CHECK(encode({}, 0) == data({na(0), label}));
    CHECK(encode(100, 7) == data({na(7), rc({100}), label}));
}

TEST_CASE("DATA of every user length is padded to a multiple of four, the padding counted") {
    for (std::size_t length = 0; length <= 272; ++length) {
        const Message user(length, 0x55);
        AsView to;
        to.routing_context = 100;
        const DataHeader h =
            encode_data_header(to, {PointCode{1}, PointCode{2}, 3, 2, 0, Sls{1}, user});
        Message m(h.span().begin(), h.span().end());
        m.insert(m.end(), user.begin(), user.end());
        m.insert(m.end(), h.trailer().begin(), h.trailer().end());
        REQUIRE(m == data({rc({100}),
                           protocol_data({.opc = 1, .dpc = 2, .si = 3, .ni = 2, .mp = 0, .sls = 1},
                                         user)}));
    }
}

TEST_CASE(
    "decision 3: DATA never goes on stream 0, one SLS keeps one stream, and 256 SLS use all of "
    "them evenly") {
    for (const unsigned n : {2u, 3u, 16u, 17u, 256u, 257u, 65535u}) {
        const auto streams = static_cast<std::uint16_t>(n);
        std::set<std::uint16_t> used;
        for (unsigned v = 0; v < 256; ++v) {
            const Sls sls{static_cast<std::uint8_t>(v)};
            const auto stream = stream_for(sls, streams, {});
            REQUIRE(stream);
            REQUIRE(stream->value >= 1);
            REQUIRE(stream->value < streams);
            REQUIRE(stream == stream_for(sls, streams, {}));
            used.insert(stream->value);
        }
        CHECK(used.size() == std::min<std::size_t>(256, streams - 1u));
    }
}

TEST_CASE("decision 3: with a single stream DATA is refused, or goes on stream 0 by the quirk") {
    Quirks quirks;
    quirks.data_on_stream_0 = true;
    CHECK_FALSE(stream_for(Sls{1}, 1, {}));
    CHECK(stream_for(Sls{1}, 1, quirks) == StreamId{0});
    CHECK_FALSE(stream_for(Sls{1}, 0, quirks));
}

TEST_CASE("decision 10: DATA taken back from an ASP that is DOWN now still names its AS") {
    const Distribution d = peer_in({{100, {}, AspState::down}, {200, {}, AspState::down}});
    const auto back = reclaim_data(d, A, data({rc({200}), protocol_data({.dpc = 0x222})}));
    REQUIRE(back);
    CHECK(back->from_as == AsIndex{1});
    CHECK(back->data.dpc == PointCode{0x222});
    CHECK_FALSE(reclaim_data(d, A, data({rc({7}), protocol_data()})));
    CHECK_FALSE(reclaim_data(d, A, aspup()));
    CHECK_FALSE(reclaim_data(d, PeerIndex{9}, data({rc({200}), protocol_data()})));
    CHECK_FALSE(reclaim_data(d, A, {}));
}
