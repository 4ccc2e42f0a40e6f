// SPDX-License-Identifier: Apache-2.0
// A COOKIE ECHO for an association that exists: RFC 9260 5.2.4, table 12 (X differs, M matches, 0
// none, A any).
//
//   | local tag | peer's tag | local tie-tag | peer's tie-tag | action |
//   |     X     |     X      |       M       |       M        |   A    | the peer restarted
//   |     M     |     X      |       A       |       A        |   B    | both sides sent INIT
//   |     X     |     M      |       0       |       0        |   C    | our old answer, late
//   |     M     |     M      |       A       |       A        |   D    | as expected
#pragma once
#include <cstdint>

#include "sctp/cookie.h"

namespace signalbox::sctp {

enum class CookieCase : std::uint8_t { restart, collision, late, expected, stranger };

struct AssociationTags {
    VerificationTag local;
    VerificationTag remote;
    VerificationTag local_tie;
    VerificationTag remote_tie;
};

constexpr CookieCase judge_cookie(const AssociationTags& own, const CookieContents& cookie) {
    const bool local = own.local == cookie.local_tag;
    const bool remote = own.remote == cookie.remote_tag;
    const bool ties =
        own.local_tie == cookie.local_tie_tag && own.remote_tie == cookie.remote_tie_tag;
    const bool no_ties = cookie.local_tie_tag.value == 0 && cookie.remote_tie_tag.value == 0;
    if (local) return remote ? CookieCase::expected : CookieCase::collision;
    if (remote) return no_ties ? CookieCase::late : CookieCase::stranger;
    return ties && !no_ties ? CookieCase::restart : CookieCase::stranger;
}

}  // namespace signalbox::sctp
