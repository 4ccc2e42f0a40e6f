// SPDX-License-Identifier: Apache-2.0
// The receiver thread of an application server.
#include "application_server.h"

namespace interop {

using m3ua::Kind;
using m3ua::Tag;

void ApplicationServer::receive_all() {
    for (bool open = true; open;) {
        const Received received = socket_->receive();
        const std::lock_guard lock(mutex_);
        switch (received.what) {
            case Received::What::message:
                on_message(received);
                break;
            case Received::What::up:
                seen_.up = true;
                break;
            case Received::What::path_down:
                ++paths_lost_;
                break;
            case Received::What::path_up:
                ++paths_restored_;
                break;
            case Received::What::lost:
            case Received::What::closing:
                lost_ = lost_ || (!leaving_ && seen_.up);
                break;
            case Received::What::ended:
                lost_ = lost_ || (!leaving_ && seen_.up);
                seen_.ended = true;
                open = false;
                break;
            case Received::What::other:
                break;
        }
        changed_.notify_all();
    }
}

void ApplicationServer::on_message(const Received& received) {
    const auto message = m3ua::decode(received.bytes);
    if (!message || received.protocol != m3ua::kPayloadProtocol) {
        ledger_.corrupt();
        return;
    }
    switch (message->kind) {
        case Kind::data:
            on_data(*message, received.stream);
            break;
        case Kind::aspup_ack:
            seen_.aspup_ack = true;
            break;
        case Kind::aspac_ack:
            seen_.aspac_ack = true;
            break;
        case Kind::aspia_ack:
            seen_.aspia_ack = true;
            break;
        case Kind::aspdn_ack:
            seen_.aspdn_ack = true;
            break;
        case Kind::ntfy:
            on_notify(*message);
            break;
        case Kind::dava:
            if (message->number(Tag::affected_point_code) == options_.dpc) seen_.dava = true;
            break;
        case Kind::beat:  // answered at once and unchanged (RFC 4666 3.5.6)
            send_control({Kind::beat_ack, message->parameters});
            break;
        case Kind::err:
            ++errors_;
            last_error_ = message->number(Tag::error_code).value_or(0);
            break;
        default:
            break;
    }
}

void ApplicationServer::on_notify(const m3ua::Message& message) {
    const auto status = message.number(Tag::status);
    if (status == m3ua::kAsActive) seen_.as_active = true;
}

void ApplicationServer::on_data(const m3ua::Message& message, std::uint16_t stream) {
    if (stream == 0) ++on_stream_zero_;
    const auto data = m3ua::protocol_data(message);
    const auto stamp = data ? read_stamp(data->user_data) : std::nullopt;
    if (!stamp) {
        ledger_.corrupt();
        return;
    }
    const bool labels_right = data->sls == stamp->sls && data->dpc == options_.opc &&
                              data->opc == options_.dpc &&
                              data->network_indicator == options_.network_indicator &&
                              message.number(Tag::routing_context) == options_.routing_context;
    if (!labels_right) ledger_.mislabelled();
    ledger_.take(*stamp);
    if (record_ != nullptr) write_record(*stamp);
}

void ApplicationServer::write_record(const Stamp& stamp) {
    m3ua::Bytes line;
    m3ua::put32(line, stamp.sender);
    m3ua::put32(line, stamp.sls);
    m3ua::put32(line, static_cast<std::uint32_t>(stamp.sequence >> 32));
    m3ua::put32(line, static_cast<std::uint32_t>(stamp.sequence));
    std::fwrite(line.data(), 1, line.size(), record_);
}

}  // namespace interop
