// SPDX-License-Identifier: Apache-2.0
#include "config/check.h"
#include "config/gather.h"
#include "config/loader.h"
#include "config/print.h"

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
    load_routes(root);
    load_screening(root);
    return std::move(out_);
}

namespace {

Loaded load(Errors& errors, bool from_file, std::string* printed) {
    auto root = parse_document(0, errors);
    if (!root) return errors.take();
    if (from_file) {
        gather(*root, errors);
    } else {
        for (Node& child : root->children)
            if (child.key == "include" || child.key == "peers_from") {
                errors.add(child.key_place, child.key + ": a text without a file names no others");
                child.good = false;
            }
    }
    check_document(*root, errors);
    Configuration configuration = Loader(errors).load(*root);
    if (!errors.empty()) return errors.take();
    configuration.effective = print_document(*root, nullptr);
    if (printed != nullptr) *printed = print_document(*root, &errors);
    return configuration;
}

Loaded load_path(const std::string& path, std::string* printed) {
    FileText file = read_file(path, false);
    if (!file.wrong.empty()) return failed(path, file.wrong);
    Errors errors(path, std::move(file.text));
    return load(errors, true, printed);
}

}  // namespace

Loaded load_text(std::string_view text, const std::string& file_name) {
    if (text.size() > kMaxFileBytes) return failed(file_name, too_large());
    Errors errors(file_name, std::string(text));
    return load(errors, false, nullptr);
}

Loaded load_file(const std::string& path) {
    return load_path(path, nullptr);
}

Printed print_file(const std::string& path) {
    std::string text;
    Loaded loaded = load_path(path, &text);
    if (auto* errors = std::get_if<std::vector<Error>>(&loaded)) return std::move(*errors);
    return text;
}

}  // namespace signalbox::config
