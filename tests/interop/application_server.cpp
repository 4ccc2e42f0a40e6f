// SPDX-License-Identifier: Apache-2.0
#include "application_server.h"

#include <unistd.h>

#include <cinttypes>

namespace interop {
namespace {

using m3ua::Kind;
using m3ua::Tag;
using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr double kAnswerS = 5;    // for the answer to a management message
constexpr double kAuditS = 1.2;   // between two DAUD: a gateway may ignore more in a second
constexpr double kConnectS = 60;  // the stack gives up before
constexpr double kProgressS = 0.5;

template <class D>
double seconds(D d) {
    return duration_cast<duration<double>>(d).count();
}

}  // namespace

ApplicationServer::ApplicationServer(const Options& options, const volatile std::atomic<bool>& stop)
    : options_(options),
      stop_(stop),
      deadline_(started_ + duration_cast<Clock::duration>(duration<double>(options.timeout_s))),
      next_sequence_(options.sls_count, 0) {
    if (!options_.record.empty()) record_ = std::fopen(options_.record.c_str(), "wb");
    if (record_ != nullptr)
        std::setvbuf(record_, nullptr, _IONBF, 0);  // complete even after SIGKILL
}

ApplicationServer::~ApplicationServer() {
    if (record_ != nullptr) std::fclose(record_);
}

template <class Condition>
bool ApplicationServer::wait(double for_s, Condition condition) {
    const auto until = Clock::now() + duration_cast<Clock::duration>(duration<double>(for_s));
    std::unique_lock lock(mutex_);
    while (!condition()) {
        if (seen_.ended || Clock::now() >= until || (out_of_time() && !leaving_)) return false;
        changed_.wait_for(lock, milliseconds(20));  // short, for a signal wakes nobody
    }
    return true;
}

/// The gateway opens the association.
bool ApplicationServer::await_association() {
    SctpSocket listener(options_.local, options_.local_port, options_.streams);
    const auto accepted = listener.listen() ? listener.accept() : std::nullopt;
    if (!accepted) return false;
    socket_ = std::make_unique<SctpSocket>(*accepted);
    seen_ = Seen{};
    seen_.up = true;
    receiver_ = std::thread([this] { receive_all(); });
    return true;
}

// INIT is sent again by the stack; a new attempt is made only after a refusal.
bool ApplicationServer::associate() {
    if (options_.listen) return await_association();
    while (!out_of_time()) {
        socket_.reset();  // closed before the next one binds the same port
        socket_ =
            std::make_unique<SctpSocket>(options_.local, options_.local_port, options_.streams);
        seen_ = Seen{};
        if (socket_->connect(options_.remote, options_.port)) {
            receiver_ = std::thread([this] { receive_all(); });
            if (wait(kConnectS, [this] { return seen_.up; })) return true;
            {
                const std::lock_guard lock(mutex_);
                if (!seen_.ended) return false;
            }
            receiver_.join();
        }
        usleep(200000);
    }
    return false;
}

m3ua::Message ApplicationServer::about_traffic(Kind kind, bool with_mode) const {
    m3ua::Message message{kind, {}};
    if (with_mode && options_.traffic_mode)
        message.parameters.push_back(m3ua::parameter(Tag::traffic_mode, *options_.traffic_mode));
    if (options_.routing_context)
        message.parameters.push_back(
            m3ua::parameter(Tag::routing_context, *options_.routing_context));
    return message;
}

bool ApplicationServer::send_control(const m3ua::Message& message) {
    return socket_->send(m3ua::encode(message), 0);  // management on stream 0, RFC 4666 1.4.7
}

bool ApplicationServer::bring_up() {
    failed_at_ = "association";
    if (!associate()) return false;
    streams_ = socket_->outgoing_streams();
    failed_at_ = "streams";
    if (streams_ < 2) return false;  // DATA may not go on stream 0
    failed_at_ = "ASPUP";
    m3ua::Message up{Kind::aspup, {}};
    if (options_.asp_id)
        up.parameters.push_back(m3ua::parameter(Tag::asp_identifier, *options_.asp_id));
    if (!send_control(up) || !wait(kAnswerS, [this] { return seen_.aspup_ack; })) return false;
    failed_at_ = "ASPAC";
    if (!send_control(about_traffic(Kind::aspac, true)) ||
        !wait(kAnswerS, [this] { return seen_.aspac_ack; }))
        return false;
    failed_at_ = "NTFY AS-ACTIVE";
    if (!wait(kAnswerS, [this] { return seen_.as_active; })) return false;
    failed_at_ = "start of traffic";
    if (!wait_to_start()) return false;
    failed_at_.clear();
    return true;
}

// The destination is there when the gateway says so: ask until it does (RFC 4666 3.4.3).
bool ApplicationServer::wait_to_start() {
    while (!options_.start_file.empty() && access(options_.start_file.c_str(), F_OK) != 0) {
        if (out_of_time()) return false;
        usleep(10000);
    }
    if (options_.send == 0 || !options_.audit) return true;
    m3ua::Message audit = about_traffic(Kind::daud, false);
    audit.parameters.push_back(m3ua::parameter(Tag::affected_point_code, options_.dpc));
    while (!out_of_time()) {
        if (!send_control(audit)) return false;
        if (wait(kAuditS, [this] { return seen_.dava; })) return true;
    }
    return false;
}

bool ApplicationServer::send_one(std::uint64_t index) {
    const auto sls = static_cast<std::uint32_t>(index % options_.sls_count);
    const Stamp stamp{options_.asp_id.value_or(options_.opc), sls, next_sequence_[sls]};
    if (stamp.sequence >= kSequenceMax) return false;
    ++next_sequence_[sls];
    const m3ua::Bytes user_data = stamped(stamp, options_.payload_bytes);
    const m3ua::Bytes bytes = m3ua::encode_data(options_.routing_context,
                                                {.opc = options_.opc,
                                                 .dpc = options_.dpc,
                                                 .network_indicator = options_.network_indicator,
                                                 .sls = static_cast<std::uint8_t>(sls),
                                                 .user_data = user_data});
    return socket_->send(bytes, static_cast<std::uint16_t>(1 + sls % (streams_ - 1U)));
}

void ApplicationServer::send_traffic() {
    first_sent_ = Clock::now();
    for (std::uint64_t i = 0; i < options_.send && !out_of_time(); ++i) {
        if (options_.rate != 0) {
            const auto due =
                first_sent_ + duration_cast<Clock::duration>(duration<double>(
                                  static_cast<double>(i) / static_cast<double>(options_.rate)));
            while (Clock::now() < due && !out_of_time()) {
                show_progress(false);
                const auto left = due - Clock::now();
                if (left.count() > 0)
                    std::this_thread::sleep_for(std::min<Clock::duration>(left, milliseconds(50)));
            }
            if (out_of_time()) return;
        }
        if (!send_one(i)) {
            const std::lock_guard lock(mutex_);
            lost_ = true;
            return;
        }
        ++sent_;
        if (i % 64 == 0) show_progress(false);
    }
}

std::uint64_t ApplicationServer::received() {
    const std::lock_guard lock(mutex_);
    return ledger_.distinct();
}

void ApplicationServer::wait_for_the_rest() {
    auto moved_at = Clock::now();
    std::uint64_t had = 0;
    while (!out_of_time() && !lost_) {
        show_progress(false);
        const auto waiting = socket_->unacknowledged();
        // Without traffic of its own and without a number to expect, it serves until told to stop.
        const bool serves = options_.send == 0 && options_.expect == 0;
        if (received() >= options_.expect && !serves && waiting.value_or(0) == 0) break;
        const std::uint64_t have = received();
        if (have != had) moved_at = Clock::now();
        had = have;
        if (!serves && seconds(Clock::now() - moved_at) > options_.stall_s) break;
        usleep(2000);
    }
    const auto until =
        Clock::now() + duration_cast<Clock::duration>(duration<double>(options_.linger_s));
    while (Clock::now() < until && !out_of_time()) usleep(10000);  // what comes now comes too often
}

void ApplicationServer::leave() {
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
        if (lost_ || !seen_.up || seen_.ended) return;
    }
    if (seen_.aspac_ack && send_control(about_traffic(Kind::aspia, false)))
        wait(kAnswerS, [this] { return seen_.aspia_ack; });
    if (seen_.aspup_ack && send_control({Kind::aspdn, {}}))
        wait(kAnswerS, [this] { return seen_.aspdn_ack; });
    socket_->shutdown();
    wait(kAnswerS, [this] { return seen_.ended; });
}

