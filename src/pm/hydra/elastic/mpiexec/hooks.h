/*
 * The part of mpiexec for adaptations, as Hydra's own files call it: Hydra's event loop drives the core of the step
 * manager (stepmgr/stepmgr.h), and its effects are performed with functions of Hydra. The files of this folder own
 * all state; every call comes from the event loop, no function blocks.  Before an adaptive process has registered,
 * and without --adapt options, all functions have no effect. Protocol clauses I5, P7, P8, C3, C7, E3, E4.
 */

#ifndef STEP_HOOKS_H_INCLUDED
#define STEP_HOOKS_H_INCLUDED

#include "hydra.h"
#include "hydra_server.h"
#include "common.h"
#include "end.h"
#include "handshake.h"
#include "launch.h"
#include "names.h"
#include "psets.h"
#include "spawn.h"
#include "spawned.h"
#include "wire/channel.h"
#include "wire/hook.h"

/* ---- called by stock files --------------------------------------------------------------------- */

/* Before anything is launched.  Ends mpiexec with one message if an --adapt option is wrong. */
void HYD_step_start(void);
/* The job is over; `HYD_step_exit_status` may still be called. */
void HYD_step_finish(void);
/* The wait status that the job ends with: that of the launch, or-ed with those of the processes that joined and of an
 * aborted adaptation, or the death of a spawned process; prints them like stock does for the launch if
 * -print-all-exitcodes is given. */
int HYD_step_exit_status(int of_launch);

/* A message with command ADAPT has come from a proxy. */
HYD_status HYD_step_message(struct HYD_proxy *proxy, int fd, const struct HYD_pmcd_hdr *hdr);
/* A proxy has sent its exit statuses and is cleaned up.  Whether stock's rules for processes that
 * died apply to it (0: an expansion that failed, the job goes on). */
int HYD_step_proxy_ended(struct HYD_proxy *proxy);
/* A process has failed and all others have to end.  Returns 1: that is on its way, stock does nothing. */
int HYD_step_end_job(void);
/* A process has called MPI_Abort: the same, with this exit code.  Stock loses what other hosts have printed last. */
int HYD_step_abort(int exit_code);
/* The control connection of a proxy failed.  The consequence is complete: the end of its group, or of the job. */
void HYD_step_proxy_disconnected(struct HYD_proxy *proxy);
/* The next connection of a control port of stock's; -1: there is none, or nothing to open it with. */
HYD_status HYD_step_accept(int listen_fd, const struct HYD_pg *pg, int *fd);
/* A proxy has connected and has received its program. */
void HYD_step_proxy_up(struct HYD_proxy *proxy);
/* Processes of this proxy that are still counted on its node: stock counts them off all at once. */
int HYD_step_counted_processes(const struct HYD_proxy *proxy);
/* Passes a signal on.  Whether that is done (0: stock's way; 1 also if there is nobody to get it). */
int HYD_step_signal(const struct HYD_proxy *proxy, int signum);
/* Stock's reading from a proxy or writing to it has come to this: HYD_SUCCESS also if it failed because one failed,
 * which has been dealt with. */
HYD_status HYD_step_control_result(HYD_status status);
/* Around stock's first words to a proxy and its answers to PMI commands: writing to one that has died is no signal, and
 * if it is one of an expansion, no error of the job (E3). */
void HYD_step_pmi_begin(void);
HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status);
/* Whether a PMI command of this proxy is not processed: the job ends, and the answer could go to a proxy that is
 * closed; or a process there sends commands and does not read the answers, which nothing else bounds. */
int HYD_step_pmi_is_discarded(const struct HYD_proxy *proxy);
/* Output of a process has come: counts it, returns the rank that labels it. */
int HYD_step_output(const struct HYD_proxy *proxy, const struct HYD_pmcd_hdr *hdr);
int HYD_step_label(const struct HYD_proxy *proxy, int rank);
/* A signal to mpiexec: whether the handler leaves the message for the user to HYD_step_signalled. */
int HYD_step_prints_signals(void);
/* Standard input has something: sets the proxy and the rank that it goes to; 0: drop it.  Sends it; without bytes, its
 * end. */
int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr);
HYD_status HYD_step_input_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const char *bytes);
/* This proxy has connected: whether standard input is read from now on; and whether it may be read at all. */
int HYD_step_input_starts(const struct HYD_proxy *proxy);
HYD_status HYD_step_input_valid(int *valid);
/* Frees process groups that have ended; `current` is the one that the caller waits for. */
void HYD_step_reap(struct HYD_pg *current);

/* Stock's clean-up of one proxy, which is not public (pmiserv_cb.c). */
HYD_status HYD_step_cleanup_proxy(struct HYD_proxy *proxy);

/* ---- options (options.c) ------------------------------------------------------------------------ */

struct HYD_step_options {
    char *schedule;             /* text; an @FILE is read */
    char *policy, *range, *interval, *log, *sets_log, *performance;
};
extern struct HYD_step_options HYD_step_options;
/* Set while the configuration file is parsed: the command line has precedence over it. */
extern int HYD_step_reading_config;
/* Whether one of them was given: the step is meant to be elastic. */
int HYD_step_options_given(void);
HYD_status HYD_step_option_fn(char *arg, char ***argv);
void HYD_step_option_help_fn(void);
void HYD_step_options_usage(void);
/* -s (input.c) */
HYD_status HYD_step_input_fn(char *arg, char ***argv);
void HYD_step_input_help_fn(void);
/* Rows of mpiexec's table of options (ui/mpich/utils.c). */
#define HYD_STEP_OPTIONS                                                        \
    {"s", HYD_step_input_fn, HYD_step_input_help_fn},                           \
    {"pset", HYD_step_pset_fn, HYD_step_pset_help_fn},                          \
    {"sets-log", HYD_step_option_fn, HYD_step_option_help_fn},                  \
    {"adapt-schedule", HYD_step_option_fn, HYD_step_option_help_fn},            \
    {"adapt-policy", HYD_step_option_fn, HYD_step_option_help_fn},              \
    {"adapt-range", HYD_step_option_fn, HYD_step_option_help_fn},               \
    {"adapt-interval", HYD_step_option_fn, HYD_step_option_help_fn},            \
    {"adapt-log", HYD_step_option_fn, HYD_step_option_help_fn},                 \
    {"adapt-performance", HYD_step_option_fn, HYD_step_option_help_fn},
/* One message that names the option, and the end of mpiexec. */
void HYD_step_option_error(const char *option, const char *error) ATTRIBUTE((noreturn));

#endif /* STEP_HOOKS_H_INCLUDED */
