// SPDX-License-Identifier: Apache-2.0
// Ports, CPUs, memory and what the daemon's other parts need.
#include <algorithm>

#include "config/loader.h"
#include "config/scalars.h"

namespace signalbox::config {
namespace {

constexpr std::size_t kMaxInterfaceName = 15;  // IFNAMSIZ with its end
constexpr std::uint16_t kMinMtuIpv6 = 1280;    // RFC 8200 5

/// Stricter than the kernel: a comma or a blank would be read as more arguments of the driver.
bool is_interface_name(std::string_view text) {
    const auto is_allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view("._-@").find(c) != std::string_view::npos;
    };
    return text.size() <= kMaxInterfaceName && text != "." && text != ".." &&
           std::all_of(text.begin(), text.end(), is_allowed);
}

bool is_socket_path(std::string_view text) {
    return text.substr(0, 1) == "/" && text.find(',') == std::string_view::npos;
}

/// Domain, bus, device, function: 0000:03:00.1
bool is_pci_address(std::string_view text) {
    constexpr std::string_view kShape = "xxxx:xx:xx.d";
    if (text.size() != kShape.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hex = std::string_view("0123456789abcdefABCDEF").find(text[i]) != text.npos;
        if (kShape[i] == 'x'   ? !hex
            : kShape[i] == 'd' ? text[i] < '0' || text[i] > '7'
                               : text[i] != kShape[i])
            return false;
    }
    return true;
}

/// The network's own number and its broadcast address belong to no host (RFC 1122 3.2.1.3).
bool is_host_of_network(const Prefix& prefix) {
    if (!prefix.address.is_v4() || prefix.length > 30) return true;
    const std::uint32_t host = 0xffffffffu >> prefix.length;
    const std::uint32_t bits = prefix.address.as_v4() & host;
    return bits != 0 && bits != host;
}

}  // namespace

void Loader::load_machine(const Node& root) {
    if (const Node* workers = root.find("workers")) {
        for (const Node& cpu : workers->children_of("cpus")) {
            if (!cpu.good) continue;
            const auto number = static_cast<unsigned>(cpu.number);
            const auto& known = out_.io.cpus;
            if (std::find(known.begin(), known.end(), number) != known.end())
                errors_.add(cpu.place, "cpus: " + cpu.text + " is named twice");
            out_.io.cpus.push_back(number);
        }
        out_.io.share_cpu = workers->number_of("share_cpu") != 0;
        out_.io.idle = static_cast<io::Idle>(workers->number_of("idle"));
    }
    if (const Node* memory = root.find("memory")) {
        out_.io.hugepages = static_cast<io::Hugepages>(memory->number_of("hugepages"));
        out_.core.memory_limit_bytes = static_cast<std::size_t>(memory->number_of("limit"));
    }
    if (const Node* http = root.find("http")) {
        out_.admin.http_listen.clear();
        for (const Node& listen : http->children_of("listen"))
            if (const auto endpoint = parse_endpoint(listen.text); endpoint && listen.good)
                out_.admin.http_listen.push_back({endpoint->host, endpoint->port});
    }
    if (const Node* control = root.find("control")) {
        out_.admin.control_socket = control->text_of("socket");
        out_.admin.control_group = control->text_of("group");
    }
    if (const Node* metrics = root.find("metrics")) {
        out_.metrics.max_peers = static_cast<std::uint32_t>(metrics->number_of("max_peers"));
        out_.metrics.required = metrics->number_of("required") != 0;
    }
    if (const Node* log = root.find("log")) {
        out_.log_level = static_cast<LogLevel>(log->number_of("level"));
        out_.log_format = static_cast<LogFormat>(log->number_of("format"));
    }
}

void Loader::load_ports(const Node& root) {
    for (const Node& node : root.children_of("ports"))
        if (node.good) load_port(node);
}

