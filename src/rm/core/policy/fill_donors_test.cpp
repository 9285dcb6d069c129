/* Donors: the freed cores are those that the leaving processes have booked. */

#include "core/policy/fill_donors.h"

#include <gtest/gtest.h>

#include <random>

namespace elastic::rm {
namespace {

struct Chance {
    std::mt19937_64 random;
    int upto(int most) { return static_cast<int>(random() % static_cast<uint64_t>(most + 1)); }
};

JobSpec some_spec(Chance &chance)
{
    JobSpec spec;
    spec.whole_nodes = chance.upto(1);
    spec.cores_per_process = chance.upto(2) ? 1 : 2;
    spec.processes_per_node = chance.upto(3) ? 0 : 1 + chance.upto(2);
    spec.elasticity = Elasticity::MALLEABLE;
    spec.maximum = 1000;
    return spec;
}

/* Malleable jobs that have grown on nodes of four cores, so that a node is in more than one of
 * their blocks; then some nodes are drained. */
void fill(State &state, Chance &chance)
{
    int nodes = 5 + chance.upto(80);
    for (int i = 0; i < nodes; i++) {
        Node &node = state.nodes["n" + std::to_string(i)];
        node.name = "n" + std::to_string(i);
        node.cores = 4;
        state.index(node);
    }
    for (int i = 0; i < 8; i++) {
        Job &job = state.jobs.add(++state.last_job);
        job.spec = some_spec(chance);
        job.state = JobState::RUNNING;
        job.mode = StepMode::ADAPTIVE;
        for (int step = 0; step < 4; step++) {
            Space space(state);
            Blocks blocks = job.blocks;
            int more = 1 + chance.upto(12);
            if (!space.fits(job.spec, more, blocks))
                break;
            job.blocks = append(blocks, space.allocate(job.spec, more, blocks));
            state.index(job);
            state.book(job);
        }
        if (job.blocks.empty())
            job.state = JobState::DONE;
        state.index(job);
    }
    for (auto &[name, node] : state.nodes) {
        if (chance.upto(9) > 0)
            continue;
        state.unindex(node);
        node.draining = true;
        state.index(node);
    }
}

/* Cores that would be free, computed from the remaining worlds. */
Space with_shrinks(const State &state, const std::map<JobId, int> &shrinks)
{
    Space space(state);
    for (const auto &[id, size] : shrinks) {
        const Job &job = state.jobs.at(id);
        Blocks after = without(job.blocks, choose_leaving(state, job.blocks, job.size() - size));
        Shares freed = state.shares(job.spec, job.blocks), retained = state.shares(job.spec, after);
        space.give(freed);
        space.take(retained);
    }
    return space;
}

TEST(DonorsTest, what_is_given_is_what_those_who_leave_have_booked)
{
    int shrunk = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        FillPlan plan(state, equal_gain(), any_sizes());
        Donors donors(plan);
        for (int i = 0; i < 4; i++) {
            JobSpec wanted = some_spec(chance);
            auto before = plan.shrinks;
            int want = plan.soon.capacity(wanted) + 1 + chance.upto(20);
            bool helped = donors.shrink_for(
                wanted, want, chance.upto(1) ? DonorLimit::MINIMUM : DonorLimit::FAIR_SHARE);
            Space expected = with_shrinks(state, plan.shrinks);
            ASSERT_EQ(plan.soon.total(), expected.total()) << "seed " << seed;
            for (int kind = 0; kind < 6; kind++) {
                JobSpec spec = some_spec(chance);
                ASSERT_EQ(plan.soon.capacity(spec), expected.capacity(spec)) << "seed " << seed;
                int capacity = expected.capacity(spec);
                ASSERT_EQ(Space(plan.soon).allocate(spec, capacity),
                          expected.allocate(spec, capacity));
                expected = with_shrinks(state, plan.shrinks);
            }
            ASSERT_EQ(helped, plan.soon.capacity(wanted) >= want) << "seed " << seed;
            ASSERT_TRUE(helped || plan.shrinks == before) << "nobody gives in vain";
            shrunk += helped;
            refused += !helped;
        }
    }
    EXPECT_GT(shrunk, 200);
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace elastic::rm
