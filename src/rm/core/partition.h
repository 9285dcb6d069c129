/*
 * A partition: the nodes on which its jobs run, and the limits for each of them.  A job is in one
 * partition, and partitions may share nodes.  Without partitions, all jobs may use all nodes.
 */

#ifndef ELASTIC_RM_CORE_PARTITION_H_INCLUDED
#define ELASTIC_RM_CORE_PARTITION_H_INCLUDED

#include "core/node_set.h"

namespace elastic::rm {

constexpr size_t PARTITIONS_MAX = 256, PARTITION_NAME_BYTES_MAX = 64;
/* Of a partition, and of a job; the minimum is its negative. */
constexpr int PRIORITY_MAX = 1000000;

/* UP: jobs are accepted and start.  DOWN: they are accepted, and wait.  DRAIN: jobs that are in
 * it start, no others are accepted.  GONE: the configuration has no such partition, and its jobs
 * wait.  RESERVED: all of its nodes are reserved for others, or the reservation is not active. */
enum class PartitionState { UP, DOWN, DRAIN, GONE, RESERVED };
template <> struct NamesOf<PartitionState> {
    static constexpr const char *names[] = {"up", "down", "drain", "gone", "reserved"};
};

struct Partition {
    std::string name;
    NodeSet nodes;              /* empty: all */
    bool is_default = false;    /* for jobs that name no partition */
    int priority = 0;           /* added to that of each of its jobs */
    PartitionState state = PartitionState::UP;
    int64_t default_time_ms = 0;        /* for jobs that name no limit; 0: as in all partitions */
    int64_t max_time_ms = 0;    /* 0: any */
    int64_t max_cores = 0;      /* of the processes of one job; 0: any number */
    /* Names of the reservations for others that use nodes of it; they are not stored. */
    std::vector<std::string> without;

    bool operator==(const Partition &) const = default;
    ELASTIC_FIELDS(name, nodes, is_default, priority, state, default_time_ms, max_time_ms,
                   max_cores)
};

inline bool has_node(const Partition &partition, const NodeName &node)
{
    return partition.nodes.empty() || partition.nodes.contains(node);
}
inline bool starts_jobs(const Partition &partition)
{
    return partition.state == PartitionState::UP || partition.state == PartitionState::DRAIN;
}
/* Whether the text can name a partition or a reservation. */
bool is_partition_name(const std::string &text);
/* Whether a node may be in both. */
bool overlap(const Partition &one, const Partition &other);

/* Empty, or the error in the partitions. */
std::string check(const std::vector<Partition> &partitions);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PARTITION_H_INCLUDED */
