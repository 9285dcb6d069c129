#include "core/reserved_cores.h"

#include <gtest/gtest.h>

#include <random>

namespace elastic::rm {
namespace {

struct Chance {
    std::mt19937_64 random;
    int upto(int most) { return static_cast<int>(random() % static_cast<uint64_t>(most + 1)); }
};

void run_job(State &state, Blocks blocks, bool whole_nodes)
{
    Job &job = state.jobs.add(++state.last_job);
    job.state = JobState::RUNNING;
    job.spec.whole_nodes = whole_nodes;
    job.blocks = std::move(blocks);
    state.index(job);
    state.book(job);
}

/* Nodes of two kinds or of one, some of them down; jobs of several whole nodes, and small ones that
 * share a node. */
void fill(State &state, Chance &chance)
{
    int nodes = 1 + chance.upto(60);
    bool equal = chance.upto(1), all_up = chance.upto(1);
    for (int i = 0; i < nodes; i++) {
        std::string name = "n" + std::to_string(i);
        Node &node = state.nodes[name];
        node.name = name;
        node.cores = equal || chance.upto(1) ? 4 : 6;
        node.up = all_up || chance.upto(9) > 0;
        state.index(node);
    }
    Blocks whole;
    for (auto &[name, node] : state.nodes) {
        switch (chance.upto(3)) {
            case 0: break;
            case 1: whole.push_back({name, 1 + chance.upto(node.cores - 1)}); break;
            default: {
                int first = chance.upto(node.cores), second = chance.upto(node.cores - first);
                run_job(state, {{name, first}}, false);
                run_job(state, {{name, second}}, false);
            }
        }
        if (whole.size() > static_cast<size_t>(chance.upto(5)))
            run_job(state, std::exchange(whole, {}), true);
    }
}

JobSpec some_spec(Chance &chance)
{
    JobSpec spec;
    spec.cores_per_process = chance.upto(2) ? 1 : 1 + chance.upto(2);
    spec.processes_per_node = chance.upto(2) ? 0 : 1 + chance.upto(2);
    spec.whole_nodes = chance.upto(1);
    return spec;
}

/* A job before which others start. */
JobSpec some_other(Chance &chance)
{
    JobSpec spec = some_spec(chance);
    if (chance.upto(2) == 0)
        spec.exclude = NodeSet({"n0", "n" + std::to_string(chance.upto(10))});
    if (chance.upto(3) == 0)
        spec.nodelist = NodeSet({"n" + std::to_string(11 + chance.upto(10))});
    return spec;
}

std::vector<const Shares *> some_given(const State &state, Chance &chance)
{
    std::vector<const Shares *> given;
    for (const auto &[id, job] : state.jobs)
        if (chance.upto(1))
            given.push_back(&state.booked(id));
    return given;
}

int free_on(const Space &space, const NodeName &node)
{
    return space.capacity_within(JobSpec(), {{node, 0}});
}

/* The same by two Spaces, one for each time. */
class SlowReservedCores {
  public:
    SlowReservedCores(const Space &begun, const std::vector<const Shares *> &given,
                      const Space &now, const JobSpec &spec, int processes)
        : then_(begun)
    {
        for (const Shares *shares : given)
            then_.give(*shares);
        for (const Shares *shares : given)
            for (const Share &share : *shares)
                processes -= put(*share.node, now, spec, processes);
        Blocks own = spec.processes_per_node > 0 ? promised_ : Blocks();
        if (processes > 0)
            promised_ = append(std::move(promised_), then_.allocate(spec, processes, own));
    }
    int64_t left() const { return then_.total(); }
    Space beside(const Space &now) const
    {
        Space beside = now;
        for (const Block &block : promised_) {
            int less = free_on(beside, block.node) - free_on(then_, block.node);
            if (less > 0)
                beside.take({{node_of(block), less}});
        }
        return beside;
    }
    void take(const Shares &shares) { then_.take(shares); }
    const State *state = nullptr;

  private:
    const Node *node_of(const Block &block) const { return state->node(block.node); }
    int put(const Node &node, const Space &now, const JobSpec &spec, int processes)
    {
        int free = free_on(then_, node.name), before = std::min(free, free_on(now, node.name));
        int capacity = node.state() == NodeState::UP ? capacity_on(spec, node.cores, free, 0) : 0;
        if (spec.whole_nodes)
            capacity = before == node.cores ? 0 : capacity;
        else
            capacity = std::min(capacity, (free - before) / spec.cores_per_process);
        int here = std::min(processes, capacity);
        if (here > 0) {
            then_.take({{&node, spec.whole_nodes ? free : here * spec.cores_per_process}});
            promised_.push_back({node.name, here});
        }
        return here;
    }

