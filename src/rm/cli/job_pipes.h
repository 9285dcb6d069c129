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

/* For mkdtemp: the template of a folder in the user's runtime directory, else in /tmp. */
std::string temporary_folder(const std::string &name);

class JobPipes {
  public:
    /* Makes pipes for those of input, output and error that the request does not set, and adds
     * their names to it.  Standard input that is /dev/null or closed needs no pipe. */
    static Result<JobPipes> create(Json &request);
    ~JobPipes();
    JobPipes(JobPipes &&other) noexcept;
    JobPipes &operator=(JobPipes &&) = delete;

    /* Whether the job opens pipes of this process: not if it has files for all streams. */
    bool are_used() const { return !outputs_.empty() || input_.to.get() >= 0; }
    /* The descriptors for poll; then call pump() with its result. */
    std::vector<pollfd> waits() const;
    void pump(const std::vector<pollfd> &found);
    /* The step has opened its side of the input: from now on it may be closed without loss of
     * data. */
    void job_has_started() { input_.may_close = true; }
    /* All data has been forwarded. */
    bool drained();
    /* Also to the attached readers; the caller waits only a short time for them. */
    bool readers_are_served() const { return !readers_ || readers_->are_served(); }
    /* Output is no longer possible (a closed pipe): the job should end. */
    bool is_broken() const { return broken_; }

  private:
    /* PIPE_BUF: poll guarantees that this number of bytes can be written */
    static constexpr size_t BLOCK = 4096;

    struct Output {
        Descriptor from;
        int to = -1;
        Stream stream = Stream::OUTPUT;
        std::string pending;
    };
    struct Input {
        Descriptor to;          /* -1: does not exist, or closed */
        std::string pending;
        bool ended = false;     /* own input has ended: close when pending data is written */
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
    std::unique_ptr<OutputReaders> readers_;    /* null: readers cannot attach */
    bool broken_ = false;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_PIPES_H_INCLUDED */
