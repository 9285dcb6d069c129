/* See http.h. */

#include "daemon/http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <set>

#include "daemon/log.h"

namespace elastic::rm {

namespace {

constexpr unsigned IDLE_S = 120;
constexpr size_t CONNECTION_MEMORY = 2 * HTTP_HEADER_MAX;
constexpr int BACKLOG = 512;

}  // namespace

struct Responder::Exchange {
    HttpServer::Impl *server = nullptr; /* null: the client or the server is gone */
    MHD_Connection *connection = nullptr;
    HttpRequest request;
    std::optional<HttpResponse> response;
    size_t received = 0;
    bool dispatched = false, suspended = false;
};

struct HttpServer::Impl {
    using Exchange = Responder::Exchange;

    Loop &loop;
    Handler handler;
    bool is_unix = false;
    MHD_Daemon *daemon = nullptr;
    int epoll_fd = -1;
    Loop::TimerId timer = 0;
    std::set<std::shared_ptr<Exchange>> exchanges;
    std::map<uint32_t, size_t> connections_of;

    Impl(Loop &loop_, Handler handler_, bool is_unix_) : loop(loop_), handler(std::move(handler_)), is_unix(is_unix_) {}
    ~Impl();
    std::string start(Descriptor listening, size_t connections_max);
    void run();
    void run_soon();
    void begin(Exchange &exchange, const char *url, const char *method);
    MHD_Result finish(const std::shared_ptr<Exchange> &exchange);
    MHD_Result send(Exchange &exchange);
};

namespace {

using Impl = HttpServer::Impl;

std::optional<uint32_t> peer_uid(MHD_Connection *connection)
{
    const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return std::nullopt;
    return peer.uid;
}

std::string header(MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

MHD_Result take_argument(void *context, MHD_ValueKind, const char *name, const char *value)
{
    static_cast<HttpRequest *>(context)->query[name] = value ? value : "";
    return MHD_YES;
}

MHD_Result on_request(void *context, MHD_Connection *connection, const char *url, const char *method, const char *,
                      const char *data, size_t *bytes, void **request_context)
{
    auto *impl = static_cast<Impl *>(context);
    if (!*request_context) {
        auto exchange = std::make_shared<Impl::Exchange>();
        exchange->server = impl;
        exchange->connection = connection;
        impl->begin(*exchange, url, method);
        *request_context = new std::shared_ptr<Impl::Exchange>(exchange);
        impl->exchanges.insert(exchange);
        return MHD_YES;
    }
    auto &exchange = *static_cast<std::shared_ptr<Impl::Exchange> *>(*request_context);
    if (*bytes > 0) {
        exchange->received += *bytes;
        if (exchange->received > 4 * HTTP_BODY_MAX)
            return MHD_NO;      /* no sense in answering who does not stop */
        if (exchange->received <= HTTP_BODY_MAX)
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
    if (!impl->is_unix)
        return;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        auto uid = peer_uid(connection);
        *socket_context = reinterpret_cast<void *>(uintptr_t{uid ? *uid : UINT32_MAX});
        impl->connections_of[uid ? *uid : UINT32_MAX]++;
        return;
    }
    auto found = impl->connections_of.find(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*socket_context)));
    if (found != impl->connections_of.end() && --found->second == 0)
        impl->connections_of.erase(found);
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
            exchange->response = HttpResponse{503, "application/json",
                R"({"error":{"code":"storage","message":"elasticd is stopping: try again in a moment"}})"};
            MHD_resume_connection(exchange->connection);
        }
    }
    if (timer)
        loop.cancel(timer);
    if (epoll_fd >= 0)
        loop.forget(epoll_fd);
    if (daemon) {
        MHD_run(daemon);
        MHD_stop_daemon(daemon);
    }
}

std::string HttpServer::Impl::start(Descriptor listening, size_t connections_max)
{
    int fd = listening.get();
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, on_request, this,
        MHD_OPTION_EXTERNAL_LOGGER, on_log, nullptr, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(connections_max),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, this, MHD_OPTION_NOTIFY_CONNECTION, on_connection, this, MHD_OPTION_END);
    if (!daemon)
        return "cannot start the HTTP server";
    listening.release();        /* it is closed with the daemon */
    const MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return "the HTTP server has no epoll descriptor";
    epoll_fd = info->epoll_fd;
    loop.watch(epoll_fd, EPOLLIN, [this](uint32_t) { run(); });
    run_soon();
    return "";
}

