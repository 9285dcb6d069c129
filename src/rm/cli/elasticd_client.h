/*
 * The client's side of doc/admin/elasticd-api.md: finds elasticd, sends requests, reads answers
 * (libcurl).  One thread.  Only call(), which most commands use, prints.
 */

#ifndef ELASTIC_CLI_ELASTICD_CLIENT_H_INCLUDED
#define ELASTIC_CLI_ELASTICD_CLIENT_H_INCLUDED

#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/output.h"

namespace elastic {

struct HttpAnswer {
    long status = 0;            /* 0: no answer; `problem` has the reason */
    Json body = Json::object();
    std::string text;           /* as received */
    std::string problem;        /* for people: what failed and what to do */
    bool refused_connection = false;    /* no listener: the request had no effect */

    bool ok() const { return status >= 200 && status < 300; }
    /* "range" in {"error": {"code": "range", ...}}; empty if there is none. */
    std::string error_code() const;
    /* The message for an answer that is not ok(). */
    std::string complaint() const;
};

/* The address of elasticd. */
struct Address {
    std::string socket;         /* a Unix socket; else: */
    std::string url;            /* http://host:port */
    std::string token;          /* for a URL */
    bool is_given = false;      /* set by the user: any listener there is accepted */
    std::string name() const { return socket.empty() ? url : socket; }
};

/* ELASTICD_SOCKET, else ELASTICD_URL, else the sockets of the present allocation, of the user
 * and of root; an error if the token's file cannot be read or the URL is invalid. */
std::vector<Address> elasticd_addresses(std::string &error);

/* One exchange, for the caller's own loop (curl_multi). */
class Exchange {
  public:
    static constexpr size_t ANSWER_MAX_BYTES = size_t{256} << 20;

    Exchange(const Address &address, const std::string &method, const std::string &path,
             const Json *body, std::chrono::milliseconds patience);
    Exchange(const Exchange &) = delete;
    Exchange &operator=(const Exchange &) = delete;
    CURL *handle() { return curl_.get(); }
    /* The exchange ends without an answer, within a second, when this returns true.  It is
     * called at least once a second. */
    void abort_when(std::function<bool()> interrupted);
    /* Call it when curl has finished with this result. */
    HttpAnswer finish(CURLcode result);

  private:
    static size_t receive(char *data, size_t size, size_t count, void *context);
    static curl_socket_t open_socket(void *context, curlsocktype purpose, curl_sockaddr *address);
    static int check_server(void *context, char *, char *, int, int);
    static int check_interrupted(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

    std::function<bool()> interrupted_;
    curl_socket_t socket_ = CURL_SOCKET_BAD;
    std::string foreign_peer_;      /* the listener, if it must not receive data */
    std::unique_ptr<CURL, void (*)(CURL *)> curl_;
    std::unique_ptr<curl_slist, void (*)(curl_slist *)> headers_;
    std::string address_name_, sent_, received_;
    char problem_[CURL_ERROR_SIZE] = "";
};

class Elasticd {
  public:
    static constexpr std::chrono::milliseconds PATIENCE{30000};
    /* Wait of a long poll (wait_ms), and the additional time until the client gives up. */
    static constexpr int WAIT_MS = 30000;
    static constexpr std::chrono::milliseconds WAIT_PATIENCE =
        std::chrono::milliseconds(WAIT_MS) + PATIENCE;

    Elasticd();
    /* A GET has no body (nullptr).  Later requests use the address that answered first. */
    HttpAnswer request(const std::string &method, const std::string &path,
                       const Json *body = nullptr, std::chrono::milliseconds patience = PATIENCE);

    /* The same; prints an error unless it succeeds, and returns the exit code. */
    int get(const std::string &path, Json &answer, std::chrono::milliseconds patience = PATIENCE);
    int post(const std::string &path, const Json &body, Json &answer);

    /* For Exchange; known after the first answered request. */
    const Address &address() const { return addresses_.at(0); }

    /* Later requests end without an answer when this returns true; null: never. */
    void interrupt_when(std::function<bool()> interrupted)
    {
        interrupted_ = std::move(interrupted);
    }

    /* The user named it: no other one is meant. */
    bool is_given() const { return addresses_.empty() || addresses_.front().is_given; }

    static std::string escaped(const std::string &text);

  private:
    std::vector<Address> addresses_;
    std::string error_;         /* why there are no addresses */
    std::function<bool()> interrupted_;
};

/* Prints the error and returns the exit code for it. */
int complain_about(const HttpAnswer &answer);

}  // namespace elastic

#endif /* ELASTIC_CLI_ELASTICD_CLIENT_H_INCLUDED */
