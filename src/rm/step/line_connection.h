/*
 * JSON lines over a Unix socket, on the daemon's loop: to elastic-stepd and to mpiexec (step
 * protocol).  Connects at once or not at all (both listen before their address is known); sends as
 * much as the other side receives and buffers the rest; delivers complete lines.
 *
 * The other side may be untrusted.  A violation of LineLimits (a long line, one that is not an
 * object or is nested deeply, unread output) closes the connection, as does an exception of the
 * receiver of lines.  Input beyond bytes_per_s is read more slowly.  A paused connection reads
 * nothing and delivers no line.  After on_close there is no callback any more.  Either callback
 * may destroy the connection.
 */

#ifndef ELASTIC_RM_LINE_CONNECTION_H_INCLUDED
#define ELASTIC_RM_LINE_CONNECTION_H_INCLUDED

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bounded_json.h"
#include "base/descriptor.h"
#include "base/loop.h"
#include "base/token_bucket.h"
#include "step/pass_descriptor.h"

namespace elastic::rm {

struct LineLimits {
    size_t line_bytes = size_t{1} << 20;
    size_t output_bytes = size_t{1} << 20;      /* that the other side has not read */
    int depth = JSON_DEPTH_MAX;
    int64_t bytes_per_s = 0, bytes_at_once = 0; /* 0: no limit */
    bool descriptors = false;   /* descriptors may be sent with lines */
};

class LineConnection {
  public:
    using OnLine = std::function<void(const Json &)>;   /* an object */
    /* `broken`: the violation of the other side; empty: it has closed the connection. */
    using OnClose = std::function<void(const std::string &broken)>;

    /* Null with errno if no process listens there.  `uid`: the required user of the other side. */
    static std::unique_ptr<LineConnection>
    connect(Loop &loop, const std::string &path, uint32_t uid, const LineLimits &limits,
            OnLine on_line, OnClose on_close);
    /* For a connected socket. */
    LineConnection(Loop &loop, Descriptor socket, const LineLimits &limits, OnLine on_line,
                   OnClose on_close);
    ~LineConnection();
    LineConnection(const LineConnection &) = delete;
    LineConnection &operator=(const LineConnection &) = delete;

    void send(const Json &object);
    /* The oldest received descriptor that was not taken yet; not open: none. */
    Descriptor take_descriptor();
    void pause() { paused_ = true; }
    /* Takes effect in another turn. */
    void resume();

  private:
    void ready(uint32_t events);
    void read_some();
    void flush();
    void update_watch();
    void give_lines();
    void give_line(std::string_view text);
    void go_on_soon(int64_t delay_ms);
    void close();

    Loop &loop_;
    Descriptor socket_;
    LineLimits limits_;
    OnLine on_line_;
    OnClose on_close_;
    TokenBucket rate_;
    std::string in_, out_;
    std::vector<Descriptor> descriptors_;
    std::string broken_;                /* violation of the other side */
    size_t given_ = 0, searched_ = 0;   /* positions in in_ */
    uint32_t watched_ = 0;
    bool ended_ = false;                /* nothing more will be read */
    bool paused_ = false, slowed_ = false;
    Loop::TimerId timer_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/* For a path of any length: uses the descriptor of its folder if the path does not fit a socket
 * address. */
int connect_unix(const std::string &path);
/* Whether the other side is a process of this user; otherwise errno has the reason. */
bool is_peer(int socket, uint32_t uid);
int listen_unix_anywhere(const std::string &path);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LINE_CONNECTION_H_INCLUDED */
