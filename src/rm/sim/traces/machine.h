/* The simulated machine: nodes of one kind, or of several. */

#ifndef ELASTIC_RM_SIM_TRACES_MACHINE_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_MACHINE_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

struct NodeKind {
    int64_t nodes = 0;
    int cores = 1; /* of each node */
};

struct Machine {
    std::vector<NodeKind> kinds;

    int64_t nodes() const;
    int64_t cores() const; /* of all nodes */
    int largest_node() const;
    bool has_equal_nodes() const { return kinds.size() == 1; }
    /* "100 nodes of 16 cores, 20 of 48". */
    std::string words() const;
};

/* "100x16,20x48": nodes and cores of each, for each kind; or "100" with `cores` of each.
 * Otherwise an error. */
Result<Machine> read_machine(const std::string &text, int cores);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_MACHINE_H_INCLUDED */
