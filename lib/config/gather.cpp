// SPDX-License-Identifier: Apache-2.0
#include "config/gather.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace signalbox::config {
namespace {

constexpr const char* kInclude = "include";
constexpr const char* kPeersFrom = "peers_from";

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Takes the key out of the map; its value is one text or a list of them.
std::vector<Node> take_names(Node& root, const char* key, Errors& errors) {
    const auto at = std::find_if(root.children.begin(), root.children.end(),
                                 [&](const Node& child) { return child.key == key; });
    if (at == root.children.end()) return {};
    Node node = std::move(*at);
    root.children.erase(at);
    if (!node.good) return {};
    if (node.kind == Node::Kind::scalar) {
        std::vector<Node> one;
        one.push_back(std::move(node));
        return one;
    }
    const auto is_text = [](const Node& n) { return n.kind == Node::Kind::scalar; };
    const auto& list = node.children;
    if (node.kind == Node::Kind::list && std::all_of(list.begin(), list.end(), is_text))
        return std::move(node.children);
    errors.add(node.kind == Node::Kind::null ? node.key_place : node.place,
               std::string(key) + ": a file name or a list of them is due here");
    return {};
}

/// A directory that is not there holds nothing; one that cannot be read is an error.
int looks_wrong(const char*, int error) {
    return error != ENOENT && error != ENOTDIR ? 1 : 0;
}

/// The files that a name stands for. A pattern may match none, a plain name may not.
std::vector<std::string> expand_name(const Node& name, Errors& errors) {
    std::string path = name.text;
    if (path.empty() || path.front() != '/')
        path = directory_of(errors.name_of(name.place.file)) + path;
    if (path.find_first_of("*?[") == std::string::npos) return {path};
    glob_t found{};
    std::vector<std::string> files;
    const int result = ::glob(path.c_str(), 0, looks_wrong, &found);
    for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i)
        files.emplace_back(found.gl_pathv[i]);
    if (result != 0 && result != GLOB_NOMATCH)
        errors.add(name.place, "'" + name.text + "' cannot be looked up");
    ::globfree(&found);
    return files;
}

std::optional<std::uint16_t> add_file(const Node& name, const std::string& path, Errors& errors) {
    if (errors.file_count() >= kMaxFiles) {
        errors.add(name.place, "more than " + std::to_string(kMaxFiles) + " files");
        return std::nullopt;
    }
    FileText file = read_file(path, true);
    if (file.wrong.empty() && errors.bytes() + file.text.size() > kMaxFileBytes)
        file.wrong =
            "all files together are larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB";
    if (!file.wrong.empty()) {
        errors.add(name.place, "'" + path + "': " + file.wrong);
        return std::nullopt;
    }
    return errors.add_file(path, std::move(file.text));
}

void merge(Node& into, Node&& from, Errors& errors) {
    if (into.kind == Node::Kind::list && from.kind == Node::Kind::list) {
        for (Node& item : from.children) into.children.push_back(std::move(item));
        return;
    }
    for (Node& child : from.children) {
        const auto at = std::find_if(into.children.begin(), into.children.end(),
                                     [&](const Node& c) { return c.key == child.key; });
        if (at == into.children.end()) {
            into.children.push_back(std::move(child));
        } else if (at->kind == child.kind &&
                   (child.kind == Node::Kind::map || child.kind == Node::Kind::list)) {
            merge(*at, std::move(child), errors);
        } else {
            errors.add(child.key_place, "duplicate key '" + child.key + "': first given in " +
                                            errors.mention(at->key_place, child.key_place));
            at->good = at->good && child.good;
        }
    }
}

void include(Node& root, const std::string& path, const Node& name, Errors& errors) {
    const auto file = add_file(name, path, errors);
    if (!file) return;
    auto tree = parse_document(*file, errors);
    if (!tree || tree->kind == Node::Kind::null) return;  // an empty file adds nothing
    if (tree->kind != Node::Kind::map) {
        errors.add(tree->place, "a configuration is a map of keys");
        return;
    }
    for (Node& child : tree->children)
        if (child.key == kInclude) {
            errors.add(child.key_place, "include: only the main file includes others");
            child.good = false;
        }
    take_names(*tree, kInclude, errors);
    merge(root, std::move(*tree), errors);
}

}  // namespace

FileText read_file(const std::string& path, bool regular) {
    // Not blocking: a pipe without a writer must not hold us.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK : 0));
    struct Closer {
        int fd;
        ~Closer() {
            if (fd >= 0) ::close(fd);
        }
    } const closer{fd};
    const auto failed = [](int error) {
        return FileText{"", std::string("cannot be read: ") + std::strerror(error)};
    };
    if (fd < 0) return failed(errno);
    struct stat about {};
    if (::fstat(fd, &about) != 0) return failed(errno);
    if (S_ISDIR(about.st_mode)) return failed(EISDIR);
    if (regular && !S_ISREG(about.st_mode)) return {"", "cannot be read: not a regular file"};
    FileText file;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed(errno);
        if (got == 0) return file;
        file.text.append(buffer, static_cast<std::size_t>(got));
        if (file.text.size() > kMaxFileBytes)
            return {"", "larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB"};
    }
}

void gather(Node& root, Errors& errors) {
    if (root.kind != Node::Kind::map) return;
    for (const Node& name : take_names(root, kInclude, errors))
        for (const std::string& path : expand_name(name, errors)) include(root, path, name, errors);
    for (const Node& name : take_names(root, kPeersFrom, errors)) {
        for (const std::string& path : expand_name(name, errors)) {
            const auto file = add_file(name, path, errors);
            if (!file) continue;
            Node list;
            list.kind = Node::Kind::map;
            Node& peers = list.children.emplace_back();
            peers.key = "peers";
            peers.kind = Node::Kind::list;
            peers.key_place = peers.place = {1, 1, *file};
            append_peers(peers, *file, errors);
            merge(root, std::move(list), errors);
        }
    }
}

}  // namespace signalbox::config