/* Does what can be done now, and looks when to come again. */
void HttpServer::Impl::run()
{
    MHD_run(daemon);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (timer)
        loop.cancel(timer);
    timer = 0;
    if (MHD_get_timeout(daemon, &wait_ms) == MHD_YES)
        timer = loop.after(static_cast<int64_t>(std::min<unsigned long long>(wait_ms, 60000)), [this] {
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
    request.authorization = header(exchange.connection, "Authorization");
    request.origin = header(exchange.connection, "Origin");
    request.host = header(exchange.connection, "Host");
    if (is_unix) {
        request.peer_uid = peer_uid(exchange.connection);
        request.peer_connections = request.peer_uid ? connections_of[*request.peer_uid] : 0;
    }
    MHD_get_connection_values(exchange.connection, MHD_GET_ARGUMENT_KIND, take_argument, &request);
}

/* The request is complete, or the answer to it is there. */
MHD_Result HttpServer::Impl::finish(const std::shared_ptr<Exchange> &exchange)
{
    if (!exchange->dispatched) {
        exchange->dispatched = true;
        exchange->request.too_large = exchange->received > HTTP_BODY_MAX;
        HttpRequest request = std::move(exchange->request);
        handler(request, Responder(exchange));
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
    MHD_Response *response = MHD_create_response_from_buffer(
        answer.body.size(), const_cast<char *>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", answer.type.c_str());
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (const auto &[name, value] : answer.headers)
        MHD_add_response_header(response, name.c_str(), value.c_str());
    MHD_Result result = MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
    MHD_destroy_response(response);
    return result;
}

void Responder::operator()(HttpResponse response) const
{
    if (!exchange_->server || exchange_->response)
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

Result<std::unique_ptr<HttpServer>> HttpServer::start(Loop &loop, Descriptor listening, bool is_unix,
                                                      size_t connections_max, Handler handler)
{
    auto impl = std::make_unique<Impl>(loop, std::move(handler), is_unix);
    std::string error = impl->start(std::move(listening), connections_max);
    if (!error.empty())
        return Error{error};
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

size_t HttpServer::connections() const
{
    const MHD_DaemonInfo *info = MHD_get_daemon_info(impl_->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/* ---- listening ------------------------------------------------------------------------------------- */

namespace {

std::string prepare_folder(const std::string &folder)
{
    bool root = geteuid() == 0;
    if (mkdir(folder.c_str(), root ? 0755 : 0700) != 0 && errno != EEXIST)
        return "cannot make " + folder + ": " + strerror(errno);
    struct stat status = {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 022) != 0)
        return folder + " is not a directory of this user that nobody else may write: "
               "remove it, or set listen.socket to another place";
    return "";
}

bool somebody_listens(const sockaddr_un &address)
{
    Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 || errno == EAGAIN;
}

}  // namespace

Result<Descriptor> listen_unix(const std::string &path, unsigned mode)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Error{path + " is too long for a socket: set listen.socket to a shorter one"};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    std::string error = prepare_folder(std::filesystem::path(path).parent_path());
    if (!error.empty())
        return Error{error};
    if (somebody_listens(address))
        return Error{"another elasticd listens on " + path + ": stop that one, or set listen.socket to another path"};
    unlink(path.c_str());
    Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening.is_open() ||
        bind(listening.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        chmod(path.c_str(), mode) != 0 || listen(listening.get(), BACKLOG) != 0)
        return Error{"cannot listen on " + path + ": " + strerror(errno)};
    return listening;
}

Result<Descriptor> listen_tcp(const std::string &address_and_port)
{
    size_t colon = address_and_port.rfind(':');
    std::string host = address_and_port.substr(0, colon), port = address_and_port.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    addrinfo hints = {}, *found = nullptr;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
    if (code != 0)
        return Error{"listen.tcp " + address_and_port + ": " + gai_strerror(code)};
    std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, freeaddrinfo);
    Descriptor listening(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int on = 1;
    setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!listening.is_open() || bind(listening.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        listen(listening.get(), BACKLOG) != 0)
        return Error{"cannot listen on " + address_and_port + ": " + strerror(errno)};
    return listening;
}

}  // namespace elastic::rm
