/*
 * Selection of nodes: a scratch copy of the free cores on which allocations are tried, and the
 * ranks that leave.  Pure.  Its cost depends on the allocation, not on the number of nodes.
 * Preference: the job's own nodes, then, for a job that needs no GPUs, nodes without GPUs; then the
 * one node that fits best, then as few nodes as possible; in the order of their names where nothing
 * else decides.  Excluded nodes, and those outside the partition, have no capacity.  A job that
 * holds no nodes has no capacity while one of its listed nodes has none; it gets a process on each
 * of these first.  The capacity for a new job with a number of nodes is that of so many nodes, the
 * largest ones.
 */

#ifndef ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED
#define ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* Number of processes that fit on a node with this number of free cores, beside `own` of the
 * same job. */
int capacity_on(const JobSpec &spec, int cores, int free, int own);
/* Whether its capacity on a node is the number of free cores. */
bool any_core_will_do(const JobSpec &spec);
/* The processes of each node put together; for lists in which the order of ranks does not
 * matter. */
Blocks gathered(const Blocks &blocks);
/* It names no nodes and no number of nodes, is in no partition of some nodes, and needs no GPUs. */
bool any_node_will_do(const JobSpec &spec);

/* The specification of a job for processes that join running ones: they need not be on the
 * listed nodes, where the job already has processes, and need not keep its number of nodes. */
class JoiningSpec {
  public:
    explicit JoiningSpec(const JobSpec &spec);
    operator const JobSpec &() const { return copy_ ? *copy_ : spec_; }

  private:
    const JobSpec &spec_;
    std::optional<JobSpec> copy_;       /* without the list and the number, if it has one */
};

/* Converts a number of processes of all nodes together to an int. */
inline int within_int(int64_t value)
{
    return static_cast<int>(std::min<int64_t>(value, std::numeric_limits<int>::max()));
}

class Space {
  public:
    /* Starts with the free cores of the state. */
    explicit Space(const State &state) : state_(&state), cores_(state.free_cores()) {}

    /* Number of processes of such a job that fit, beside those in `own`. */
    int capacity(const JobSpec &spec, const Blocks &own = {}) const;
    /* The same, but only on the nodes of `own`. */
    int capacity_within(const JobSpec &spec, const Blocks &own) const;
    bool fits(const JobSpec &spec, int processes, const Blocks &own = {}) const;
    /* Number of nodes that have capacity for so many processes of a new job. */
    int nodes_for(const JobSpec &spec, int processes = 1) const;
    /* Books `processes` and returns their nodes; they must fit. */
    Blocks allocate(const JobSpec &spec, int processes, const Blocks &own = {});

    /* Booked and unbooked cores of all nodes that are up. */
    void take(const std::vector<Share> &shares);
    void give(const std::vector<Share> &shares);
    /* Like give; returns the growth of capacity(spec). */
    int give(const std::vector<Share> &shares, const JobSpec &spec);
    /* Nothing more fits on this node. */
    void close(const NodeName &node);
    /* Reduces the free cores of each of these nodes to those in the other Space. */
    void limit(const Space &other, const Blocks &blocks);

    /* Whether more free cores of the node and this number of GPUs could be used: the job may use
     * the node, and the node then has GPUs. */
    bool may_help(const JobSpec &spec, const Node &node, int gpus) const
    {
        return may_use(spec, node.name) && cores_.gpus(node) + gpus >= gpus_on_node(spec, 1);
    }

    int64_t total() const { return cores_.total(); }
    /* The free cores and GPUs of the nodes on which such a job may grow. */
    struct Resources {
        int64_t cores = 0, gpus = 0;
    };
    Resources resources(const JobSpec &spec) const;
    /* The cores of each node that are free here and not in the other. */
    Shares more_than(const Space &other) const;

