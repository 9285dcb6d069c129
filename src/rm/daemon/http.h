/*
 * An HTTP/1.1 server on one listening socket, driven by the daemon's loop (libmicrohttpd does the
 * protocol, without threads of its own).  What requests mean is the handler's business.
 *
 * The handler gets each complete request once, and a Responder, which it calls once, at once or later:
 * while an answer waits for the store, or for something to happen, the connection sleeps.  An answer to a
 * client that has gone meanwhile is dropped.
 *
 * Bounds: HTTP_BODY_MAX bytes of body, HTTP_HEADER_MAX of request line and headers, connections as given,
 * IDLE_S seconds without a byte.
 * Owner of the server and its connections; the listening descriptor is its own.  One thread.
 */

#ifndef ELASTIC_RM_HTTP_H_INCLUDED
#define ELASTIC_RM_HTTP_H_INCLUDED

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/descriptor.h"
#include "daemon/loop.h"
#include "result.h"

namespace elastic::rm {

constexpr size_t HTTP_BODY_MAX = 6 * 1024 * 1024;
constexpr size_t HTTP_HEADER_MAX = 32 * 1024;

struct HttpRequest {
    std::string method, path;           /* decoded, without the query */
    std::map<std::string, std::string> query;
    std::string body;
    std::string authorization, origin, host;
    std::optional<uint32_t> peer_uid;   /* who is on the other side of a Unix socket */
    size_t peer_connections = 0;        /* open ones of that user */
    bool too_large = false;             /* the body was longer and is not here */
};

struct HttpResponse {
    int status = 200;
    std::string type = "application/json";
    std::string body;
    std::map<std::string, std::string> headers = {};
};

class HttpServer;

class Responder {
  public:
    void operator()(HttpResponse response) const;

  private:
    friend class HttpServer;
    struct Exchange;
    explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    std::shared_ptr<Exchange> exchange_;
};

class HttpServer {
  public:
    using Handler = std::function<void(const HttpRequest &, Responder)>;

    static Result<std::unique_ptr<HttpServer>> start(Loop &loop, Descriptor listening, bool is_unix,
                                                     size_t connections_max, Handler handler);
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

/* Listening sockets.  Of the Unix socket the folder is made; a socket that nobody listens on is replaced, one
 * with a living daemon behind it is an error. */
Result<Descriptor> listen_unix(const std::string &path, unsigned mode);
Result<Descriptor> listen_tcp(const std::string &address_and_port);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HTTP_H_INCLUDED */
