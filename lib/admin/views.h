// SPDX-License-Identifier: Apache-2.0
// Tables of what the node is: from the statistics that the control thread publishes and from the
// counters. Words and columns follow osmo-stp's `show cs7 instance 0 asp|as`.
#pragma once
#include <string>
#include <vector>

#include "admin/rates.h"
#include "admin/table.h"
#include "core/inspect.h"
#include "core/node.h"

namespace signalbox::admin {

Table peers_view(const core::NodeStatistics& statistics, const std::string& only);
Table as_view(const core::NodeStatistics& statistics, const std::string& only);
Table routes_view(const core::NodeStatistics& statistics);
Table workers_view(const core::Node& node);
Table drops_view(const core::Node& node, bool zeros);
Table memory_view(const core::NodeStatistics& statistics);
Table rates_view(const Rates& rates);
Table associations_view(const core::Settings& settings,
                        const std::vector<core::AssociationInfo>& found);
Table paths_view(const core::Settings& settings, const std::vector<core::AssociationInfo>& found);
Table bindings_view(const core::Settings& settings, AsIndex as,
                    const std::vector<PeerIndex>& serving);
Table explanation_view(const core::Settings& settings, const core::RouteQuestion& question,
                       const core::RouteAnswer& answer);

/// The place of a name; nullopt: nobody has it.
std::optional<PeerIndex> peer_called(const core::Settings& settings, const std::string& name);
std::optional<AsIndex> as_called(const core::Settings& settings, const std::string& name);

}  // namespace signalbox::admin