  private:
    friend class GrowingJob;
    friend class GrowingCapacity;
    friend class ReservedCores;
    struct Own {
        const Node *node;
        int processes, capacity;
    };
    struct Piece {
        const Node *node;
        int processes, cores;
        int gpus = 0;
    };
    /* Capacity on one node, beside `own` processes of the job. */
    int capacity_here(const JobSpec &spec, const Node &node, int own) const;
    int64_t capacity_of_all(const JobSpec &spec) const;
    int64_t capacity_of_number(const JobSpec &spec) const;
    /* Calls back with the capacity of nodes and their number; a negative number corrects an earlier
     * one. */
    template <class Visit> void each_capacity(const JobSpec &spec, Visit visit) const;
    bool has_listed(const JobSpec &spec) const;
    /* Null: all. */
    const PositionSet *positions_of_partition(const JobSpec &spec) const;
    std::vector<Own> allocate_listed(const JobSpec &spec, int &processes, Blocks &blocks);
    Blocks allocate_spread(const JobSpec &spec);
    std::vector<Own> nodes_of_number(const JobSpec &spec) const;
    std::vector<Own> open_nodes(const JobSpec &spec) const;
    std::vector<Own> usable_own(const JobSpec &spec, const Blocks &own) const;
    void book(const Piece &piece);
    std::vector<Piece> choose(const JobSpec &spec, int processes,
                              const std::vector<Own> &own) const;
    void choose_with_gpus(const JobSpec &spec, int processes, const std::vector<Own> &own,
                          std::vector<Piece> &pieces) const;
    void add(const Share &share, int sign);
    void choose_others(const JobSpec &spec, int processes, const std::vector<Own> &own,
                       std::vector<Piece> &pieces) const;
    enum class Nodes { ALL, WITHOUT_GPUS, WITH_GPUS };
    int choose_among(Nodes which, const JobSpec &spec, int processes, const std::vector<Own> &own,
                     std::vector<Piece> &pieces) const;

    const State *state_;
    FreeCores cores_;
};

/* Growth of the total and the capacity of a Space for one kind of job as bookings are released,
 * without a change of the Space: for callers that need the amount, not the nodes. */
class GrowingCapacity {
  public:
    GrowingCapacity(const Space &space, const JobSpec &spec);

    void give(const Booking &booking);
    int64_t capacity() const { return own_ ? own_->capacity(spec_) : capacity_; }
    int64_t total() const { return own_ ? own_->total() : total_; }

  private:
    void give(const Share &share);

    const FreeCores &cores_;
    const JobSpec &spec_;
    bool any_core_will_do_;
    int64_t capacity_, total_;
    int capacity_of_each_;          /* idle node, if all are up and homogeneous; else -1 */
    std::optional<Space> own_;      /* for a job that cannot use just any node */
    /* by position, without cores booked as a whole; computed on demand */
    std::vector<int> free_;
};

/*
 * A job that grows in a Space, step by step.  It fits and is allocated as by Space with all
 * present blocks of the job as `own`; but its nodes are not searched and sorted again for each
 * step. Meanwhile no other allocation uses whole nodes of the job.
 */
class GrowingJob {
  public:
    GrowingJob(const Space &space, const JobSpec &spec, const Blocks &own);
    /* It has whole nodes, and all are full: no search is needed. */
    explicit GrowingJob(const JobSpec &spec) : spec_(&spec), has_own_(true) {}

    /* Number of further processes that fit: on all nodes, and on its own nodes. */
    int capacity(const Space &space);
    int capacity_within(const Space &space);
    bool fits(const Space &space, int more);
    /* Books `more` processes and appends their blocks to the others; they must fit. */
    void allocate(Space &space, int more, Blocks &target);

  private:
    void look(const Space &space);
    void put(const Space &space, const Space::Piece &piece);
    void fill_last(int more, Blocks &target);

    const JobSpec *spec_;
    bool has_own_;
    /* Its own nodes that are up, in the order of their names; of whole nodes only those with
     * capacity, because the others stay full. */
    std::vector<Space::Own> nodes_;
    int64_t capacity_ = 0; /* of all of these; updated for whole nodes */
};

/* The ranks that remain if these (rising) leave; `left` gets the blocks of the leaving ones. */
Blocks without(const Blocks &blocks, const std::vector<int> &leave, Blocks *left = nullptr);
/* Appends ranks after the existing ranks. */
void append(Blocks &blocks, const Block &block);
Blocks append(Blocks first, const Blocks &second);
/* Selects the `count` ranks that leave: first those on nodes that are not up, then the highest;
 * rising. */
std::vector<int> choose_leaving(const State &state, const Blocks &blocks, int count);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED */
