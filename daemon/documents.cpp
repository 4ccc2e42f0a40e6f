// SPDX-License-Identifier: Apache-2.0
#include "documents.h"

#include <iterator>

#include "admin/command_table.h"
#include "config/print.h"
#include "event_catalogue.h"
#include "metrics/reference.h"
#include "options.h"

namespace signalbox::daemon {

namespace {

struct Document {
    std::string_view name;
    std::string (*write)();
};

constexpr Document kDocuments[] = {
    {"schema", config::print_schema},
    {"default-config", config::print_default_configuration},
    {"configuration.md", config::print_reference_markdown},
    {"signalbox.yaml.5", config::print_reference_manual},
    {"signalboxd.8", options_manual},
    {"signalboxctl.md", admin::command_reference},
    {"signalboxctl.1", admin::command_manual},
    {"signalboxctl.completion", admin::command_completion},
    {"metrics.md", metrics::reference_markdown},
    {"events.md", events_markdown},
};

}  // namespace

std::string document(std::string_view name) {
    for (const Document& d : kDocuments)
        if (d.name == name) return d.write();
    return {};
}

std::string document_names() {
    std::string names;
    for (const Document& d : kDocuments) names += std::string(d.name) + "\n";
    return names;
}

}  // namespace signalbox::daemon