int ApplicationServer::run() {
    if (bring_up()) {
        send_traffic();
        wait_for_the_rest();
    }
    leave();
    if (receiver_.joinable()) receiver_.detach();
    if (options_.progress) show_progress(true);
    return report();
}

void ApplicationServer::show_progress(bool now) {
    if (!options_.progress || (!now && seconds(Clock::now() - last_progress_) < kProgressS)) return;
    last_progress_ = Clock::now();
    const std::lock_guard lock(mutex_);
    std::printf(
        "{\"progress\": %.3f, \"sent\": %" PRIu64 ", \"received\": %" PRIu64 ", \"lost\": %" PRIu64
        ", \"duplicated\": %" PRIu64 ", \"reordered\": %" PRIu64 ", \"flows\": %s}\n",
        seconds(last_progress_ - started_), sent_.load(), ledger_.distinct(), ledger_.gaps(),
        ledger_.duplicated(), ledger_.reordered(), ledger_.flows_json().c_str());
    std::fflush(stdout);
}

int ApplicationServer::report() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t short_by =
        options_.expect > ledger_.distinct() ? options_.expect - ledger_.distinct() : 0;
    const std::uint64_t lost = options_.share ? 0 : std::max(short_by, ledger_.gaps());
    const bool all_sent = options_.send == kUnlimited || sent_ == options_.send;
    const bool ok = failed_at_.empty() && !lost_ && all_sent && lost == 0 && short_by == 0 &&
                    ledger_.duplicated() == 0 && ledger_.reordered() == 0 &&
                    ledger_.corrupted() == 0 && ledger_.mislabels() == 0 && on_stream_zero_ == 0;
    const double took_s =
        first_sent_ == Clock::time_point{} ? 0 : seconds(Clock::now() - first_sent_);
    std::printf(
        "{\"ok\": %s, \"sent\": %" PRIu64 ", \"received\": %" PRIu64 ", \"lost\": %" PRIu64
        ", \"duplicated\": %" PRIu64 ", \"reordered\": %" PRIu64 ", \"corrupt\": %" PRIu64
        ", \"mislabelled\": %" PRIu64 ", \"stream_zero\": %" PRIu64 ", \"errors\": %" PRIu64
        ", \"last_error\": %" PRIu64 ", \"paths_lost\": %" PRIu64 ", \"paths_restored\": %" PRIu64
        ", \"association_lost\": %s, \"streams\": %u, \"failed_at\": \"%s\", \"seconds\": %.3f, "
        "\"flows\": %s}\n",
        ok ? "true" : "false", sent_.load(), ledger_.distinct(), lost, ledger_.duplicated(),
        ledger_.reordered(), ledger_.corrupted(), ledger_.mislabels(), on_stream_zero_, errors_,
        last_error_, paths_lost_, paths_restored_, lost_ ? "true" : "false",
        static_cast<unsigned>(streams_), failed_at_.c_str(), took_s, ledger_.flows_json().c_str());
    std::fflush(stdout);
    return ok ? 0 : 1;
}

}  // namespace interop
