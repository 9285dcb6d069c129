/*
 * One run of another program (ssh, squeue, ...), without waiting for it: started with posix_spawn
 * in a session of its own, its output collected, ended if it takes too long.
 *
 *   command_ = std::make_unique<Command>(loop, CommandSpec{{"ssh", "h1", "true"}},
 *                                        [this](const CommandEnd &end) {...});
 *
 * `done` is called exactly once, from the loop and never from the constructor, also if the program
 * could not be started; it may destroy the Command.  A Command that is destroyed before that kills
 * its program and all of its process group, and `done` is not called.  The process is collected in
 * either case, as a child of the loop (Loop::watch_child).  If elasticd itself is killed, the
 * program continues until it ends by itself: programs that may hang need a limit of their own.
 *
 * When the program has ended, its output is read and its pipes are closed, without a wait for
 * children of it that keep them open (a shared connection of ssh).
 *
 * One thread, that of the loop.
 */

#ifndef ELASTIC_RM_COMMAND_H_INCLUDED
#define ELASTIC_RM_COMMAND_H_INCLUDED

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"

namespace elastic::rm {

struct CommandSpec {
    std::vector<std::string> words;             /* [0] is searched in PATH */
    /* NAME=VALUE, in addition to or instead of elasticd's own */
    std::vector<std::string> variables = {};
    /* names of elasticd's variables that it must not get */
    std::vector<std::string> without = {};
    std::string input = "";                     /* its standard input */
    int64_t limit_ms = 30000;                   /* then SIGTERM; must be positive */
    int64_t kill_grace_ms = 2000;               /* then SIGKILL */
    size_t output_max = 65536;                  /* for each stream; further output is dropped */
};

struct CommandEnd {
    bool started = false;
    bool timed_out = false;
    bool truncated = false;                     /* it wrote more than output_max */
    /* 128 + number if a signal ended it; -1: not started */
    int exit_code = -1;
    int start_error = 0;                        /* error number if it was not started */
    std::string output, errors;                 /* standard output and error */
    std::string problem; /* empty: exit code 0 in time; else the error in one line */

    bool good() const { return problem.empty(); }
};

class Command {
  public:
    using Done = std::function<void(const CommandEnd &)>;

    Command(Loop &loop, CommandSpec spec, Done done);
    ~Command();
    Command(const Command &) = delete;
    Command &operator=(const Command &) = delete;

  private:
    struct Run;
    std::shared_ptr<Run> run_;
};

/* The last line that is not empty, at most `length` bytes of it, printable (change.h): for
 * messages. */
std::string last_line(const std::string &text, size_t length = 300);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_COMMAND_H_INCLUDED */
