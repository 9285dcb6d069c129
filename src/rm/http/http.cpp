/* See http.h. */

#include "http/http.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "base/log.h"
#include "http/http_server.h"

namespace elastic::rm {

namespace {

constexpr int64_t SWEEP_MAX_MS = 5000;
constexpr int64_t ACCEPT_PAUSE_MS = 100;                /* when there is no descriptor left */
constexpr uint64_t REFUSED_BODY_MAX = 64 << 10;         /* read and dropped */
constexpr size_t REFUSED_KEPT = 64;                     /* so that clients can read the reason */
constexpr int64_t REFUSED_KEPT_MS = 5000;
constexpr size_t CONNECTION_MEMORY = 2 * HTTP_HEADER_MAX;
constexpr int64_t UNAUTHENTICATED_MAX_MS = 10000;      /* for the first request */
constexpr size_t ENDED_MAX = 512;               /* whose end libmicrohttpd has not detected yet */
constexpr size_t SEND_BLOCK = 32 << 10;

}  // namespace

namespace {

using Impl = HttpServer::Impl;

void give_time(MHD_Connection *connection, int64_t for_ms)
{
    if (HttpConnection *entry = connection_of(connection))
        entry->late_at_ms = for_ms ? monotonic_ms() + for_ms : 0;
}

MHD_Result take_argument(void *context, MHD_ValueKind, const char *name, const char *value)
{
    static_cast<HttpRequest *>(context)->query[name] = value ? value : "";
    return MHD_YES;
}

MHD_Result on_request(void *context, MHD_Connection *connection, const char *url,
                      const char *method, const char *, const char *data, size_t *bytes,
                      void **request_context)
{
    auto *impl = static_cast<Impl *>(context);
    if (!*request_context) {
        auto exchange = std::make_shared<Impl::Exchange>();
        exchange->server = impl;
        exchange->connection = connection;
        impl->begin(*exchange, url, method);
        *request_context = new std::shared_ptr<Impl::Exchange>(exchange);
        impl->exchanges.insert(exchange);
        return impl->let_in(exchange);
    }
    auto &exchange = *static_cast<std::shared_ptr<Impl::Exchange> *>(*request_context);
    if (*bytes > 0) {
        exchange->received += *bytes;
        if (exchange->received > 4 * HTTP_BODY_MAX)
            return MHD_NO;      /* no answer for a client that continues to send */
        if (exchange->received <= HTTP_BODY_MAX && !exchange->response)
            exchange->request.body.append(data, *bytes);
        *bytes = 0;
        return MHD_YES;
    }
    return impl->finish(exchange);
}

void on_end(void *context, MHD_Connection *, void **request_context, MHD_RequestTerminationCode)
{
    auto *held = static_cast<std::shared_ptr<Impl::Exchange> *>(*request_context);
    if (!held)
        return;
    static_cast<Impl *>(context)->release(**held);
    static_cast<Impl *>(context)->peers->drop_answer(**held);
    /* for the next request */
    give_time((*held)->connection, static_cast<Impl *>(context)->limits.receive_max_ms);
    (*held)->server = nullptr;
    (*held)->connection = nullptr;
    static_cast<Impl *>(context)->exchanges.erase(*held);
    delete held;
    *request_context = nullptr;
}

void on_connection(void *context, MHD_Connection *connection, void **socket_context,
                   MHD_ConnectionNotificationCode code)
{
    auto *impl = static_cast<Impl *>(context);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const MHD_ConnectionInfo *address =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        sockaddr_storage known = {};
        if (address && address->client_addr)
            memcpy(&known, address->client_addr,
                   address->client_addr->sa_family == AF_INET6   ? sizeof(sockaddr_in6)
                   : address->client_addr->sa_family == AF_INET ? sizeof(sockaddr_in)
                                                                : sizeof(sa_family_t));
        int fd = info ? info->connect_fd : -1;
        int64_t max_ms = impl->limits.receive_max_ms;
        auto *entry = new HttpConnection;
        entry->server = impl;
        entry->fd = fd;
        entry->peer = peer_of(fd, known);
        entry->is_unauthenticated = !impl->is_unix;
        entry->address = entry->is_unauthenticated ? entry->peer : "";
        entry->late_at_ms =
            monotonic_ms() +
            (entry->is_unauthenticated ? std::min(max_ms, UNAUTHENTICATED_MAX_MS) : max_ms);
        *socket_context = entry;
        impl->opened(entry);
    } else if (*socket_context) {
        impl->closed(static_cast<HttpConnection *>(*socket_context));
        *socket_context = nullptr;
    }
}

void on_log(void *, const char *format, va_list arguments)
{
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    log_line(LogLevel::DEBUG, "http", {{"text", text}});
}

}  // namespace

