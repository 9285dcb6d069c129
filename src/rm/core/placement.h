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
    /* The same, with as little as possible of what `other` has as well: this one is that and `given`. */
    Blocks place_beside(const Space &other, const Shares &given, const JobSpec &spec, int processes);

    /* Booked and unbooked cores.  Those of nodes that are not up are not counted. */
    void take(const std::vector<Share> &shares);
    void give(const std::vector<Share> &shares);
    /* As give, and by how much room(spec) grows. */
    int give(const std::vector<Share> &shares, const JobSpec &spec);
    /* None of these nodes has more than in the other. */
    void limit(const Space &other, const Blocks &blocks);

    int64_t total() const { return cores_.total(); }

  private:
    struct Own {
        const Node *node;
        int processes, room;
    };
    struct Piece {
        const Node *node;
        int processes, cores;
    };
    std::vector<Own> usable_own(const JobSpec &spec, const Blocks &own) const;
    std::vector<Piece> choose(const JobSpec &spec, int processes, const std::vector<Own> &own) const;
    void choose_others(const JobSpec &spec, int processes, const std::vector<Own> &own,
                       std::vector<Piece> &pieces) const;

    const State *state_;
    FreeCores cores_;
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
