/*
 * The command line of mpiexec, checked before Hydra parses it: an option whose argument is missing
 * or malformed, and a command without a program, end mpiexec with exit code 1 and one line that
 * names the option and what it needs.  Hydra misreads many of them (`-n 2x` as 2, `-ppn none` as 0)
 * or dereferences a missing argument.  Also reads the configuration file, which Hydra reads as a
 * host file.
 *
 * No state.
 */

#ifndef MPIEXEC_ARGUMENTS_H_INCLUDED
#define MPIEXEC_ARGUMENTS_H_INCLUDED

#include "hydra.h"

/* Checks the options at the beginning of these arguments, up to the first word that is not an
 * option. */
void HYD_arguments_check(char *const argv[]);
/* Checks that each command has a program, and not more arguments than Hydra's limit. */
void HYD_arguments_check_programs(const struct HYD_exec *commands);
/* Checks that this command can get one more argument. */
void HYD_arguments_check_space(const struct HYD_exec *command);

/*
 * Calls `take` for each word of a configuration file; `newline`: the word begins a command, which
 * is one line.  A comment begins with a word that starts with #, and ends with the line.  A \ at
 * the end of a line continues the line.
 */
typedef HYD_status(*HYD_arguments_word) (char *word, int newline, struct HYD_node ** unused);
HYD_status HYD_arguments_read_config(const char *file, HYD_arguments_word take);

#endif /* MPIEXEC_ARGUMENTS_H_INCLUDED */
