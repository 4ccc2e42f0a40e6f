// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <fstream>

#include "config/check.h"
#include "config/loader.h"

namespace signalbox::config {
namespace {

std::vector<Error> failed(const std::string& file, const std::string& text) {
    return {{file, 0, 0, text, ""}};
}

std::string too_large() {
    return "larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB";
}

}  // namespace

Configuration Loader::load(const Node& root) {
    load_node(root);
    load_machine(root);
    load_ports(root);
    load_profiles(root);
    load_listeners(root);
    load_instances(root);
    load_peers(root);
    load_servers(root);
    return std::move(out_);
}

Loaded load_text(std::string_view text, const std::string& file_name) {
    if (text.size() > kMaxFileBytes) return failed(file_name, too_large());
    Errors errors(file_name, text);
    auto root = parse_document(text, errors);
    if (!root) return errors.take();
    check_document(*root, errors);
    Configuration configuration = Loader(errors).load(*root);
    if (!errors.empty()) return errors.take();
    return configuration;
}

Loaded load_file(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::string text;
    char buffer[1 << 16];
    while (in && text.size() <= kMaxFileBytes) {
        in.read(buffer, sizeof buffer);
        text.append(buffer, static_cast<std::size_t>(in.gcount()));
    }
    // A directory opens and then cannot be read.
    if (!in.eof() && text.size() <= kMaxFileBytes)
        return failed(path,
                      std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : EIO));
    return load_text(text, path);
}

}  // namespace signalbox::config
