/*
 * JSON lines over a Unix socket, on the daemon's loop: to elastic-stepd and to mpiexec (step protocol).
 * Connects at once or not at all (both listen before they are told of); sends what the other side
 * takes and keeps the rest; gives complete lines.
 *
 * Bounds: LINE_BYTES_MAX of a line, OUTPUT_BYTES_MAX that the other side has not read; beyond them the connection is
 * closed.  After on_close nothing is called any more.  Either callback may destroy the connection.
 */

#ifndef ELASTIC_RM_LINE_CONNECTION_H_INCLUDED
#define ELASTIC_RM_LINE_CONNECTION_H_INCLUDED

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/fields.h"
#include "daemon/descriptor.h"
#include "daemon/loop.h"

namespace elastic::rm {

class LineConnection {
  public:
    static constexpr size_t LINE_BYTES_MAX = size_t{64} << 20;
    static constexpr size_t OUTPUT_BYTES_MAX = size_t{64} << 20;

    using OnLine = std::function<void(const Json &)>;   /* an object */
    using OnClose = std::function<void()>;

    /* Null with errno if nobody listens there.  `uid`: who must be on the other side. */
    static std::unique_ptr<LineConnection> connect(Loop &loop, const std::string &path, uint32_t uid, OnLine on_line,
                                                   OnClose on_close);
    ~LineConnection();
    LineConnection(const LineConnection &) = delete;
    LineConnection &operator=(const LineConnection &) = delete;

    void send(const Json &object);

  private:
    LineConnection(Loop &loop, Descriptor socket, OnLine on_line, OnClose on_close);
    void ready(uint32_t events);
    bool read_some();
    void give_lines();
    bool flush();

    Loop &loop_;
    Descriptor socket_;
    OnLine on_line_;
    OnClose on_close_;
    std::string in_, out_;
    size_t searched_ = 0;
    bool waits_to_write_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/* A path of any length: through the descriptor of its folder where it does not fit a socket address. */
int connect_unix(const std::string &path);
int listen_unix_anywhere(const std::string &path);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LINE_CONNECTION_H_INCLUDED */
