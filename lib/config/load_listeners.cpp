// SPDX-License-Identifier: Apache-2.0
// The node, its listeners and its MTP networks.
#include <algorithm>

#include "config/loader.h"
#include "config/scalars.h"
#include "sctp/association.h"

namespace signalbox::config {
namespace {

/// In the order of the words of key `variant`: ITU-T Q.704 2.2.3, ANSI T1.111.4, GF 001-9001, TTC
/// JT-Q704.
struct Variant {
    std::string_view name;
    std::string_view format;
    unsigned point_code_bits;
    std::uint8_t sls_bits;
    bool rotates_sls;
    wire::AddressForm address_form;
};
constexpr Variant kVariants[] = {
    {"itu", "3-8-3", 14, 4, false, wire::AddressForm::itu},
    {"ansi", "8-8-8", 24, 8, true, wire::AddressForm::ansi},
    {"china", "8-8-8", 24, 4, false, wire::AddressForm::itu},
    {"japan", "5-4-7", 16, 4, false, wire::AddressForm::itu},
};

unsigned bits_of(std::string_view format) {
    std::int64_t bits = 0;
    for (const std::string_view width : split(format, '-')) bits += read_integer(width).number;
    return static_cast<unsigned>(bits);
}

}  // namespace

void Loader::load_node(const Node& root) {
    if (const Node* node = root.find("node")) {
        out_.core.node_name = node->text_of("name");
        out_.core.node_id = static_cast<std::uint8_t>(node->number_of("id"));
    }
    if (const Node* limits = root.find("limits")) {
        out_.core.init_per_second =
            static_cast<std::uint32_t>(limits->number_of("init_per_second"));
        out_.core.out_of_the_blue_per_second =
            static_cast<std::uint32_t>(limits->number_of("out_of_the_blue_per_second"));
        out_.core.icmp_per_second =
            static_cast<std::uint32_t>(limits->number_of("icmp_per_second"));
    }
}

void Loader::load_listeners(const Node& root) {
    listeners_.begin(root.find("listeners"));
    for (const Node& node : root.children_of("listeners")) {
        if (!node.good) continue;
        listeners_.add_entry(node, errors_);
        core::ListenerSettings listener = load_listener(node);
        claim_endpoints(node, listener);
        out_.core.listeners.push_back(std::move(listener));
    }
}

core::ListenerSettings Loader::load_listener(const Node& node) {
    core::ListenerSettings listener;
    listener.name = node.text_of("name");
    listener.port = static_cast<std::uint16_t>(node.number_of("port", listener.port));
    listener.accept = static_cast<core::Accept>(node.number_of("accept"));
    listener.profile = profile_of(node);
    listener.max_associations = static_cast<std::uint32_t>(node.number_of("max_associations"));
    for (const Node& item : node.children_of("addresses")) {
        const auto address = IpAddress::parse(item.text);
        if (!item.good || !address) continue;
        const auto is_same = [&](const io::InterfaceAddress& own) {
            return own.address == *address;
        };
        const auto has_it = [&](const io::PortSettings& port) {
            return std::any_of(port.addresses.begin(), port.addresses.end(), is_same);
        };
        const auto& known = listener.addresses;
        if (std::none_of(out_.io.ports.begin(), out_.io.ports.end(), has_it))
            errors_.add(item.place, "addresses: " + item.text + " is no address of a port");
        else if (std::find(known.begin(), known.end(), *address) != known.end())
            errors_.add(item.place, "addresses: " + item.text + " is named twice");
        listener.addresses.push_back(*address);
    }
    const bool was_refused =
        std::any_of(node.children.begin(), node.children.end(),
                    [](const Node& n) { return n.key == "addresses" && !n.good; });
    if (listener.addresses.empty() && !was_refused) default_addresses(node, listener);
    const auto& profile = out_.core.profiles[listener.profile];
    const Node* accept = node.find("accept");
    if (accept != nullptr && listener.accept == core::Accept::any &&
        profile.values.rto_backoff == sctp::Backoff::linear)
        errors_.add(accept->place, "accept: any is refused with profile '" + profile.name +
                                       "', whose rto_backoff is linear (closed networks only)");
    return listener;
}

void Loader::default_addresses(const Node& node, core::ListenerSettings& listener) {
    for (const io::PortSettings& port : out_.io.ports)
        for (const io::InterfaceAddress& own : port.addresses)
            listener.addresses.push_back(own.address);
    if (listener.addresses.size() > sctp::kMaxLocalAddresses)
        errors_.add(node.place, "the ports have " + std::to_string(listener.addresses.size()) +
                                    " addresses, a listener takes " +
                                    std::to_string(sctp::kMaxLocalAddresses) +
                                    ": name them with 'addresses'");
}

void Loader::claim_endpoints(const Node& node, const core::ListenerSettings& listener) {
    for (const IpAddress& address : listener.addresses) {
        const auto [known, fresh] =
            listener_of_endpoint_.emplace(std::pair{listener.port, address}, listener.name);
        if (fresh || known->second == listener.name) continue;
        const Node* port = node.find("port");
        errors_.add(port != nullptr ? port->place : node.place,
                    "port: " + std::to_string(listener.port) + " of " + address.text() +
                        " already belongs to listener '" + known->second + "'");
        return;
    }
}

void Loader::load_instances(const Node& root) {
    instances_.begin(root.find("instances"));
    for (const Node& node : root.children_of("instances")) {
        if (!node.good) continue;
        instances_.add_entry(node, errors_);
        out_.core.instances.push_back(load_instance(node));
    }
}

mtp3::Instance Loader::load_instance(const Node& node) {
    mtp3::Instance instance;
    instance.name = node.text_of("name");
    instance.network_indicator = static_cast<std::uint8_t>(node.number_of("network_indicator"));
    const Variant& variant = kVariants[node.number_of("variant")];
    instance.point_code_bits = static_cast<std::uint8_t>(variant.point_code_bits);
    instance.sls_bits = static_cast<std::uint8_t>(node.number_of("sls_bits", variant.sls_bits));
    instance.rotates_sls = node.number_of("sls_rotation", variant.rotates_sls ? 1 : 0) != 0;
    instance.address_form = variant.address_form;
    instance.point_code_format = variant.format;
    if (const Node* format = node.find("point_code_format")) {
        if (!mtp3::is_point_code_format(format->text)) {
            errors_.add(format->place, "point_code_format: '" + format->text +
                                           "' is not a list of widths such as 3-8-3");
            return instance;
        }
        if (const unsigned bits = bits_of(format->text); bits != variant.point_code_bits) {
            errors_.add(format->place, "point_code_format: '" + format->text + "' has " +
                                           std::to_string(bits) + " bits, variant " +
                                           std::string(variant.name) + " has " +
                                           std::to_string(variant.point_code_bits));
            return instance;
        }
        instance.point_code_format = format->text;
    }
    const auto read = [&](const Node& item) {
        const auto code = mtp3::parse_point_code(item.text, instance.point_code_format);
        if (!code)
            errors_.add(item.place, "'" + item.text + "' is not a point code of format " +
                                        instance.point_code_format);
        return code;
    };
    if (const Node* own = node.find("point_code"))
        if (const auto code = read(*own)) instance.point_code = *code;
    for (const Node& item : node.children_of("aliases")) {
        if (!item.good) continue;
        const auto code = read(item);
        if (!code) continue;
        const auto& known = instance.aliases;
        if (*code == instance.point_code ||
            std::find(known.begin(), known.end(), *code) != known.end())
            errors_.add(item.place, "aliases: " + item.text + " is named twice");
        instance.aliases.push_back(*code);
    }
    return instance;
}

}  // namespace signalbox::config
