/*
 * One run of an administrator's program, a prolog or an epilog, on one node.  An elastic-stepd
 * supervises it like a step: it runs outside of elasticd's sandbox, continues while elasticd does
 * not run, and leaves no process on this machine.
 *
 * A shell gets a script on its standard input: /bin/sh here, or one that ssh starts on the node.
 * The script sets the variables and ends the program at its limit (timeout of coreutils), so that
 * the limit applies on the node itself.
 *
 * Runs on the daemon's loop.  One thread.
 */

#ifndef ELASTIC_RM_NODE_PROGRAM_H_INCLUDED
#define ELASTIC_RM_NODE_PROGRAM_H_INCLUDED

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "step/line_connection.h"
#include "step/step_spec.h"
#include "step/stepd_start.h"

namespace elastic::rm {

struct NodeProgramSpec {
    std::string folder;                         /* used by this run only */
    JobId job = 0;
    uint32_t step = 0;
    std::vector<std::string> shell;             /* reads a script from its standard input */
    std::vector<std::string> words;             /* the program with its arguments */
    std::vector<std::string> variables;         /* NAME=VALUE */
    int64_t limit_ms = 0;
};

struct NodeProgramEnd {
    std::string problem;        /* empty: it has ended with code 0, in time */
    std::string output;         /* beginning of its output */
};

std::string node_program_script(const NodeProgramSpec &spec);
std::string node_program_problem(const StepExitFile &exit, int64_t limit_ms,
                                 const std::string &output);

class NodeProgram {
  public:
    using Done = std::function<void(const NodeProgramEnd &)>;

    /* Starts the program; or detects in the folder that an earlier elasticd has started it, and
     * that it runs or has ended.  `done` is called once, later, and may destroy this object. */
    NodeProgram(Loop &loop, StepdProgram stepd, NodeProgramSpec spec, Done done);
    /* A running program continues. */
    ~NodeProgram();
    NodeProgram(const NodeProgram &) = delete;
    NodeProgram &operator=(const NodeProgram &) = delete;

  private:
    void start();
    std::string prepare_and_start();
    bool connect();
    void connect_later();
    void ended();
    void finish(const NodeProgramEnd &end);

    Loop &loop_;
    StepdProgram program_;
    NodeProgramSpec spec_;
    Done done_;
    std::unique_ptr<LineConnection> stepd_;
    Loop::TimerId timer_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_PROGRAM_H_INCLUDED */
