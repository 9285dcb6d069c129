/* See output_readers.h. */

#include "cli/output_readers.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/peer.h"

namespace elastic {

namespace {

short found_at(const std::vector<pollfd> &found, int fd)
{
    for (const pollfd &one : found)
        if (one.fd == fd)
            return one.revents;
    return 0;
}

/* From an integer with any value. */
int64_t lines_of(const Json &request)
{
    return std::clamp<int64_t>(integer_or(request, "lines", 0), 0, ATTACH_LINES_MAX);
}

}  // namespace

/* ---- frames ---------------------------------------------------------------------------------- */

std::string AttachFrame::bytes() const
{
    auto length = static_cast<uint32_t>(data.size());
    std::string text(1, static_cast<char>(kind));
    for (int shift = 24; shift >= 0; shift -= 8)
        text += static_cast<char>(length >> shift & 0xff);
    return text + data;
}

std::optional<AttachFrame> AttachFrame::take(std::string &received, bool &good)
{
    good = true;
    if (received.size() < HEAD)
        return std::nullopt;
    auto kind = static_cast<uint8_t>(received[0]);
    uint32_t length = 0;
    for (size_t i = 1; i < HEAD; i++)
        length = length << 8 | static_cast<uint8_t>(received[i]);
    good = kind >= OUTPUT && kind <= INPUT && length <= DATA_MAX;
    if (!good || received.size() < HEAD + length)
        return std::nullopt;
    AttachFrame frame{static_cast<Kind>(kind), received.substr(HEAD, length)};
    received.erase(0, HEAD + length);
    return frame;
}

/* ---- storage -------------------------------------------------------------------------------- */

/* Stores twice as much before it drops the older half, so that each byte is moved once. */
void Tail::add(std::string_view bytes)
{
    bytes_.append(bytes);
    if (bytes_.size() < 2 * KEPT_BYTES)
        return;
    size_t excess = bytes_.size() - KEPT_BYTES;
    bytes_.erase(0, excess);
    begin_ += excess;
}

std::string_view Tail::from(uint64_t offset, size_t bytes_max) const
{
    if (offset < begin_ || offset > end())
        return {};
    return std::string_view(bytes_).substr(offset - begin_, bytes_max);
}

uint64_t Tail::start_of_last(int64_t lines) const
{
    if (lines <= 0)
        return end();
    for (size_t i = bytes_.size(); i-- > 0;)
        if (bytes_[i] == '\n' && i + 1 < bytes_.size() && lines-- == 1)
            return begin_ + i + 1;
    return begin_;
}

/* ---- readers --------------------------------------------------------------------------------- */

Result<std::unique_ptr<OutputReaders>> OutputReaders::listen(const std::string &path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Error{path + " is too long for a socket"};
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0 ||
        bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        chmod(path.c_str(), 0600) != 0 ||
        ::listen(socket.get(), static_cast<int>(READERS_MAX)) != 0)
        return Error{"cannot listen at " + path + ": " + strerror(errno)};
    return std::unique_ptr<OutputReaders>(new OutputReaders(std::move(socket)));
}