HttpServer::Impl::~Impl()
{
    for (const auto &exchange : std::set(exchanges)) {
        exchange->server = nullptr;
        if (exchange->suspended) {
            exchange->suspended = false;
            exchange->response = HttpResponse{
                503, "application/json",
                R"({"error":{"code":"storage",)"
                R"("message":"elasticd is stopping: try again in a moment"}})"};
            MHD_resume_connection(exchange->connection);
        }
    }
    for (Loop::TimerId each : {timer, sweep_timer, accept_timer, refused_timer})
        loop.cancel(each);
    if (listening.is_open())
        loop.discard(listening.get());
    if (epoll_fd >= 0)
        loop.discard(epoll_fd);
    if (daemon) {
        MHD_run(daemon);
        MHD_stop_daemon(daemon);
    }
}

std::string HttpServer::Impl::start(Descriptor socket)
{
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        nullptr, nullptr, on_request, this, MHD_OPTION_EXTERNAL_LOGGER, on_log, nullptr,
        MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(
            limits.connections + unauthenticated_max() + 2 * HTTP_ROOT_RESERVE + ENDED_MAX),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
        static_cast<unsigned>(std::max<int64_t>(limits.receive_max_ms / 1000, 1)),
        MHD_OPTION_NOTIFY_COMPLETED, on_end, this, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        this, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!daemon)
        return "cannot start the HTTP server";
    const MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return "the HTTP server has no epoll descriptor";
    epoll_fd = info->epoll_fd;
    loop.watch(epoll_fd, EPOLLIN, [this](uint32_t) { run(); });
    listening = std::move(socket);
    loop.watch(listening.get(), EPOLLIN, [this](uint32_t) { accept_some(); });
    sweep();
    run_soon();
    return "";
}

/* ---- connections ----------------------------------------------------------------------------- */

