/*
 * The target of `elastic resize`, `cancel`, `events`, `psets` and `loops`: a job of elasticd, or a
 * step that runs without it.
 *
 * "job:ID" and "step:ID" select the kind; a bare ID is the one that exists.  If both exist, that
 * is an error.
 */

#ifndef ELASTIC_CLI_TARGET_H_INCLUDED
#define ELASTIC_CLI_TARGET_H_INCLUDED

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/elasticd_client.h"

namespace CLI {
class App;
}

namespace elastic {

struct Target {
    enum Kind { JOB, STEP } kind = STEP;
    std::string id;
};

/* Whether a command takes some tasks of an array ("7_[1-5]") as a whole. */
enum class Tasks { ONE, SOME };

/* Nothing: it has complained, and `code` is the exit code. */
std::optional<Target> find_target(Elasticd &elasticd, const std::string &text, int &code,
                                  Tasks tasks = Tasks::ONE);

/* A subcommand with an ID and --json that prints the same of a step and of a job. */
void add_step_command(CLI::App &app, const char *name, const char *what,
                      int (*of_step)(const std::string &step, bool json),
                      int (*of_job)(Elasticd &elasticd, const std::string &job, bool json),
                      int &code);

/* "7" of "7" or "job:7", "7_1" of a task, "7_[1-5]" of some; nothing: it has complained, and `code`
 * is the exit code. */
std::optional<std::string> job_number(const std::string &text, int &code,
                                      Tasks tasks = Tasks::ONE);
/* For commands that do something to one job after the other: the same, and of "7_[1-5]" the tasks
 * that there are, as elasticd knows them. */
std::optional<std::vector<std::string>> job_numbers(Elasticd &elasticd, const std::string &text,
                                                    int &code);

/* Does it to each of them; the first code that is not DONE decides. */
int for_each_job(Elasticd &elasticd, const std::string &text, int code,
                 const std::function<int(const std::string &id)> &one);

}  // namespace elastic

#endif /* ELASTIC_CLI_TARGET_H_INCLUDED */