    Space then_;
    Blocks promised_;
};

int capacity_then(Space space, const std::vector<const Shares *> &given, const JobSpec &spec)
{
    for (const Shares *shares : given)
        space.give(*shares);
    return space.capacity(spec);
}

struct Counts {
    int fitted = 0, refused = 0;
};

/* Others start first: some beside the reservation, some that end before it. */
void start_backfill(const State &state, ReservedCores &reserve, SlowReservedCores &slow, Space now,
                    Chance &chance, Counts &counts)
{
    for (int i = 0; i < 20; i++) {
        JobSpec spec = some_other(chance);
        int processes = 1 + chance.upto(8);
        Space beside = slow.beside(now);
        bool fits = beside.fits(spec, processes);
        ASSERT_EQ(reserve.left(), slow.left());
        ASSERT_EQ(reserve.fits(now, spec, processes), fits);
        (fits ? counts.fitted : counts.refused) += now.fits(spec, processes);
        if (chance.upto(3) == 0 && now.fits(spec, processes)) {
            now.allocate(spec, processes);
            reserve.changed();
        } else if (fits && chance.upto(1)) {
            Blocks blocks = beside.allocate(spec, processes);
            ASSERT_EQ(reserve.allocate(now, spec, processes), blocks);
            slow.take(state.shares(spec, blocks));
        }
    }
}

TEST(ReservedCoresTest, others_get_what_two_spaces_would_leave_them)
{
    Counts counts;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space begun(state), now = begun;
        JobSpec early = some_spec(chance), spec = some_spec(chance);
        if (int capacity = begun.capacity(early); capacity > 0 && chance.upto(1))
            now.allocate(early, 1 + chance.upto(capacity - 1));
        std::vector<const Shares *> given = some_given(state, chance);
        int capacity = capacity_then(begun, given, spec);
        if (capacity == 0)
            continue;
        int processes = 1 + chance.upto(capacity - 1);
        ReservedCores reserve(state, begun, given, now, spec, processes);
        SlowReservedCores slow(begun, given, now, spec, processes);
        slow.state = &state;
        start_backfill(state, reserve, slow, now, chance, counts);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(counts.fitted, 1000);
    EXPECT_GT(counts.refused, 300);      /* only because of the reservation */
}

TEST(ReservedCoresTest, a_job_that_names_nodes_fits_then_whatever_starts_beside_it)
{
    int started = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space begun(state), now = begun, then = begun;
        JobSpec spec = some_spec(chance);
        spec.nodelist = NodeSet({"n2", "n" + std::to_string(3 + chance.upto(5))});
        spec.exclude = NodeSet({"n0", "n1"});
        std::vector<const Shares *> given = some_given(state, chance);
        for (const Shares *shares : given)
            then.give(*shares);
        int capacity = then.capacity(spec);
        if (capacity == 0)
            continue;
        int processes = 2 + chance.upto(capacity - 2);
        ReservedCores reserve(state, begun, given, now, spec, processes);
        ASSERT_GE(then.capacity(spec), processes);
        for (int i = 0; i < 20; i++) {
            JobSpec other = some_other(chance);
            int size = 1 + chance.upto(8);
            bool fits = reserve.fits(now, other, size);
            refused += !fits && now.fits(other, size);
            if (!fits)
                continue;
            then.take(state.shares(other, reserve.allocate(now, other, size)));
            ASSERT_GE(then.capacity(spec), processes) << "seed " << seed;
            started++;
        }
    }
    EXPECT_GT(started, 300);
    EXPECT_GT(refused, 30);
}

TEST(ReservedCoresTest, capacity_grows_like_that_of_a_space)
{
    for (uint64_t seed = 1; seed <= 600; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space space(state), begun = space;
        JobSpec spec = some_other(chance);
        GrowingCapacity capacity(begun, spec);
        for (const auto &[id, job] : state.jobs) {
            if (chance.upto(2) == 0)
                continue;
            capacity.give(state.booking(id));
            space.give(state.booked(id));
            ASSERT_EQ(capacity.capacity(), space.capacity(spec)) << "seed " << seed;
            ASSERT_EQ(capacity.total(), space.total()) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace elastic::rm
