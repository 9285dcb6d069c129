/*
 * The standard streams of a job at this terminal: named pipes in a private folder, which the job's step opens as its
 * input, output and error (doc/elasticd-api.md, POST /v1/jobs).  Owns folder, pipes and descriptors.
 *
 * Nothing here blocks: bytes are taken from a pipe only when the last ones could be passed on, and written only where
 * poll says that there is room.  Output pipes are held open for writing, too, so that they have no end of their
 * own: the job's end is what ends them, after which all that they hold is passed on (drained()).
 */

#ifndef ELASTIC_CLI_JOB_PIPES_H_INCLUDED
#define ELASTIC_CLI_JOB_PIPES_H_INCLUDED

#include <poll.h>

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/step_connection.h"
#include "result.h"

namespace elastic {

class JobPipes {
  public:
    /* Makes pipes for those of input, output and error that the request does not name, and names them in it.  Standard
     * input that is /dev/null or closed needs no pipe. */
    static Result<JobPipes> create(Json &request);
    ~JobPipes();
    JobPipes(JobPipes &&other) noexcept;
    JobPipes &operator=(JobPipes &&) = delete;

    /* What to wait for; then pump() with what poll found. */
    std::vector<pollfd> waits() const;
    void pump(const std::vector<pollfd> &found);
    /* Whether the step's side of the input is still to be waited for: call pump() now and then. */
    bool is_waiting_for_reader() const { return input_.state == Input::WAITING; }
    /* Nothing is left to pass on. */
    bool drained();
    /* Our own output is no longer wanted (a closed pipe): the job should end. */
    bool is_broken() const { return broken_; }

  private:
    static constexpr size_t BLOCK = 4096;       /* PIPE_BUF: poll promises that so much can be written */

    struct Output {
        Descriptor from;
        int to = -1;
        std::string pending;
    };
    struct Input {
        enum State { NONE, WAITING, OPEN } state = NONE;
        Descriptor to;
        std::string path, pending;
        bool ended = false;     /* ours has: close when pending is out */
    };

    explicit JobPipes(std::string folder) : folder_(std::move(folder)) {}
    Result<std::string> make(const char *name);
    Result<bool> make_output(Json &request, const char *name, int to);
    Result<bool> make_input(Json &request);
    void pass_output(Output &output, bool can_read, bool can_write);
    void pass_input(bool can_read, bool can_write);
    bool may_read_input() const;

    std::string folder_;
    std::vector<std::string> files_;
    std::vector<Output> outputs_;
    Input input_;
    bool broken_ = false;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_PIPES_H_INCLUDED */
