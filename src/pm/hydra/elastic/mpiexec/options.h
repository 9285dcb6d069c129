/*
 * The --adapt options of mpiexec.  Texts are only stored here.  The core (stepmgr/stepmgr.h) parses
 * and checks them before anything is launched.
 */

#ifndef MPIEXEC_OPTIONS_H_INCLUDED
#define MPIEXEC_OPTIONS_H_INCLUDED

#include "hydra.h"

struct HYD_step_options {
    char *schedule;             /* the text; an @FILE has been read */
    char *policy, *range, *interval, *log, *sets_log, *performance;
};
extern struct HYD_step_options HYD_step_options;
/* Set while the configuration file is parsed: the command line has precedence over it. */
extern int HYD_step_reading_config;
/* Whether an option for elastic steps was given. */
int HYD_step_options_given(void);
HYD_status HYD_step_option_fn(char *arg, char ***argv);
void HYD_step_option_help_fn(void);
void HYD_step_options_usage(void);
/* Ends mpiexec with one message that names the option. */
void HYD_step_option_error(const char *option, const char *error) ATTRIBUTE((noreturn));

#endif /* MPIEXEC_OPTIONS_H_INCLUDED */
