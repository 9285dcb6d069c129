/*
 * The reader's side of output_readers.h: writes the job's output that `elastic run` forwards to
 * this terminal, and sends this terminal's input if that was requested and granted.
 *
 * Owns the socket.  Waits only for its own output; meanwhile `elastic run` continues.
 */

#ifndef ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED
#define ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED

#include <poll.h>

#include <string>
#include <vector>

#include "cli/output_readers.h"

namespace elastic {

/* Writes all data to a descriptor that may block.  False: see errno. */
bool write_all(int fd, const char *data, size_t size);

class AttachConnection {
  public:
    struct Options {
        int lines = 0;
        bool input = false, quiet = false;
    };
    /* Connects to the `elastic run` of that user, whose pipes are in the folder. */
    static Result<AttachConnection> connect(const std::string &folder, unsigned uid,
                                            const Options &options);

    std::vector<pollfd> waits() const;
    /* Forwards what has arrived.  Returns an error, or empty. */
    std::string pump(const std::vector<pollfd> &found);
    /* Forwards data in transit until `elastic run` has closed the connection.  Returns an error,
     * or empty. */
    std::string drain();
    /* `elastic run` has ended, or has closed the connection. */
    bool is_closed() const { return closed_; }

  private:
    AttachConnection(Descriptor socket, const Options &options)
        : socket_(std::move(socket)), options_(options)
    {
    }
    std::string receive();
    std::string take_answer();
    std::string take_frames();
    bool may_read_input() const;
    void pass_input(bool can_read);

    Descriptor socket_;
    Options options_;
    std::string received_, pending_;    /* from and to `elastic run` */
    bool answered_ = false, gives_input_ = false, closed_ = false;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED */
