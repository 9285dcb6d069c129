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

/* The options at the beginning of these arguments, up to the first word that is none. */
void HYD_arguments_check(char *const argv[]);
/* Each command has a program, and no more arguments than Hydra has space for. */
void HYD_arguments_check_programs(const struct HYD_exec *commands);
/* Space for one more argument of this command. */
void HYD_arguments_check_space(const struct HYD_exec *command);

/*
 * Gives each word of a configuration file to `take`, with whether it begins a command (each line is
 * one).  A line that begins with # is a comment, as is the rest of a line from a word on that
 * begins with #; a \ at the end of a line continues it.
 */
typedef HYD_status(*HYD_arguments_word) (char *word, int newline, struct HYD_node ** unused);
HYD_status HYD_arguments_read_config(const char *file, HYD_arguments_word take);

#endif /* MPIEXEC_ARGUMENTS_H_INCLUDED */
