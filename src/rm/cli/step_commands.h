/*
 * The commands that connect directly to a running step (its mpiexec), over the step protocol
 * (doc/developer/step-protocol.md); only job_psets needs elasticd.  Each prints its answer and
 * returns an exit code.
 */

#ifndef ELASTIC_CLI_STEP_COMMANDS_H_INCLUDED
#define ELASTIC_CLI_STEP_COMMANDS_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/elasticd_client.h"
#include "cli/list_options.h"

namespace elastic {

struct ResizeOptions {
    int size = 0;
    std::string leave, hosts;   /* as on the command line: "0,2-3", "a,b" */
    /* for joining processes, if several programs were launched together */
    std::optional<int> program;
    std::string reason;
    bool wait = false;
};

/* The options as a request of the step protocol, or an error. */
Result<Json> resize_request(const ResizeOptions &options);

int step_ps(bool json, const ListOptions &list);
int step_resize(const std::string &step, const Json &request, bool json);
int step_cancel(const std::string &step, bool json);
int step_psets(const std::string &step, const Printed &printed);
/* For the job's step, whose socket elasticd reports; it must be accessible from here. */
int job_psets(Elasticd &elasticd, const std::string &job, const Printed &printed);
int step_loops(const std::string &step, const Printed &printed);
/* loops_command.cpp: the answer, about "step 17" or "job 3". */
void print_performance(const std::string &subject, const Json &answer, const Printed &printed);
int step_events(const std::string &step, uint64_t since, bool follow, const Printed &printed);

}  // namespace elastic

#endif /* ELASTIC_CLI_STEP_COMMANDS_H_INCLUDED */
