/* See crash_note.h. */

#include "base/crash_note.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace elastic::rm {

namespace {

char note[256];         /* empty: no event is being handled */

/* Only operations that a signal handler may use. */
void crashed(int number)
{
    [[maybe_unused]] ssize_t bytes = write(STDERR_FILENO, note, strnlen(note, sizeof note));
    signal(number, SIG_DFL);
    raise(number);
}

}  // namespace

void watch_crashes()
{
    static char stack[16384];   /* the ordinary stack may have overflowed */
    stack_t other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_handler = crashed;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        sigaction(number, &action, nullptr);
}

EventInHand::EventInHand(uint64_t seq)
{
    snprintf(note, sizeof note,
             "elasticd: crashed at event %llu of its store; if this happens again: elasticd "
             "--quarantine-event %llu\n",
             static_cast<unsigned long long>(seq), static_cast<unsigned long long>(seq));
}

EventInHand::~EventInHand()
{
    note[0] = '\0';
}

std::string quarantine_advice(uint64_t seq)
{
    return "`elasticd --quarantine-event " + std::to_string(seq) +
           "` removes it from the log; its content is lost (please report this defect)";
}

}  // namespace elastic::rm
