/*
 * The request for a job (JobSpec), and functions of that alone.  Plain data with its JSON.
 *
 * Sizes are numbers of processes.  A process occupies `cores_per_process` cores of one node. Times
 * are milliseconds of the clock that stamps the events (elasticd: Unix time).
 */

#ifndef ELASTIC_RM_CORE_JOB_SPEC_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_SPEC_H_INCLUDED

#include <memory>

#include "base/program_sizes.h"
#include "base/quotient.h"
#include "core/partition.h"

namespace elastic::rm {

using JobId = uint64_t;         /* 1, 2, 3, ... */
constexpr int64_t NEVER = -1;
inline int64_t earlier(int64_t one_ms, int64_t other_ms)
{
    return one_ms == NEVER ? other_ms : other_ms == NEVER ? one_ms : std::min(one_ms, other_ms);
}
constexpr size_t DEPENDENCIES_MAX = 100;        /* dependencies of one job */
constexpr int64_t BEGIN_MAX_MS = int64_t{1} << 46;      /* maximum begin time: the year 4199 */
constexpr int SIZE_RANGES_MAX = 4096;           /* sizes or ranges of a rule of a submission */
constexpr size_t LISTED_MAX = 1000;             /* nodes that one job requires, or excludes */

/* RIGID: the size is fixed.  MOLDABLE: chosen between minimum and maximum when the job starts.
 * MALLEABLE: changes while it runs (if the program turns out to be adaptive). */
enum class Elasticity { RIGID, MOLDABLE, MALLEABLE };
template <> struct NamesOf<Elasticity> {
    static constexpr const char *names[] = {"rigid", "moldable", "malleable"};
};

/* Rule for the sizes between minimum and maximum that the program can use. */
enum class SizeRule { ANY, MULTIPLE, POWER_OF_TWO, SQUARE, CUBE };
template <> struct NamesOf<SizeRule> {
    static constexpr const char *names[] = {"any", "multiple", "power_of_two", "square", "cube"};
};

/* The condition on another job: it has started (or never will), it has ended, it has ended as
 * DONE. */
enum class DependencyKind { AFTER, AFTER_ANY, AFTER_OK, AFTER_NOT_OK };
template <> struct NamesOf<DependencyKind> {
    static constexpr const char *names[] = {"after", "after_any", "after_ok",
                                            "after_not_ok"};
};
struct Dependency {
    DependencyKind kind = DependencyKind::AFTER;
    JobId job = 0;              /* an earlier job, so that dependencies are acyclic */
    bool array = false;         /* all tasks of the array with this number */

    bool operator==(const Dependency &) const = default;
    ELASTIC_FIELDS(kind, job, array)
};

struct JobSpec {
    std::string name;
    std::string user;
    uint32_t uid = 0;
    Elasticity elasticity = Elasticity::RIGID;
    int minimum = 1, maximum = 1;
    int preferred = 0;          /* start and grow up to this while others wait; 0: the maximum */
    SizeRule size_rule = SizeRule::ANY;
    int size_multiple = 1;      /* with MULTIPLE */
    /* Another rule of program_sizes.h; empty: size_rule.  set_size_rule sets all three. */
    std::string sizes;
    /* Number of slots beyond the maximum, for processes that the program starts one by one or by
     * which it grows without the core. */
    int extra_slots = 0;
    int cores_per_process = 1;
    int processes_per_node = 0; /* maximum; 0: as many as fit */
    bool whole_nodes = false;   /* shares its nodes with no other job */
    /* The exact number of whole nodes of a rigid job.  Its processes are spread evenly, in turn in
     * the order of the nodes' names, but no node has more than it can hold.  0: as few nodes as
     * possible. */
    int nodes = 0;
    /* GPUs of each process, or of each node that a rigid job uses: at most one of them is not 0. */
    int gpus_per_process = 0, gpus_per_node = 0;
    /* It starts with a process on each node of `nodelist`, and has none on the nodes of
     * `exclude`. */
    NodeSet nodelist, exclude;
    /* Its partition, and the known data of it, without the nodes that are reserved for others:
     * null if there are no partitions, and none of its nodes is reserved.  State::enter sets
     * `in`, which follows from the name, the configuration and Job::entered_ms. */
    std::string partition;
    std::shared_ptr<const Partition> in;
    std::string reservation;    /* it runs only on nodes of this reservation; empty: none */
    /* The groups of its user that had limits when it was submitted. */
    std::vector<std::string> groups;
    /* of one step; 0: the default of its partition or of all partitions */
    int64_t time_limit_ms = 0;
    /* expected duration of a step at its first size; 0: its time limit */
    int64_t expect_ms = 0;
    /* Hint until the first measurement: the part of the work that only one process can do
     * (Amdahl), in ppm. */
    int64_t serial_ppm = NEVER; /* NEVER: unknown */
    /* Equal for two jobs that run the same program with the same arguments (program_of); empty:
     * nothing is learned of it (learned.h). */
    std::string program;
    int priority = 0;           /* a greater one starts sooner */
    bool held = false;          /* submitted on hold */
    bool requeue = false;       /* wait again, instead of failing, when a node or the step fails */
    int64_t begin_ms = 0;       /* earliest start; 0: at any time */
    std::vector<Dependency> dependencies;       /* all must be fulfilled */
    /* It does not run beside another job of its user with its name: it waits for earlier ones. */
    bool singleton = false;
    std::string array;          /* the indices of its array (job_array.h); empty: not a task */
    /* The sizes that the running program can use, as it reported by MPIX_Adapt_sizes: a rule of
     * program_sizes.h, or empty.  `usable` follows from it and from `sizes`, and is null without
     * both: the sizes that also obey the other limits, rising.  set_program_sizes sets both. */
    std::string program_sizes;
    std::shared_ptr<const std::vector<SizeInterval>> usable;

