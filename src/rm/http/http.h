/*
 * An HTTP/1.1 server on one listening socket, driven by the daemon's loop (libmicrohttpd
 * implements the protocol, without threads of its own).  The handler interprets requests.
 *
 * The handler gets each complete request once, and a Responder, which it calls once, at once or
 * later: while an answer waits for the store, or for an event, the connection sleeps.  An answer
 * to a client that has disconnected meanwhile is dropped.
 *
 * The user is checked before the body is read: `admit` gets each request when its headers are
 * complete, and may answer instead of the handler; then the rest is never read.
 *
 * Bounds: HTTP_BODY_MAX bytes of body, HTTP_PEER_BODIES_MAX of all unfinished bodies of a peer,
 * HTTP_HEADER_MAX of request line and headers; HTTP_ANSWER_MAX of an answer, HTTP_PEER_ANSWERS_MAX
 * of all unsent answers of a peer, HTTP_ANSWERS_MAX of all peers.  Beyond these bounds the
 * connections with the oldest of these answers are closed.
 *
 * Connections count for their user, over all servers (HttpPeers), with a limit in total and for
 * each user; root has a reserve.  Over TCP the user is known with the first admitted request; until
 * then the connection is unauthenticated, and counts for its class of addresses.  Unauthenticated
 * connections have a capacity of their own, and never that of users: a new one closes the oldest.
 *
 * Time limits (http.cpp) for a request to arrive and for an answer to be sent, for every client.
 * Owner of the server and its connections, including the listening descriptor.  One thread.
 */

#ifndef ELASTIC_RM_HTTP_H_INCLUDED
#define ELASTIC_RM_HTTP_H_INCLUDED

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/loop.h"
#include "base/result.h"

namespace elastic::rm {

constexpr size_t HTTP_BODY_MAX = 6 * 1024 * 1024;
constexpr size_t HTTP_PEER_BODIES_MAX = 32 * 1024 * 1024;
constexpr size_t HTTP_HEADER_MAX = 32 * 1024;
constexpr size_t HTTP_ROOT_RESERVE = 16;
constexpr size_t HTTP_ANSWER_MAX = 16 * 1024 * 1024;
constexpr size_t HTTP_PEER_ANSWERS_MAX = 32 * 1024 * 1024;
constexpr size_t HTTP_ANSWERS_MAX = 256 * 1024 * 1024;

struct HttpRequest {
    std::string method, path;           /* decoded, without the query */
    std::map<std::string, std::string> query;
    std::string body;
    std::string authorization, origin, host;
    std::optional<uint32_t> peer_uid;   /* user on the other side of a Unix socket, */
    int32_t peer_pid = 0;               /* and its process, if visible from here */
    std::string address;                /* over TCP: the class of addresses, for people */
    std::optional<uint32_t> user;       /* the user, set by `admit` */
    bool too_large = false;             /* the body was too long and is not stored */
};

struct HttpResponse {
    int status = 200;
    std::string type = "application/json";
    std::string body;
    std::map<std::string, std::string> headers = {};
};

struct HttpLimits {
    size_t connections = 512, connections_of_peer = 64;
    /* for a request, from the connection or the last answer on; also limits idle time */
    int64_t receive_max_ms = 120000;
    int64_t send_max_ms = 600000;       /* for an answer */
};

class HttpServer;
/* Data of all servers together. */
struct HttpPeers;
std::shared_ptr<HttpPeers> make_http_peers();
/* The class of an address: for IPv6 the network; for IPv4 the address, also if it is written as
 * an IPv6 one; for this machine all addresses. */
std::string address_class(const sockaddr *address);

class Responder {
  public:
    Responder() = default;      /* without a client */
    void operator()(HttpResponse response) const;

  private:
    friend class HttpServer;
    struct Exchange;
    explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    std::shared_ptr<Exchange> exchange_;
};

class RequestHandler {
  public:
    virtual ~RequestHandler() = default;
    /* Called before the body is read. */
    virtual std::optional<HttpResponse> admit(HttpRequest &request) = 0;
    virtual void handle(HttpRequest request, Responder responder) = 0;
};

class HttpServer {
  public:
    /* `handler` must outlive the server. */
    static Result<std::unique_ptr<HttpServer>>
    start(Loop &loop, Descriptor listening, bool is_unix, const HttpLimits &limits,
          std::shared_ptr<HttpPeers> peers, RequestHandler &handler);
    ~HttpServer();
    HttpServer(const HttpServer &) = delete;
    HttpServer &operator=(const HttpServer &) = delete;

    size_t connections() const;

    struct Impl;

  private:
    explicit HttpServer(std::unique_ptr<Impl> impl);
    friend class Responder;
    std::unique_ptr<Impl> impl_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HTTP_H_INCLUDED */
