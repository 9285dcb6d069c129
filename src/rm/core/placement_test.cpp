#include "core/placement.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace elastic::rm {
namespace {

/* What a Space promises, computed from the nodes one by one. */
class SlowSpace {
  public:
    explicit SlowSpace(const State &state)
    {
        for (const auto &[name, node] : state.nodes)
            slots_.push_back({&node, node.free(), node.state() == NodeState::UP});
    }

    int room(const JobSpec &spec, const Blocks &own) const
    {
        int sum = 0;
        for (const Slot &slot : slots_)
            sum += room(slot, spec, processes_on(slot, own));
        return sum;
    }

    Blocks place(const JobSpec &spec, int processes, const Blocks &own)
    {
        struct Candidate {
            Slot *slot;
            int room, own;
        };
        std::vector<Candidate> candidates;
        for (Slot &slot : slots_) {
            int present = processes_on(slot, own);
            if (int here = room(slot, spec, present))
                candidates.push_back({&slot, here, present});
        }
        std::stable_sort(
            candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
                return std::pair(a.own > 0, a.room) > std::pair(b.own > 0, b.room);
            });
        Blocks blocks;
        for (auto next = candidates.begin(); processes > 0; ++next) {
            if (next->own == 0 && next->room >= processes) {
                for (auto each = next; each != candidates.end() && each->room >= processes; ++each)
                    next = each->room < next->room ? each : next;
            }
            int here = std::min(processes, next->room);
            next->slot->free -= !spec.whole_nodes ? here * spec.cores_per_process
                                : next->own > 0   ? 0
                                                  : next->slot->node->cores;
            processes -= here;
            blocks.push_back({next->slot->node->name, here});
        }
        return blocks;
    }

  private:
    struct Slot {
        const Node *node;
        int free;
        bool usable;
    };
    static int processes_on(const Slot &slot, const Blocks &own)
    {
        int sum = 0;
        for (const Block &block : own)
            sum += block.node == slot.node->name ? block.processes : 0;
        return sum;
    }
    static int room(const Slot &slot, const JobSpec &spec, int own)
    {
        if (!slot.usable)
            return 0;
        int room = slot.free / spec.cores_per_process;
        if (spec.whole_nodes && own > 0)
            room = slot.node->cores / spec.cores_per_process - own;
        else if (spec.whole_nodes && slot.free < slot.node->cores)
            room = 0;
        if (spec.processes_per_node > 0)
            room = std::min(room, spec.processes_per_node - own);
        return std::max(room, 0);
    }

    std::vector<Slot> slots_;
};

struct Chance {
    std::mt19937_64 random;
    int upto(int most) { return static_cast<int>(random() % static_cast<uint64_t>(most + 1)); }
};

/* Nodes of two kinds, some of them down, partly booked by rigid jobs. */
void fill(State &state, Chance &chance)
{
    int nodes = 1 + chance.upto(150);
    for (int i = 0; i < nodes; i++) {
        std::string name = "n" + std::to_string(i);
        Node &node = state.nodes[name];
        node.name = name;
        node.cores = chance.upto(1) ? 4 : 1 + chance.upto(8);
        node.up = chance.upto(9) > 0;
        state.index(node);
    }
    for (auto &[name, node] : state.nodes) {
        Job &job = state.jobs.add(++state.last_job);
        job.state = JobState::RUNNING;
        if (int cores = chance.upto(node.cores))
            job.blocks = {{name, cores}};
        state.index(job);
        state.book(job);
    }
}

JobSpec some_spec(Chance &chance)
{
    JobSpec spec;
    spec.cores_per_process = chance.upto(2) ? 1 : 1 + chance.upto(3);
    spec.processes_per_node = chance.upto(2) ? 0 : 1 + chance.upto(3);
    spec.whole_nodes = chance.upto(3) == 0;
    return spec;
}

/* The job's own nodes: of one that is there, or none. */
Blocks some_own(const State &state, const JobSpec &spec, Chance &chance)
{
    const Job &job =
        state.jobs.at(static_cast<JobId>(1 + chance.upto(static_cast<int>(state.last_job) - 1)));
    bool possible = spec.cores_per_process == 1 && chance.upto(1);
    return possible ? job.blocks : Blocks();
}

TEST(PlacementTest, a_space_places_as_if_it_had_looked_at_every_node)
{
    int placed = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space space(state);
        SlowSpace slow(state);
        for (int i = 0; i < 20; i++) {
            JobSpec spec = some_spec(chance);
            Blocks own = some_own(state, spec, chance);
            int room = slow.room(spec, own);
            ASSERT_EQ(space.room(spec, own), room) << "seed " << seed;
            if (room == 0)
                continue;
            int processes = 1 + chance.upto(std::min(room, 40) - 1);
            ASSERT_TRUE(space.fits(spec, processes, own)) << "seed " << seed;
            ASSERT_EQ(space.place(spec, processes, own), slow.place(spec, processes, own))
                << "seed " << seed;
            placed++;
        }
    }
    EXPECT_GT(placed, 1000);
}

struct Grown {
    JobSpec spec;
    Blocks has;
    GrowingJob nodes;
    Grown(const Space &space, const JobSpec &wish, Blocks own)
        : spec(wish), has(std::move(own)), nodes(space, spec, has)
    {
    }
};

/* Several at once, each with what it had before and what it has got. */
TEST(PlacementTest, who_grows_by_steps_gets_what_a_space_gives_for_all_that_it_has)
{
    int placed = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space space(state);
        SlowSpace slow(state);
        std::deque<Grown> jobs;
        for (int i = 0; i < 4; i++) {
            JobSpec spec = some_spec(chance);
            jobs.emplace_back(space, spec, some_own(state, spec, chance));
        }
        for (int i = 0; i < 60; i++) {
            Grown &job = jobs[static_cast<size_t>(chance.upto(3))];
            int more = chance.upto(3) ? 1 : 1 + chance.upto(20);
            int room = slow.room(job.spec, job.has);
            ASSERT_EQ(job.nodes.room(space), room) << "seed " << seed;
            ASSERT_EQ(job.nodes.room_within(space), space.room_within(job.spec, job.has));
            ASSERT_EQ(job.nodes.fits(space, more), room >= more) << "seed " << seed;
            if (room < more)
                continue;
            Blocks blocks = slow.place(job.spec, more, job.has);
            Blocks places;
            job.nodes.place(space, more, places);
            ASSERT_EQ(places, blocks) << "seed " << seed;
            job.has = append(std::move(job.has), blocks);
            placed++;
        }
    }
    EXPECT_GT(placed, 1000);
}

TEST(PlacementTest, a_space_gives_back_what_it_has_taken)
{
    Chance chance{std::mt19937_64(1)};
    State state;
    fill(state, chance);
    Space space(state);
    JobSpec spec;
    int room = space.room(spec);
    ASSERT_GT(room, 1);
    Blocks blocks = space.place(spec, room - 1);
    EXPECT_EQ(space.room(spec), 1);
    space.give(state.shares(spec, blocks));
    EXPECT_EQ(space.room(spec), room);
    EXPECT_EQ(Space(state).room(spec), room);
}

}  // namespace
}  // namespace elastic::rm
