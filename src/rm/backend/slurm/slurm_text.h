/*
 * Output of Slurm's commands as data: pure functions over arbitrary text.
 *
 * Free texts in Slurm (names, comments, reasons) are written by others and may hold any byte,
 * including a line that reads as another job.  Each line of a listing therefore begins and ends
 * with a random word of this call (`marker`); all other lines are ignored.
 *
 * Pure; any thread.
 */

#ifndef ELASTIC_RM_SLURM_TEXT_H_INCLUDED
#define ELASTIC_RM_SLURM_TEXT_H_INCLUDED

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/job.h"

namespace elastic::rm {

using SlurmId = uint64_t;
using NodeNames = std::vector<std::string>;

/* Names with commas, the form for every command of Slurm. */
std::string join_names(const NodeNames &names);

/* State of a node for elasticd, if none of its jobs is on it. */
enum class SlurmNodeState {
    IDLE,
    USED,               /* by jobs of elasticd or others */
    GONE                /* no job can use it: down, not answering, reserved, powered down, ... */
};

struct SlurmNode {
    std::string name;
    int cores = 0;
    SlurmNodeState state = SlurmNodeState::GONE;
    bool failed = false;          /* Slurm has declared it failed: its jobs are ended */
    bool draining = false;      /* set by an administrator: */
    std::string word;           /* Slurm's name of the state, without its flags */
    /* numbers of nodes that one job of the partition may have; 0: any */
    int job_nodes_min = 0, job_nodes_max = 0;
    std::string kind;           /* its memory, GPUs and features: equal ones serve equal requests */
    std::string reason;         /* given by the administrator or by Slurm; empty: none */
};

/* For sinfo -N: "MARKER|name|cores|state|nodes of a job|kind|reason|MARKER". */
std::string node_format(const std::string &marker);
Result<std::vector<SlurmNode>> parse_nodes(std::string_view text, const std::string &marker);

/* The comment of an own job: its owner. */
struct SlurmTag {
    std::string cluster;        /* of the elasticd */
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    bool expands = false;       /* it was created to be merged into an earlier one */
    bool operator==(const SlurmTag &) const = default;
};
std::string format_tag(const SlurmTag &tag);
std::optional<SlurmTag> parse_tag(std::string_view comment);

enum class SlurmJobState { PENDING, RUNNING, COMPLETING, ENDED };

struct SlurmJob {
    SlurmId id = 0;
    SlurmJobState state = SlurmJobState::ENDED;
    std::string word;           /* Slurm's name of the state */
    std::string user;
    uint32_t uid = 0;
    int64_t priority = 0;
    int node_count = 0;         /* that it has, or waits for */
    NodeNames nodes;
    std::string reason;         /* why it waits, or was ended */
    std::optional<SlurmTag> tag;
};

/* For squeue: "MARKER|id|state|user|uid|priority|nodes|node list|reason|comment|MARKER". */
std::string job_format(const std::string &marker);
Result<std::vector<SlurmJob>> parse_jobs(std::string_view text, const std::string &marker);
/* For users; of a job that is COMPLETING or has ended. */
std::string how_it_ended(const SlurmJob &job);

/* The meaning of Slurm's reason for a waiting job (squeue's %r). */
enum class PendingKind {
    WAITS,              /* for nodes, its turn or ends of other jobs: it can start */
    BUSY,               /* likewise, and only because the nodes are in use now */
    WAITS_SO_LARGE,     /* others use up a limit, and a smaller one might start now */
    WAITS_FOR_JOBS,     /* others use up a limit on the number of Slurm jobs */
    NEVER,              /* never in its present form, at any size */
    NEVER_ON_SUCH_NODES,        /* other nodes might do, if they differ from these */
    NEVER_SO_LARGE,     /* a smaller one might start */
    NEVER_SO_SMALL,     /* a larger one might start */
    NEVER_SO_MANY_NODES         /* or so few, of the partition */
};
PendingKind pending_kind(std::string_view reason);
/* "a time limit above the partition's (PartitionTimeLimit)": for users. */
std::string pending_text(std::string_view reason);

/* The lines "Name = value" of `scontrol show config`. */
std::map<std::string, std::string> parse_config(std::string_view text);
/* Whether the word is in a list with commas, such as SchedulerParameters. */
bool has_word(std::string_view list, std::string_view word);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_TEXT_H_INCLUDED */
