/*
 * Lists of nodes: elastic's own, one line for each node, and those of sinfo, where nodes that are
 * equal in all fields share a line.  Pure: JSON as in doc/admin/elasticd-api.md in, text out.
 */

#ifndef ELASTIC_CLI_NODE_VIEW_H_INCLUDED
#define ELASTIC_CLI_NODE_VIEW_H_INCLUDED

#include <set>

#include "base/result.h"
#include "cli/list_format.h"

namespace elastic {

/* Columns besides NODE STATE CORES USED JOBS REASON, before JOBS. */
struct NodeColumns {
    bool gpus = false;          /* used/all */
    bool partitions = false;    /* separated by commas */
};
/* The columns that are not empty for all of these nodes. */
NodeColumns columns_of(const Json &nodes);
Table node_table(const NodeColumns &columns);
std::vector<std::string> node_row(const Json &node, const NodeColumns &columns);

/* "idle", "mixed", "allocated", "draining", "drained", "down": Slurm's names. */
std::string slurm_state(const Json &node);

/* The condition for listed nodes. */
struct NodeFilter {
    std::set<std::string> names, states;        /* empty: all; states in the form of slurm_state */
    bool with_reason = false;   /* only nodes that have a reason */
    std::string partition = ""; /* empty: any partition, or none */

    bool accepts(const Json &node) const;
};
/* "idle,mix,DRAIN" as in sinfo's --states. */
Result<std::set<std::string>> parse_node_states(const std::string &text);

/* Rows are groups of nodes: {"nodes": [...]}. */
extern const FieldTable NODE_FIELDS;
/* Each node separately, or (sinfo without -N) nodes with equal fields in `format` together, in
 * the order of the first node of each group. */
std::vector<Json> group_nodes(const Json &nodes, const ListFormat &format, bool each_node);

/* Whether a format shows partitions. */
bool shows_partitions(const ListFormat &format);
/* Each node once for each of these partitions that contains it, with the added member
 * "partition"; in the order of the partitions. */
Json by_partition(const Json &nodes, const Json &partitions);

/* The formats of sinfo, sinfo --summarize and sinfo --list-reasons; with and without partitions. */
constexpr const char *PARTITIONS_FORMAT = "%9P %5a %10l %5D %6t %N";
constexpr const char *SUMMARY_FORMAT = "%5a %16F %N";
constexpr const char *PARTITIONS_SUMMARY_FORMAT = "%9P %5a %10l %16F %N";
constexpr const char *REASONS_FORMAT = "%40E %10T %N";

}  // namespace elastic

#endif /* ELASTIC_CLI_NODE_VIEW_H_INCLUDED */
