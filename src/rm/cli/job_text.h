/* Parts of the texts about jobs (job_view.h).  Pure. */

#ifndef ELASTIC_CLI_JOB_TEXT_H_INCLUDED
#define ELASTIC_CLI_JOB_TEXT_H_INCLUDED

#include "cli/output.h"

namespace elastic {

/* A member in the form for people. */
std::string shown(const Json &object, const char *name);
/* With a printf format for one double. */
std::string number_text(double value, const char *form);
/* "a, b": registered names, or nodes. */
std::string names_text(const Json &names);
/* For a waiting job: "2026-11-21T14:03:07 at the latest, when job 3 ends"; "-": unknown. */
std::string expected_start_text(const Json &job);

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_TEXT_H_INCLUDED */
