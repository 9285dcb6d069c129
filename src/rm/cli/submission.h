/*
 * Sends a job to elasticd; the request carries a key, so that a missing answer never makes a
 * second job.  Used by `elastic submit` and `elastic run`.
 */

#ifndef ELASTIC_CLI_SUBMISSION_H_INCLUDED
#define ELASTIC_CLI_SUBMISSION_H_INCLUDED

#include "cli/elasticd_client.h"

namespace elastic {

/* With symbolic links as in the shell; empty: unknown. */
std::string working_directory();

/* DONE and the job; else prints an error and returns the exit code.  Ends early, with an error,
 * if `interrupted` returns true and there is no answer. */
int submit_job(Elasticd &elasticd, Json request, Json &job,
               std::function<bool()> interrupted = nullptr);

}  // namespace elastic

#endif /* ELASTIC_CLI_SUBMISSION_H_INCLUDED */