    ELASTIC_FIELDS(name, user, uid, elasticity, minimum, maximum, preferred, size_rule,
                   size_multiple, cores_per_process, processes_per_node, whole_nodes, time_limit_ms,
                   expect_ms, serial_ppm, program, priority, held, requeue, begin_ms,
                   dependencies, program_sizes, extra_slots, array,
                   singleton, nodelist, exclude, gpus_per_process, gpus_per_node,
                   partition, reservation, groups, sizes, nodes)
};

/* With a number of nodes: the processes of the fullest node, if they are spread evenly. */
inline int even_share(const JobSpec &spec)
{
    return quotient_up(spec.minimum, spec.nodes);
}

/* Whether processes of the job may be on the node: it is in the job's partition and not
 * excluded. */
inline bool may_use(const JobSpec &spec, const NodeName &node)
{
    return (!spec.in || has_node(*spec.in, node)) && !spec.exclude.contains(node);
}
/* Jobs with the same queue name wait for the same nodes: those of a partition, or of a
 * reservation. */
std::string queue_of(const JobSpec &spec);
/* Empty: all nodes. */
const NodeSet &nodes_of_partition(const JobSpec &spec);

/* The number of GPUs that `processes` of the job have together on one node. */
inline int gpus_on_node(const JobSpec &spec, int processes)
{
    return processes > 0 ? spec.gpus_per_node + spec.gpus_per_process * processes : 0;
}
inline bool needs_gpus(const JobSpec &spec)
{
    return spec.gpus_per_process > 0 || spec.gpus_per_node > 0;
}

/* The limit of world and slots together. */
inline int most_processes(const JobSpec &spec)
{
    return spec.maximum + spec.extra_slots;
}
/* Whether the program has reported that it can use that size. */
bool is_own_size(const JobSpec &spec, int size);

/* "after_ok:3": for people. */
std::string describe(const Dependency &dependency);

/* The sizes that the program can use: the greatest allowed one that is at most `size` (0: none),
 * and the smallest that is at least `size` (0: none). */
int size_at_most(const JobSpec &spec, int size);
int size_at_least(const JobSpec &spec, int size);

/* "was submitted for 1 to 8 processes, ...": for people. */
std::string describe_sizes(const JobSpec &spec);

/* The rule of the submission, as text; and its replacement, which returns an error if the text is
 * not a rule. */
std::string size_rule(const JobSpec &spec);
std::string set_size_rule(JobSpec &spec, const std::string &rule);
/* Replaces the sizes that the program reported; "": none.  Returns false, without an effect, if
 * the text is not a rule. */
bool set_program_sizes(JobSpec &spec, const std::string &rule);

/* Empty, or the error in the request. */
std::string check(const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_SPEC_H_INCLUDED */
