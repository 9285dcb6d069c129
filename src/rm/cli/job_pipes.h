/*
 * The standard streams of a job at this terminal: named pipes in a private folder, which the job's
 * step opens as its input, output and error (POST /v1/jobs, doc/admin/elasticd-api-jobs.md); and
 * beside them a socket for readers that attach to the job.  Owns folder, pipes and descriptors.
 *
 * Nothing blocks: bytes are read from a pipe only when the last ones could be forwarded, and
 * written only where poll reports space.  All pipes are open on both sides from the start, so that
 * no byte is dropped when the step opens and closes them: the end of the job ends the output,
 * after which the rest is forwarded (drained()).
 */

#ifndef ELASTIC_CLI_JOB_PIPES_H_INCLUDED
#define ELASTIC_CLI_JOB_PIPES_H_INCLUDED

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"
#include "cli/output_readers.h"
#include "cli/step_connection.h"

namespace elastic {

/* For mkdtemp: a folder of that name in the user's folder of the running system, else in /tmp. */
std::string temporary_folder(const std::string &name);

class JobPipes {
  public:
    /* Makes pipes for those of input, output and error that the request does not name, and names
     * them in it.  Standard input that is /dev/null or closed needs no pipe. */
    static Result<JobPipes> create(Json &request);
    ~JobPipes();
    JobPipes(JobPipes &&other) noexcept;
    JobPipes &operator=(JobPipes &&) = delete;

    /* The descriptors to wait for; then pump() with the result of poll. */
    std::vector<pollfd> waits() const;
    void pump(const std::vector<pollfd> &found);
    /* The step has opened its side of the input: from now on that may be closed without losing
     * what is in it. */
    void job_has_started() { input_.may_close = true; }
    /* Nothing is left to pass on. */
    bool drained();
    /* Nor to those who are attached; they are not to be waited for long. */
    bool readers_are_served() const { return !readers_ || readers_->are_served(); }
    /* Our own output is no longer wanted (a closed pipe): the job should end. */
    bool is_broken() const { return broken_; }

  private:
    /* PIPE_BUF: poll guarantees that so much can be written */
    static constexpr size_t BLOCK = 4096;

    struct Output {
        Descriptor from;
        int to = -1;
        Stream stream = Stream::OUTPUT;
        std::string pending;
    };
    struct Input {
        Descriptor to;          /* -1: there is none, or it is closed */
        std::string pending;
        bool ended = false;     /* ours has: close when pending is out */
        bool may_close = false;
    };

    explicit JobPipes(std::string folder) : folder_(std::move(folder)) {}
    Result<std::string> make(const char *name);
    Result<bool> make_output(Json &request, Stream stream, int to);
    Result<bool> make_input(Json &request);
    void make_readers();
    void pass_output(Output &output, bool can_read, bool can_write);
    void pass_input(bool can_read);
    void take_input(bool can_read);
    bool wants_input() const;
    bool may_read_input() const;

    std::string folder_;
    std::vector<std::string> files_;
    std::vector<Output> outputs_;
    Input input_;
    std::unique_ptr<OutputReaders> readers_;    /* null: nobody can attach */
    bool broken_ = false;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_PIPES_H_INCLUDED */
