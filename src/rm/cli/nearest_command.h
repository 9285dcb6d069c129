/*
 * The command that a user probably means by an unknown one: a command of Slurm, or a misspelt one.
 * Pure.
 */

#ifndef ELASTIC_CLI_NEAREST_COMMAND_H_INCLUDED
#define ELASTIC_CLI_NEAREST_COMMAND_H_INCLUDED

#include <string>
#include <vector>

namespace elastic {

/* Number of letters to insert, omit, replace or exchange with the next one. */
int edit_distance(const std::string &x, const std::string &y);

/* One of `commands`, perhaps followed by an option; empty: none is similar. */
std::string nearest_command(const std::string &word, const std::vector<std::string> &commands);

}  // namespace elastic

#endif /* ELASTIC_CLI_NEAREST_COMMAND_H_INCLUDED */
