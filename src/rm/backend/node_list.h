/*
 * Lists of nodes in the forms of people and batch systems: the hosts of the configuration, a file,
 * and the variables and files in which Slurm, PBS and LSF describe the nodes of a job.
 *
 * All input is checked: names are names of hosts (so that none can be an option of ssh), counts
 * are positive, sizes bounded.  An error names the invalid text and the valid form.  Pure.
 */

#ifndef ELASTIC_RM_NODE_LIST_H_INCLUDED
#define ELASTIC_RM_NODE_LIST_H_INCLUDED

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

constexpr size_t LISTED_NODES_MAX = 100000;
constexpr int LISTED_CORES_MAX = 65536;         /* of one node */
constexpr size_t HOST_NAME_BYTES_MAX = 253;

struct ListedNode {
    std::string name;
    int cores = 0;              /* 0: not given */
    bool operator==(const ListedNode &) const = default;
};
using ListedNodes = std::vector<ListedNode>;

/* Empty, or the error in the name of a host. */
std::string check_host_name(std::string_view name);

/* "a", "b:16"; each name once. */
Result<ListedNodes> parse_hosts(const std::vector<std::string> &entries);
/* One per line, NAME or NAME:CORES; # begins a comment.  A repeated name adds its cores (without
 * a number: one for each occurrence), as in the files of batch systems.  `name` is for messages. */
Result<ListedNodes> parse_hosts_file(std::string_view text, const std::string &name);

/* SLURM_JOB_NODELIST, "n[1-3,07],login", and SLURM_JOB_CPUS_PER_NODE, "4(x2),8" (empty: not
 * given).  More than `most` nodes are an error. */
Result<ListedNodes> parse_slurm_nodes(std::string_view nodes, std::string_view cpus_per_node,
                                      size_t most = LISTED_NODES_MAX);
/* LSB_MCPU_HOSTS, "a 4 b 8". */
Result<ListedNodes> parse_lsf_mcpu_hosts(std::string_view text);
/* LSB_HOSTS, "a a a a b": one word for each slot. */
Result<ListedNodes> parse_lsf_hosts(std::string_view text);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_LIST_H_INCLUDED */