void OutputReaders::accept_one()
{
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0 || !foreign_peer(socket.get(), true).empty())
        return;
    if (readers_.size() >= READERS_MAX) {
        std::string full =
            Json({{"error", "too many readers are attached to the job already"}}).dump() + "\n";
        [[maybe_unused]] ssize_t sent =
            send(socket.get(), full.data(), full.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    readers_.emplace_back();
    readers_.back().socket = std::move(socket);
}

bool OutputReaders::lags(const Reader &reader) const
{
    if (!reader.pending.empty())
        return true;
    for (size_t i = 0; reader.has_requested && i < STREAMS; i++)
        if (reader.next[i] < tails_[i].end())
            return true;
    return false;
}

/* No data is received from the reader that has the input while its data waits. */
bool OutputReaders::may_receive(const Reader &reader) const
{
    return &reader != input_ || (taken_.bytes.empty() && !taken_.ended);
}

void OutputReaders::wait_for(std::vector<pollfd> &waits) const
{
    waits.push_back({socket_.get(), POLLIN, 0});
    for (const Reader &reader : readers_) {
        int events = (may_receive(reader) ? POLLIN : 0) | (lags(reader) ? POLLOUT : 0);
        waits.push_back({reader.socket.get(), static_cast<short>(events), 0});
    }
}

void OutputReaders::pump(const std::vector<pollfd> &found)
{
    for (Reader &reader : readers_) {
        short events = found_at(found, reader.socket.get());
        if ((events & (POLLIN | POLLHUP | POLLERR)) && may_receive(reader))
            receive(reader);
        else if (events & (POLLHUP | POLLERR))
            reader.is_closed = true;
        if (!reader.is_closed && lags(reader))
            write(reader);
        if (!reader.has_requested &&
            std::chrono::steady_clock::now() - reader.since > REQUEST_PATIENCE)
            reader.is_closed = true;
        if (reader.is_closed && &reader == input_)
            input_ = nullptr;   /* the input itself continues */
    }
    readers_.remove_if([](const Reader &reader) { return reader.is_closed; });
    if (found_at(found, socket_.get()))
        accept_one();
}

void OutputReaders::receive(Reader &reader)
{
    char block[ATTACH_LINE_MAX];
    ssize_t bytes = recv(reader.socket.get(), block, sizeof block, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        reader.is_closed = true;
        return;
    }
    reader.received.append(block, static_cast<size_t>(bytes));
    if (!reader.has_requested)
        take_request(reader);
    bool good = true;
    while (reader.has_requested && !reader.is_closed) {
        auto frame = AttachFrame::take(reader.received, good);
        if (!good || (frame && (frame->kind != AttachFrame::INPUT || &reader != input_)))
            reader.is_closed = true;
        if (!frame || reader.is_closed)
            return;
        taken_.bytes += frame->data;
        taken_.ended = taken_.ended || frame->data.empty();
    }
}

void OutputReaders::take_request(Reader &reader)
{
    size_t end = reader.received.find('\n');
    if (end == std::string::npos) {
        reader.is_closed = reader.received.size() >= ATTACH_LINE_MAX;
        return;
    }
    /* Only one object without nesting: nested input must not exhaust the stack. */
    std::string line = reader.received.substr(0, end);
    reader.received.erase(0, end + 1);
    bool is_flat =
        std::count(line.begin(), line.end(), '{') + std::count(line.begin(), line.end(), '[') <= 1;
    Json request = is_flat ? Json::parse(line, nullptr, false) : Json();
    if (!request.is_object() || integer_or(request, "version", 0) != ATTACH_VERSION) {
        const char *why = "this elastic run has version 1 of the attach protocol: use the same "
                          "release";
        reader.pending = Json({{"error", why}}).dump() + "\n";
        write(reader);
        reader.is_closed = true;
        return;
    }
    begin(reader, request);
}

void OutputReaders::begin(Reader &reader, const Json &request)
{
    Json answer = {{"version", ATTACH_VERSION}, {"from", Json::object()}, {"input", false}};
    for (size_t i = 0; i < STREAMS; i++) {
        reader.next[i] = tails_[i].start_of_last(lines_of(request));
        answer["from"][STREAM_NAMES[i]] = reader.next[i];
    }
    if (bool_or(request, "input", false)) {
        if (no_input_.empty() && !input_)
            input_ = &reader;
        answer["input"] = input_ == &reader;
        if (input_ != &reader)
            answer["why_not"] =
                no_input_.empty() ? "another client sends the job's input" : no_input_;
    }
    reader.has_requested = true;
    reader.pending = answer.dump() + "\n";
}

/* Prepares the next frame. */
void OutputReaders::fill(Reader &reader) const
{
    for (size_t i = 0; i < STREAMS; i++) {
        const Tail &tail = tails_[i];
        bool is_output = i == static_cast<size_t>(Stream::OUTPUT);
        uint64_t missed = tail.begin() - std::min(tail.begin(), reader.next[i]);
        AttachFrame frame;
        if (missed > 0) {
            frame.kind = is_output ? AttachFrame::OUTPUT_MISSED : AttachFrame::ERROR_MISSED;
            frame.data = std::to_string(missed);
            reader.next[i] = tail.begin();
        } else if (reader.next[i] < tail.end()) {
            frame.kind = is_output ? AttachFrame::OUTPUT : AttachFrame::ERROR;
            frame.data = tail.from(reader.next[i], AttachFrame::DATA_MAX);
            reader.next[i] += frame.data.size();
        } else {
            continue;
        }
        reader.pending += frame.bytes();
    }
}

void OutputReaders::write(Reader &reader)
{
    if (reader.pending.empty())
        fill(reader);
    ssize_t sent = send(reader.socket.get(), reader.pending.data(), reader.pending.size(),
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        reader.pending.erase(0, static_cast<size_t>(sent));
    else if (sent < 0 && errno != EAGAIN && errno != EINTR)
        reader.is_closed = true;
}

bool OutputReaders::are_served() const
{
    return std::none_of(readers_.begin(), readers_.end(),
                        [this](const Reader &reader) { return lags(reader); });
}

OutputReaders::Input OutputReaders::take_input()
{
    return std::exchange(taken_, {});
}

}  // namespace elastic
