// SPDX-License-Identifier: Apache-2.0
// The table of keys as a JSON Schema, for editors that complete and check while one types.
#include <string>

#include "config/print.h"
#include "config/scalars.h"

namespace signalbox::config {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string words_of(const Key& key) {
    std::string out;
    for (const std::string_view word : split(key.words, '|'))
        if (!word.empty() && word.front() != '!') out += (out.empty() ? "" : ", ") + quoted(word);
    return out;
}

/// The type of one value, without what is beside it.
std::string type_of(const Key& key) {
    const std::string range =
        "\"minimum\": " + std::to_string(key.min) + ", \"maximum\": " + std::to_string(key.max);
    switch (key.type) {
        case Type::flag:
            return "{\"type\": \"boolean\"}";
        case Type::integer:
            return "{\"type\": \"integer\", " + range + "}";
        case Type::duration:
            return R"({"type": "string", "pattern": "^[0-9]+(us|ms|s|m|h)$"})";
        case Type::size:
            return R"({"type": ["string", "integer"], "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$"})";
        case Type::word:
            return "{\"enum\": [" + words_of(key) + "]}";
        case Type::name:
            return "{\"type\": [\"string\", \"number\"], \"pattern\": \"^[A-Za-z0-9_.-]+$\"}";
        case Type::path:
            return R"({"type": "string", "pattern": "^/"})";
        case Type::text:
            return R"({"type": ["string", "number"]})";
        default:
            return R"({"type": "string"})";
    }
}

class Writer {
 public:
    void object(std::span<const Key> keys, std::size_t indent);
    std::string out;

 private:
    void key(const Key& key, std::size_t indent);
    void line(std::size_t indent, const std::string& text) {
        out += std::string(indent, ' ') + text + "\n";
    }
};

void Writer::object(std::span<const Key> keys, std::size_t indent) {
    line(indent, "\"type\": \"object\",");
    line(indent, "\"additionalProperties\": false,");
    std::string required;
    for (const Key& k : keys)
        if (k.required) required += (required.empty() ? "" : ", ") + quoted(k.name);
    if (!required.empty()) line(indent, "\"required\": [" + required + "],");
    line(indent, "\"properties\": {");
    for (const Key& k : keys) {
        key(k, indent + 2);
        if (&k != &keys.back()) out.insert(out.size() - 1, ",");
    }
    line(indent, "}");
}

void Writer::key(const Key& key, std::size_t indent) {
    line(indent, quoted(key.name) + ": {");
    indent += 2;
    if (key.type == Type::later) {
        line(indent, "\"description\": \"not in this release\",");
        line(indent, "\"enum\": [null, [], {}]");
        return line(indent - 2, "}");
    }
    line(indent, "\"description\": " + quoted(key.help) + ",");
    const bool is_map = key.type == Type::section || key.type == Type::named;
    if (!key.fallback.empty() && !is_map && !key.list)
        line(indent, "\"default\": " + quoted(key.fallback) + ",");
    if (!is_map) line(indent, "\"x-reload\": " + quoted(reload_name(key.reload)) + ",");
    if (key.type == Type::named) {
        line(indent, "\"type\": \"object\",");
        line(indent, "\"additionalProperties\": {");
        object(key.keys, indent + 2);
        line(indent, "}");
    } else if (key.type == Type::section && key.list) {
        line(indent, "\"type\": \"array\",");
        line(indent, "\"maxItems\": " + std::to_string(key.most) + ",");
        line(indent, "\"items\": {");
        object(key.keys, indent + 2);
        line(indent, "}");
    } else if (key.type == Type::section) {
        object(key.keys, indent);
    } else {
        // Any value may come from the environment, which only a text can say.
        std::string one = "{\"anyOf\": [" + type_of(key);
        if (key.type != Type::word && !key.words.empty())
            one += ", {\"enum\": [" + words_of(key) + "]}";
        one += R"(, {"type": "string", "pattern": "\\$\\{"}]})";
        if (key.list)
            line(indent, "\"anyOf\": [{\"type\": \"array\", \"maxItems\": " +
                             std::to_string(key.most) + ", \"items\": " + one + "}, " + one + "]");
        else
            line(indent, "\"anyOf\": [" + one + "]");
    }
    line(indent - 2, "}");
}

}  // namespace

std::string print_schema() {
    Writer writer;
    writer.out =
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
        "  \"title\": \"Signalbox configuration\",\n";
    writer.object(root_keys(), 2);
    return writer.out + "}\n";
}

}  // namespace signalbox::config
