/*
 * The parts of a server (http.h): its connections and exchanges, and the counts of all servers for
 * each user and class of addresses.  Used only by the files of this folder.
 */

#ifndef ELASTIC_RM_HTTP_SERVER_H_INCLUDED
#define ELASTIC_RM_HTTP_SERVER_H_INCLUDED

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "http/http.h"

namespace elastic::rm {

constexpr size_t UNAUTHENTICATED_MIN = 16;

struct Responder::Exchange {
    /* null: the client has disconnected or the server has ended */
    HttpServer::Impl *server = nullptr;
    MHD_Connection *connection = nullptr;
    HttpRequest request;
    std::optional<HttpResponse> response;
    size_t received = 0, reserved = 0;
    size_t answer_bytes = 0;            /* bytes that count as not sent yet */
    bool dispatched = false, suspended = false;
};

struct HttpConnection {
    HttpServer::Impl *server = nullptr;
    std::string peer;
    std::string address;                /* over TCP: its class of addresses */
    int fd = -1;
    int64_t late_at_ms = 0;             /* end of its time limit; 0: it waits for this server */
    bool is_unauthenticated = false, is_ended = false;
};

struct HttpServer::Impl {
    using Exchange = Responder::Exchange;

    using Connection = HttpConnection;

    Loop &loop;
    RequestHandler &handler;
    HttpLimits limits;
    bool is_unix = false;
    Descriptor listening;
    MHD_Daemon *daemon = nullptr;
    int epoll_fd = -1;
    Loop::TimerId timer = 0;
    std::set<std::shared_ptr<Exchange>> exchanges;
    std::shared_ptr<HttpPeers> peers;
    std::set<Connection *> connections;
    /* with the time until which it stays open */
    std::deque<std::pair<Descriptor, int64_t>> refused;
    Loop::TimerId sweep_timer = 0, accept_timer = 0, refused_timer = 0;

    Impl(Loop &loop_, RequestHandler &handler_, const HttpLimits &limits_, bool is_unix_,
         std::shared_ptr<HttpPeers> peers_)
        : loop(loop_), handler(handler_), limits(limits_), is_unix(is_unix_),
          peers(std::move(peers_))
    {
    }
    ~Impl();
    std::string start(Descriptor listening);
    void accept_some();
    void add(Descriptor socket, const sockaddr_storage &address, socklen_t length);
    void refuse(Descriptor socket, int status, const char *message);
    void drop_refused();
    void opened(Connection *connection);
    void add_unauthenticated(const std::string &peer);
    size_t unauthenticated_max() const
    {
        return std::max(limits.connections / 4, UNAUTHENTICATED_MIN);
    }
    std::optional<HttpResponse> make_known(Connection &connection, uint32_t uid);
    void closed(Connection *connection);
    void sweep();
    void release(Exchange &exchange);
    MHD_Result let_in(const std::shared_ptr<Exchange> &exchange);
    void run();
    void run_soon();
    void begin(Exchange &exchange, const char *url, const char *method);
    MHD_Result finish(const std::shared_ptr<Exchange> &exchange);
    MHD_Result send(Exchange &exchange);
};

struct HttpPeers {
    using Exchange = HttpServer::Impl::Exchange;

    /* A user, or a class of addresses. */
    struct Peer {
        size_t connections = 0, body_bytes = 0, answer_bytes = 0;
    };
    std::map<std::string, Peer> peers;
    std::list<HttpConnection *> unauthenticated;      /* the oldest first */
    size_t users = 0;                           /* connections of known users */
    std::list<Exchange *> answers;              /* not sent yet, the oldest first */
    size_t answer_bytes = 0;

    void join(HttpConnection &connection);
    void leave(HttpConnection &connection);
    void end(HttpConnection &connection);
    bool end_unauthenticated(const std::string &peer);
    bool hold_answer(Exchange &exchange, size_t bytes);
    void drop_answer(Exchange &exchange);
    bool end_answer_of(const std::string &peer);
    std::string largest_reader() const;
    void close_idle(std::string peer);
};

/* The process at the other side of a Unix socket. */
std::optional<ucred> credentials_of(int socket);
std::optional<uint32_t> uid_of(int socket);
/* The peer of a user; for a socket: its user or its class of addresses. */
std::string user_peer(uint32_t uid);
std::string peer_of(int socket, const sockaddr_storage &address);
HttpConnection *connection_of(MHD_Connection *connection);
std::string header_of(MHD_Connection *connection, const char *name);
/* The connection is closed after it. */
HttpResponse refusal_of(int status, const char *code, const char *message);
/* Empty: the length of the request's body is certain. */
std::optional<HttpResponse> why_length_is_unusable(MHD_Connection *connection);
/* Null: its client has disconnected. */
HttpConnection *exchange_connection(const HttpServer::Impl::Exchange &exchange);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HTTP_SERVER_H_INCLUDED */
