/*
 * The reader's side of output_readers.h: what `elastic run` passes on of its job, written to this
 * terminal, and this terminal's input passed back where that was asked for and given.
 *
 * Owns the socket.  Only our own output is waited for; meanwhile `elastic run` goes on without us.
 */

#ifndef ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED
#define ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED

#include <poll.h>

#include <string>
#include <vector>

#include "cli/output_readers.h"

namespace elastic {

/* All of it to a descriptor that may block.  False: see errno. */
bool write_all(int fd, const char *data, size_t size);

class AttachConnection {
  public:
    struct Wish {
        int lines = 0;
        bool input = false, quiet = false;
    };
    /* To the `elastic run` of that user, whose pipes are in the folder. */
    static Result<AttachConnection> connect(const std::string &folder, unsigned uid,
                                            const Wish &wish);

    std::vector<pollfd> waits() const;
    /* What is there now.  Empty, or what went wrong. */
    std::string pump(const std::vector<pollfd> &found);
    /* Until `elastic run` has closed it: what is on its way.  Empty, or what went wrong. */
    std::string drain();
    /* `elastic run` has ended, or has cut us off. */
    bool is_closed() const { return closed_; }

  private:
    AttachConnection(Descriptor socket, const Wish &wish) : socket_(std::move(socket)), wish_(wish)
    {
    }
    std::string receive();
    std::string take_answer();
    std::string take_frames();
    bool may_read_input() const;
    void pass_input(bool can_read);

    Descriptor socket_;
    Wish wish_;
    std::string received_, pending_;    /* from it; for it */
    bool answered_ = false, gives_input_ = false, closed_ = false;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_ATTACH_CONNECTION_H_INCLUDED */
