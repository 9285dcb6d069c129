/*
 * The target of `elastic resize`, `cancel`, `events`, `psets` and `loops`: a job of elasticd, or a
 * step that runs without it.
 *
 * "job:ID" and "step:ID" select the kind; a bare ID selects the one that exists.  If both exist,
 * that is an error.
 */

#ifndef ELASTIC_CLI_TARGET_H_INCLUDED
#define ELASTIC_CLI_TARGET_H_INCLUDED

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/elasticd_client.h"
#include "cli/list_options.h"

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

/* Nullopt: an error was printed, and `code` is the exit code. */
std::optional<Target> find_target(Elasticd &elasticd, const std::string &text, int &code,
                                  Tasks tasks = Tasks::ONE);

/* A subcommand with an ID, --json and --parsable that prints the same for a step and for a job. */
void add_step_command(CLI::App &app, const char *name, const char *what,
                      int (*of_step)(const std::string &step, const Printed &printed),
                      int (*of_job)(Elasticd &elasticd, const std::string &job,
                                    const Printed &printed),
                      int &code);

/* "7" for "7" or "job:7", "7_1" for a task, "7_[1-5]" for some tasks; nullopt: an error was
 * printed, and `code` is the exit code. */
std::optional<std::string> job_number(const std::string &text, int &code,
                                      Tasks tasks = Tasks::ONE);
/* For commands that process jobs in sequence: the same, and for "7_[1-5]" the existing tasks, as
 * elasticd knows them. */
std::optional<std::vector<std::string>> job_numbers(Elasticd &elasticd, const std::string &text,
                                                    int &code);

/* Performs it for each of them; returns the first code that is not DONE. */
int for_each_job(Elasticd &elasticd, const std::string &text, int code,
                 const std::function<int(const std::string &id)> &one);

}  // namespace elastic

#endif /* ELASTIC_CLI_TARGET_H_INCLUDED */
