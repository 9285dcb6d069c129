/* See signal_names.h. */

#include "base/signal_names.h"

#include <signal.h>

#include "base/words.h"

namespace elastic::rm {

namespace {

struct SignalName {
    const char *name;
    int number;
};
/* Signals that stop a program are absent: they would stop its mpiexec, too. */
constexpr SignalName SIGNALS[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ABRT", SIGABRT},
    {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},   {"ALRM", SIGALRM},
    {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"TSTP", SIGTSTP},   {"URG", SIGURG},
    {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"WINCH", SIGWINCH},
};

}  // namespace

int signal_number(std::string_view text)
{
    std::string name = to_upper(std::string(text));
    if (name.starts_with("SIG"))
        name.erase(0, 3);
    for (const SignalName &each : SIGNALS) {
        if (name == each.name || name == std::to_string(each.number))
            return each.number;
    }
    return 0;
}

const char *signal_name(int number)
{
    for (const SignalName &each : SIGNALS) {
        if (each.number == number)
            return each.name;
    }
    return "?";
}

std::string known_signals()
{
    std::string all;
    for (const SignalName &each : SIGNALS)
        all += (all.empty() ? "" : ", ") + std::string(each.name);
    return all;
}

}  // namespace elastic::rm