void HttpServer::Impl::accept_some()
{
    constexpr int AT_ONCE = 16;
    for (int i = 0; i < AT_ONCE; i++) {
        sockaddr_storage address = {};
        socklen_t length = sizeof address;
        Descriptor socket(accept4(listening.get(), reinterpret_cast<sockaddr *>(&address), &length,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.is_open()) {
            add(std::move(socket), address, length);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && !accept_timer) {
            loop.change(listening.get(), 0);
            accept_timer = loop.after(ACCEPT_PAUSE_MS, [this] {
                accept_timer = 0;
                loop.change(listening.get(), EPOLLIN);
            });
        }
        break;
    }
    run_soon();
}

void HttpServer::Impl::add(Descriptor socket, const sockaddr_storage &address, socklen_t length)
{
    std::string name = peer_of(socket.get(), address);
    auto peer = peers->peers.find(name);
    bool is_full =
        peer != peers->peers.end() && peer->second.connections >= limits.connections_of_peer;
    if (!is_unix) {
        if (is_full)
            peers->end_unauthenticated(name);
        else if (peers->unauthenticated.size() >= unauthenticated_max())
            peers->end_unauthenticated("");
    } else if (is_full) {
        return refuse(std::move(socket), 429, "you have too many open connections: close some");
    } else if (peers->users >=
               limits.connections + (uid_of(socket.get()) == 0u ? HTTP_ROOT_RESERVE : 0)) {
        return refuse(std::move(socket), 503,
                      "elasticd has too many open connections: try again in a moment");
    }
    MHD_add_connection(daemon, socket.release(), reinterpret_cast<const sockaddr *>(&address),
                       length);
}

/* Stays open for a moment: if a socket is closed before its client has written, the answer is
 * lost. */
void HttpServer::Impl::refuse(Descriptor socket, int status, const char *message)
{
    bool is_full = status == 503;
    char body[256], text[512];
    int length = snprintf(body, sizeof body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                          is_full ? "full" : "rate", message);
    length = snprintf(text, sizeof text,
                      "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nRetry-After: "
                      "1\r\nConnection: close\r\n"
                      "Content-Length: %d\r\n\r\n%s",
                      status, is_full ? "Service Unavailable" : "Too Many Requests", length, body);
    ::send(socket.get(), text, static_cast<size_t>(length), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(socket.get(), SHUT_WR);
    refused.emplace_back(std::move(socket), monotonic_ms() + REFUSED_KEPT_MS);
    if (refused.size() > REFUSED_KEPT)
        refused.pop_front();
    if (!refused_timer)
        refused_timer = loop.after(REFUSED_KEPT_MS, [this] { drop_refused(); });
}

void HttpServer::Impl::drop_refused()
{
    int64_t now_ms = monotonic_ms();
    while (!refused.empty() && refused.front().second <= now_ms)
        refused.pop_front();
    refused_timer = refused.empty() ? 0
                                    : loop.after(refused.front().second - now_ms,
                                                 [this] { drop_refused(); });
}

void HttpServer::Impl::opened(Connection *connection)
{
    connections.insert(connection);
    peers->join(*connection);
}

void HttpServer::Impl::closed(Connection *connection)
{
    peers->leave(*connection);
    connections.erase(connection);
    delete connection;
}

/* From now on it counts for its user. */
std::optional<HttpResponse> HttpServer::Impl::make_known(Connection &connection, uint32_t uid)
{
    if (!connection.is_unauthenticated)
        return std::nullopt;
    auto peer = peers->peers.find(user_peer(uid));
    if (peer != peers->peers.end() && peer->second.connections >= limits.connections_of_peer)
        return refusal_of(429, "rate", "you have too many open connections: close some");
    if (peers->users >= limits.connections + (uid == 0 ? HTTP_ROOT_RESERVE : 0))
        return refusal_of(
            503, "full", "elasticd has too many open connections: try again in a moment");
    peers->leave(connection);
    connection.is_unauthenticated = false;
    connection.peer = user_peer(uid);
    peers->join(connection);
    return std::nullopt;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The connection of a slow client is shut down; libmicrohttpd detects it and closes it. */
void HttpServer::Impl::sweep()
{
    int64_t now_ms = monotonic_ms();
    for (const Connection *each : connections)
        if (each->late_at_ms && now_ms >= each->late_at_ms)
            shutdown(each->fd, SHUT_RDWR);
    sweep_timer = loop.after(
        std::clamp<int64_t>(limits.receive_max_ms / 4, 100, SWEEP_MAX_MS), [this] { sweep(); });
}

/* Does all work that is possible now, and sets the time of the next call. */
void HttpServer::Impl::run()
{
    MHD_run(daemon);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (timer)
        loop.cancel(timer);
    timer = 0;
    if (MHD_get_timeout(daemon, &wait_ms) == MHD_YES)
        timer =
            loop.after(static_cast<int64_t>(std::min<unsigned long long>(wait_ms, 60000)), [this] {
                timer = 0;
                run();
            });
}

void HttpServer::Impl::run_soon()
{
    if (timer)
        loop.cancel(timer);
    timer = loop.after(0, [this] {
        timer = 0;
        run();
    });
}

void HttpServer::Impl::begin(Exchange &exchange, const char *url, const char *method)
{
    HttpRequest &request = exchange.request;
    request.method = method;
    request.path = url;
    request.authorization = header_of(exchange.connection, "Authorization");
    request.origin = header_of(exchange.connection, "Origin");
    request.host = header_of(exchange.connection, "Host");
    if (const Connection *connection = connection_of(exchange.connection))
        request.address = connection->address;
    const MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (auto peer = is_unix && info ? credentials_of(info->connect_fd) : std::nullopt) {
        request.peer_uid = peer->uid;
        request.peer_pid = peer->pid;
    }
    MHD_get_connection_values(exchange.connection, MHD_GET_ARGUMENT_KIND, take_argument, &request);
}

/* The headers are complete: decides whether the rest is read. */
MHD_Result HttpServer::Impl::let_in(const std::shared_ptr<Exchange> &exchange)
{
    std::string length = header_of(exchange->connection, "Content-Length");
    /* libmicrohttpd has refused values that are not numbers */
    uint64_t bytes = strtoull(length.c_str(), nullptr, 10);
    /* A limited excess is read and dropped, so that the client gets the reason of the refusal. */
    exchange->request.too_large = bytes > 4 * HTTP_BODY_MAX;
    Connection *connection = connection_of(exchange->connection);
    exchange->response = why_length_is_unusable(exchange->connection);
    bool is_refused_here = exchange->response.has_value();
    if (!is_refused_here)
        exchange->response = handler.admit(exchange->request);
    if (connection && exchange->request.user && !exchange->response)
        exchange->response = make_known(*connection, *exchange->request.user);
    if (!exchange->response && connection) {
        HttpPeers::Peer &peer = peers->peers[connection->peer];
        exchange->reserved = std::min<uint64_t>(bytes, HTTP_BODY_MAX);
        peer.body_bytes += exchange->reserved;
        if (peer.body_bytes > HTTP_PEER_BODIES_MAX)
            exchange->response = refusal_of(
                429, "rate", "you are sending too much at once: send one after the other");
    }
    if (!exchange->response)
        return MHD_YES;
    exchange->dispatched = true;
    /* A client that still writes when its connection is closed does not get the answer. */
    return is_refused_here || bytes > REFUSED_BODY_MAX ? send(*exchange) : MHD_YES;
}

void HttpServer::Impl::release(Exchange &exchange)
{
    Connection *connection = connection_of(exchange.connection);
    auto peer = connection ? peers->peers.find(connection->peer) : peers->peers.end();
    if (peer != peers->peers.end()) {
        peer->second.body_bytes -= std::exchange(exchange.reserved, 0);
        peers->close_idle(peer->first);
    }
}

/* The request is complete, or its answer is ready. */
MHD_Result HttpServer::Impl::finish(const std::shared_ptr<Exchange> &exchange)
{
    if (!exchange->dispatched) {
        exchange->dispatched = true;
        give_time(exchange->connection, 0);
        exchange->request.too_large = exchange->received > HTTP_BODY_MAX;
        handler.handle(std::move(exchange->request), Responder(exchange));
    }
    if (exchange->response)
        return send(*exchange);
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return MHD_YES;
}

MHD_Result HttpServer::Impl::send(Exchange &exchange)
{
    const HttpResponse &answer = *exchange.response;
    give_time(exchange.connection, limits.send_max_ms);
    if (!peers->hold_answer(exchange, answer.body.size()))
        return MHD_NO;
    /* The only copy of the body. */
    auto *body = new std::string(std::move(exchange.response->body));
    auto read = [](void *context, uint64_t position, char *block, size_t bytes_max) -> ssize_t {
        const auto &text = *static_cast<const std::string *>(context);
        size_t bytes = std::min(bytes_max, text.size() - std::min<size_t>(position, text.size()));
        memcpy(block, text.data() + position, bytes);
        return bytes > 0 ? static_cast<ssize_t>(bytes) : MHD_CONTENT_READER_END_OF_STREAM;
    };
    auto free_body = [](void *context) { delete static_cast<std::string *>(context); };
    MHD_Response *response =
        MHD_create_response_from_callback(body->size(), SEND_BLOCK, read, body, free_body);
    if (!response) {
        delete body;
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", answer.type.c_str());
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (const auto &[name, value] : answer.headers)
        MHD_add_response_header(response, name.c_str(), value.c_str());
    MHD_Result result =
        MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
    MHD_destroy_response(response);
    return result;
}

void Responder::operator()(HttpResponse response) const
{
    if (!exchange_ || !exchange_->server || exchange_->response)
        return;
    exchange_->response = std::move(response);
    if (!exchange_->suspended)
        return;
    exchange_->suspended = false;
    MHD_resume_connection(exchange_->connection);
    exchange_->server->run_soon();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>>
HttpServer::start(Loop &loop, Descriptor listening, bool is_unix, const HttpLimits &limits,
                  std::shared_ptr<HttpPeers> peers, RequestHandler &handler)
{
    auto impl = std::make_unique<Impl>(loop, handler, limits, is_unix, std::move(peers));
    std::string error = impl->start(std::move(listening));
    if (!error.empty())
        return Error{error};
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

size_t HttpServer::connections() const
{
    return impl_->connections.size();
}

}  // namespace elastic::rm
