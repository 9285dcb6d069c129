/*
 * Which nodes: a scratch copy of the free cores on which placements are tried, and the ranks that
 * leave. Pure.  What it costs depends on what is placed, not on the number of nodes.  Preference:
 * the job's own nodes, then the one node that fits best, then as few nodes as possible; in the
 * order of the nodes' names where nothing else decides.
 */

#ifndef ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED
#define ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* How many processes a node with so many free cores has room for, beside `own` of the same job. */
int room_on(const JobSpec &spec, int cores, int free, int own);
/* Its room is the cores that are free. */
bool any_core_will_do(const JobSpec &spec);

class Space {
  public:
    /* What is free now. */
    explicit Space(const State &state) : state_(&state), cores_(state.free_cores()) {}

    /* How many processes of such a job could be placed, beside those in `own`. */
    int room(const JobSpec &spec, const Blocks &own = {}) const;
    /* The same within the nodes of `own` alone. */
    int room_within(const JobSpec &spec, const Blocks &own) const;
    bool fits(const JobSpec &spec, int processes, const Blocks &own = {}) const;
    /* Books `processes` and says where; they must fit. */
    Blocks place(const JobSpec &spec, int processes, const Blocks &own = {});

    /* Booked and unbooked cores.  Those of nodes that are not up are not counted. */
    void take(const std::vector<Share> &shares);
    void give(const std::vector<Share> &shares);
    /* As give, and by how much room(spec) grows. */
    int give(const std::vector<Share> &shares, const JobSpec &spec);
    /* Nothing more fits on this node. */
    void close(const NodeName &node);
    /* None of these nodes has more than in the other. */
    void limit(const Space &other, const Blocks &blocks);

    int64_t total() const { return cores_.total(); }
    /* What of each node is free here beyond what is free in the other. */
    Shares more_than(const Space &other) const;

  private:
    friend class GrowingJob;
    friend class GrowingRoom;
    friend class Promise;
    struct Own {
        const Node *node;
        int processes, room;
    };
    struct Piece {
        const Node *node;
        int processes, cores;
    };
    std::vector<Own> usable_own(const JobSpec &spec, const Blocks &own) const;
    std::vector<Piece> choose(const JobSpec &spec, int processes,
                              const std::vector<Own> &own) const;
    void choose_others(const JobSpec &spec, int processes, const std::vector<Own> &own,
                       std::vector<Piece> &pieces) const;

    const State *state_;
    FreeCores cores_;
};

/* How a Space's total and room for one kind of job grow with what is given back, without changing
 * it: for who asks how much has to be given, not where. */
class GrowingRoom {
  public:
    GrowingRoom(const Space &space, const JobSpec &spec);

    void give(const Booking &booking);
    int64_t room() const { return room_; }
    int64_t total() const { return total_; }

  private:
    void give(const Share &share);

    const FreeCores &cores_;
    const JobSpec &spec_;
    bool any_core_will_do_;
    int64_t room_, total_;
    int room_of_each_;          /* idle node, if all are up and alike; else -1 */
    /* by position, without what was booked as a whole; made when it is needed */
    std::vector<int> free_;
};

/*
 * A job that grows in a Space, step by step.  It fits and is placed as Space does with all that the
 * job has by then as `own`; but its nodes are not looked up and sorted anew for each step.
 * Meanwhile nothing else is placed on whole nodes of the job.
 */
class GrowingJob {
  public:
    GrowingJob(const Space &space, const JobSpec &spec, const Blocks &own);

    /* For how many more processes there is room: at all, and on its own nodes. */
    int room(const Space &space);
    int room_within(const Space &space);
    bool fits(const Space &space, int more);
    /* Books `more` and puts their places behind the others; they must fit. */
    void place(Space &space, int more, Blocks &places);

  private:
    void look(const Space &space);
    void put(const Space &space, const Space::Piece &piece);
    void fill_last(int more, Blocks &places);

    const JobSpec *spec_;
    bool has_own_;
    std::vector<Space::Own> nodes_;     /* its own that are up, in the order of their names */
    int64_t room_ = 0;                  /* of all of these; of whole nodes it is kept up to date */
    int open_ = 0;                      /* how many of the whole nodes have room */
    size_t last_ = 0;                   /* the one that was placed on last */
};

/* The ranks that remain if these (rising) leave; `left` gets the others' places. */
Blocks without(const Blocks &blocks, const std::vector<int> &leave, Blocks *left = nullptr);
/* Ranks after ranks. */
void append(Blocks &blocks, const Block &block);
Blocks append(Blocks first, const Blocks &second);
/* Which `count` ranks leave: first those on nodes that are not up, then the highest; rising. */
std::vector<int> choose_leaving(const State &state, const Blocks &blocks, int count);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PLACEMENT_H_INCLUDED */
