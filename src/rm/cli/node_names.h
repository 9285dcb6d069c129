/*
 * Names of nodes as arguments: "n1", "n[1-3,07]", with commas between them, as in Slurm.
 */

#ifndef ELASTIC_CLI_NODE_NAMES_H_INCLUDED
#define ELASTIC_CLI_NODE_NAMES_H_INCLUDED

#include <string>
#include <vector>

#include "base/result.h"

namespace elastic {

/* Each name once, in the given order; an error names `what` (an option, or NODE).  Empty list:
 * no names. */
Result<std::vector<std::string>> node_names(const std::string &what,
                                            const std::vector<std::string> &lists);

}  // namespace elastic

#endif /* ELASTIC_CLI_NODE_NAMES_H_INCLUDED */
