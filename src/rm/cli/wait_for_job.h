/*
 * Represents a job at the terminal: prints its output, forwards signals to it, and returns its exit
 * code.
 *
 * One loop over: the pipes, the signals (signalfd), and a long poll of elasticd for the job's end.
 * elasticd may be unavailable for some time (restarted): the job and this loop continue.
 */

#ifndef ELASTIC_CLI_WAIT_FOR_JOB_H_INCLUDED
#define ELASTIC_CLI_WAIT_FOR_JOB_H_INCLUDED

#include <csignal>

#include "cli/elasticd_client.h"
#include "cli/job_pipes.h"

namespace elastic {

/* From its construction on, signals that can be forwarded are read from a descriptor instead of
 * having their effect; SIGPIPE is ignored. */
class SignalDescriptor {
  public:
    SignalDescriptor();
    ~SignalDescriptor();
    SignalDescriptor(const SignalDescriptor &) = delete;
    SignalDescriptor &operator=(const SignalDescriptor &) = delete;
    int get() const { return fd_.get(); }
    /* The next signal that has arrived, or 0. */
    int next();
    /* A signal that would cancel a waiting job has arrived, and next() has not returned it yet. */
    static bool has_end();

  private:
    sigset_t before_;
    Descriptor fd_;
};

/* The request that is answered when the job reaches this state ("started", "ended"), or after
 * the wait. */
std::string path_of_wait(const std::string &id, const std::string &until,
                         int wait_ms = Elasticd::WAIT_MS);

int wait_for_job(Elasticd &elasticd, const Json &job, SignalDescriptor &signals, JobPipes &pipes,
                 bool quiet, bool json);

/* The exit code of a command that waited for this job: the job's code, or 1 if it has none and
 * did not succeed.  Prints a message about an end that the code does not explain. */
int exit_code_of(const Json &job);

}  // namespace elastic

#endif /* ELASTIC_CLI_WAIT_FOR_JOB_H_INCLUDED */