void Loader::load_port(const Node& node) {
    ports_.add_entry(node, errors_);
    io::PortSettings port;
    port.name = node.text_of("name");
    port.device = node.text_of("device");
    port.mtu_bytes = static_cast<std::uint16_t>(node.number_of("mtu", port.mtu_bytes));
    if (const Node* driver = node.find("driver")) {
        port.driver = static_cast<io::Driver>(driver->number);
        check_device(node, port.driver);
    }
    if (const Node* mac = node.find("mac"); mac != nullptr && !mac->is_word)
        port.mac = parse_mac(mac->text);
    if (const Node* vlan = node.find("vlan")) port.vlan = static_cast<std::uint16_t>(vlan->number);
    load_port_addresses(node, port);
    load_port_routes(node, port);
    out_.io.ports.push_back(std::move(port));
}

void Loader::check_device(const Node& node, io::Driver driver) {
    const Node* device = node.find("device");
    const bool was_refused =
        std::any_of(node.children.begin(), node.children.end(),
                    [](const Node& n) { return n.key == "device" && !n.good; });
    if (device == nullptr) {
        if (driver != io::Driver::ring && !was_refused)
            errors_.add(node.place,
                        "missing key 'device' in ports: interface (tap: the one to make), "
                        "socket path or PCI address");
        return;
    }
    const bool is_interface = driver == io::Driver::tap || driver == io::Driver::af_packet;
    std::string wanted;
    if (is_interface && !is_interface_name(device->text)) wanted = "an interface name";
    if (driver == io::Driver::pci && !is_pci_address(device->text))
        wanted = "a PCI address such as 0000:03:00.0";
    if (driver == io::Driver::memif && !is_socket_path(device->text))
        wanted = "an absolute path without commas";
    if (!wanted.empty())
        errors_.add(device->place, "device: '" + device->text + "' is not " + wanted);
    const auto [known, fresh] =
        place_of_device_.emplace(std::pair{driver, device->text}, device->place);
    if (!fresh)
        errors_.add(device->place, "device: '" + device->text + "' is already used in " +
                                       errors_.mention(known->second, device->place));
}

void Loader::load_port_addresses(const Node& node, io::PortSettings& port) {
    for (const Node& item : node.children_of("addresses")) {
        const auto prefix = parse_prefix(item.text);
        if (!item.good || !prefix) continue;
        const IpAddress& address = prefix->address;
        const auto is_same = [&](const io::InterfaceAddress& a) { return a.address == address; };
        const auto has_it = [&](const io::PortSettings& p) {
            return std::any_of(p.addresses.begin(), p.addresses.end(), is_same);
        };
        if (!address.is_usable_unicast() || address.is_loopback() || !is_host_of_network(*prefix))
            errors_.add(item.place, "addresses: '" + item.text + "' is no host's address");
        else if (has_it(port) || std::any_of(out_.io.ports.begin(), out_.io.ports.end(), has_it))
            errors_.add(item.place,
                        "addresses: " + address.text() + " is already an address of a port");
        else if (address.is_v6() && port.mtu_bytes < kMinMtuIpv6)
            errors_.add(item.place, "addresses: IPv6 needs an mtu of at least 1280 (RFC 8200 5)");
        port.addresses.push_back({address, prefix->length});
    }
}

void Loader::load_port_routes(const Node& node, io::PortSettings& port) {
    for (const Node& item : node.children_of("routes")) {
        const Node* prefix_node = item.find("prefix");
        const Node* via_node = item.find("via");
        if (!item.good || prefix_node == nullptr || via_node == nullptr) continue;
        const Prefix prefix = parse_prefix(prefix_node->text).value_or(Prefix{});
        const IpAddress via = IpAddress::parse(via_node->text).value_or(IpAddress{});
        if (prefix.has_host_bits())
            errors_.add(prefix_node->place,
                        "prefix: '" + prefix_node->text + "' has bits beyond its prefix length");
        const auto on_link = [&](const io::InterfaceAddress& own) {
            return Prefix{own.address, own.prefix_length}.contains(via) && own.address != via;
        };
        if (prefix.address.is_v4() != via.is_v4())
            errors_.add(via_node->place,
                        "via: " + via_node->text + " is of another family than prefix");
        else if (!(via.is_v6() && via.is_link_local()) &&
                 std::none_of(port.addresses.begin(), port.addresses.end(), on_link))
            errors_.add(via_node->place,
                        "via: " + via_node->text + " is on no network of this port");
        port.routes.push_back({prefix.address, prefix.length, via});
    }
}

}  // namespace signalbox::config
