#include "core/placement.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

/* The interface of Space, computed from the nodes one by one. */
class SlowSpace {
  public:
    explicit SlowSpace(const State &state)
    {
        for (const auto &[name, node] : state.nodes)
            slots_.push_back({&node, node.free(), node.state() == NodeState::UP});
    }

    int capacity(const JobSpec &spec, const Blocks &own) const
    {
        int sum = 0;
        for (const Slot &slot : slots_)
            sum += capacity(slot, spec, processes_on(slot, own));
        return sum;
    }

    Blocks allocate(const JobSpec &spec, int processes, const Blocks &own)
    {
        struct Candidate {
            Slot *slot;
            int capacity, own;
        };
        std::vector<Candidate> candidates;
        for (Slot &slot : slots_) {
            int present = processes_on(slot, own);
            if (int here = capacity(slot, spec, present))
                candidates.push_back({&slot, here, present});
        }
        std::stable_sort(
            candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
                return std::pair(a.own > 0, a.capacity) > std::pair(b.own > 0, b.capacity);
            });
        Blocks blocks;
        for (auto next = candidates.begin(); processes > 0; ++next) {
            if (next->own == 0 && next->capacity >= processes) {
                for (auto each = next; each != candidates.end() && each->capacity >= processes;
                     ++each)
                    next = each->capacity < next->capacity ? each : next;
            }
            int here = std::min(processes, next->capacity);
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
    static int capacity(const Slot &slot, const JobSpec &spec, int own)
    {
        if (!slot.usable || spec.exclude.contains(slot.node->name))
            return 0;
        int capacity = slot.free / spec.cores_per_process;
        if (spec.whole_nodes && own > 0)
            capacity = slot.node->cores / spec.cores_per_process - own;
        else if (spec.whole_nodes && slot.free < slot.node->cores)
            capacity = 0;
        if (spec.processes_per_node > 0)
            capacity = std::min(capacity, spec.processes_per_node - own);
        return std::max(capacity, 0);
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

NodeSet some_nodes(Chance &chance, int most)
{
    std::vector<std::string> names;
    for (int i = chance.upto(most); i > 0; i--)
        names.push_back("n" + std::to_string(chance.upto(30)));
    return NodeSet(names);
}

JobSpec some_spec(Chance &chance)
{
    JobSpec spec;
    if (chance.upto(2) == 0)
        spec.exclude = some_nodes(chance, 20);
    spec.cores_per_process = chance.upto(2) ? 1 : 1 + chance.upto(3);
    spec.processes_per_node = chance.upto(2) ? 0 : 1 + chance.upto(3);
    spec.whole_nodes = chance.upto(3) == 0;
    return spec;
}

/* The job's own nodes: those of a present job, or none. */
Blocks some_own(const State &state, const JobSpec &spec, Chance &chance)
{
    const Job &job =
        state.jobs.at(static_cast<JobId>(1 + chance.upto(static_cast<int>(state.last_job) - 1)));
    bool possible = spec.cores_per_process == 1 && chance.upto(1);
    return possible ? job.blocks : Blocks();
}

TEST(PlacementTest, a_space_allocates_like_a_search_of_all_nodes)
{
    int allocated = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space space(state);
        SlowSpace slow(state);
        for (int i = 0; i < 20; i++) {
            JobSpec spec = some_spec(chance);
            Blocks own = some_own(state, spec, chance);
            int capacity = slow.capacity(spec, own);
            ASSERT_EQ(space.capacity(spec, own), capacity) << "seed " << seed;
            if (capacity == 0)
                continue;
            int processes = 1 + chance.upto(std::min(capacity, 40) - 1);
            ASSERT_TRUE(space.fits(spec, processes, own)) << "seed " << seed;
            ASSERT_EQ(space.allocate(spec, processes, own), slow.allocate(spec, processes, own))
                << "seed " << seed;
            allocated++;
        }
    }
    EXPECT_GT(allocated, 1000);
}

/* In any order of the ranks. */
std::map<std::string, int> nodes_of(const Blocks &blocks)
{
    std::map<std::string, int> on;
    for (const Block &block : blocks)
        on[block.node.str()] += block.processes;
    return on;
}

TEST(PlacementTest, each_listed_node_gets_a_process_if_all_have_capacity)
{
    int allocated = 0, without = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        Chance chance{std::mt19937_64(seed)};
        State state;
        fill(state, chance);
        Space space(state);
        JobSpec spec = some_spec(chance);
        spec.nodelist = some_nodes(chance, 4);
        spec.elasticity = static_cast<Elasticity>(chance.upto(2));
        int open = SlowSpace(state).capacity(spec, {}), listed = 0, full = 0;
        for (const NodeName &node : spec.nodelist) {
            listed++;
            full += space.capacity_within(spec, {{node, 0}}) == 0;
        }
        int capacity = space.capacity(spec);
        ASSERT_EQ(capacity, full > 0 ? 0 : open) << "seed " << seed;
        without += full > 0;
        if (listed == 0 || capacity == 0)
            continue;
        int processes = listed + chance.upto(std::min(capacity, 40) - listed);
        int64_t free = space.total();
        Blocks blocks = space.allocate(spec, processes);
        auto on = nodes_of(blocks);
        ASSERT_EQ(count_processes(blocks), processes) << "seed " << seed;
        for (const NodeName &node : spec.nodelist)
            ASSERT_GE(on[node.str()], 1) << "seed " << seed;
        for (const auto &[node, here] : on)
            ASSERT_FALSE(spec.exclude.contains(node)) << "seed " << seed;
        int64_t taken = 0;
        for (const Share &share : state.shares(spec, blocks))
            taken += share.cores;
        ASSERT_EQ(free - space.total(), taken) << "seed " << seed;
        std::set<std::string> first;
        for (int rank = 0; const Block &block : blocks) {
            if (rank < listed && spec.elasticity != Elasticity::RIGID)
                first.insert(block.node.str());
            rank += block.processes;
        }
        if (spec.elasticity != Elasticity::RIGID)
            ASSERT_EQ(first.size(), static_cast<size_t>(listed)) << "seed " << seed;
        else
            ASSERT_EQ(on.size(), blocks.size()) << "each node once, seed " << seed;
        allocated++;
    }
    EXPECT_GT(allocated, 100);
    EXPECT_GT(without, 50);
}

struct Grown {
    JobSpec spec;
    Blocks has;
    GrowingJob nodes;
    Grown(const Space &space, const JobSpec &size_request, Blocks own)
        : spec(size_request), has(std::move(own)), nodes(space, spec, has)
    {
    }
};

/* Several at once, each with its former and its new blocks. */
TEST(PlacementTest, who_grows_by_steps_gets_what_a_space_gives_for_all_that_it_has)
{
    int allocated = 0;
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
            int capacity = slow.capacity(job.spec, job.has);
            ASSERT_EQ(job.nodes.capacity(space), capacity) << "seed " << seed;
            ASSERT_EQ(job.nodes.capacity_within(space), space.capacity_within(job.spec, job.has));
            ASSERT_EQ(job.nodes.fits(space, more), capacity >= more) << "seed " << seed;
            if (capacity < more)
                continue;
            Blocks blocks = slow.allocate(job.spec, more, job.has);
            Blocks target;
            job.nodes.allocate(space, more, target);
            ASSERT_EQ(target, blocks) << "seed " << seed;
            job.has = append(std::move(job.has), blocks);
            allocated++;
        }
    }
    EXPECT_GT(allocated, 1000);
}

TEST(PlacementTest, a_space_gives_back_what_it_has_taken)
{
    Chance chance{std::mt19937_64(1)};
    State state;
    fill(state, chance);
    Space space(state);
    JobSpec spec;
    int capacity = space.capacity(spec);
    ASSERT_GT(capacity, 1);
    Blocks blocks = space.allocate(spec, capacity - 1);
    EXPECT_EQ(space.capacity(spec), 1);
    space.give(state.shares(spec, blocks));
    EXPECT_EQ(space.capacity(spec), capacity);
    EXPECT_EQ(Space(state).capacity(spec), capacity);
}

TEST(PlacementTest, the_node_that_fits_best_then_as_few_as_possible)
{
    CoreDriver driver(PolicyKind::FCFS, 3, 8);
    driver.submit(rigid(5));
    driver.submit(rigid(6));
    Space space(driver.core.state());           /* free: 3, 2, 8 */
    EXPECT_EQ(Space(space).allocate(rigid(2), 2), (Blocks{{"n1", 2}}));
    EXPECT_EQ(Space(space).allocate(rigid(4), 4), (Blocks{{"n2", 4}}));
    EXPECT_EQ(Space(space).allocate(rigid(10), 10), (Blocks{{"n2", 8}, {"n1", 2}}));
    EXPECT_FALSE(space.fits(rigid(14), 14));
    EXPECT_EQ(space.allocate(rigid(4), 4, {{"n0", 5}}), (Blocks{{"n0", 3}, {"n1", 1}}));
}

TEST(PlacementTest, whole_nodes_and_limits_per_node)
{
    CoreDriver driver(PolicyKind::FCFS, 3, 4);
    driver.submit(rigid(1));
    JobSpec whole = rigid(5);
    whole.whole_nodes = true;
    JobId id = driver.submit(whole);
    EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n1", 4}, {"n2", 1}}));
    EXPECT_EQ(driver.node("n2").used, 4);
    EXPECT_EQ(driver.core.state().indices().free_cores, 3);
    JobSpec spread = rigid(3);
    spread.processes_per_node = 1;
    JobId other = driver.submit(spread);
    driver.end(id);
    EXPECT_EQ(driver.job(other).blocks.size(), 3u);
    JobSpec wide = rigid(2);
    wide.cores_per_process = 3;
    EXPECT_EQ(driver.core.state().capacity_when_empty(shape_of(wide), true), 3);
}

TEST(PlacementTest, who_leaves_and_who_stays)
{
    Blocks blocks{{"a", 2}, {"b", 3}, {"a", 1}};
    Blocks left;
    EXPECT_EQ(without(blocks, {1, 2, 3, 4}, &left), (Blocks{{"a", 2}}));
    EXPECT_EQ(left, (Blocks{{"a", 1}, {"b", 3}}));
    EXPECT_EQ(without(blocks, {}), blocks);
    EXPECT_EQ(without(blocks, {0, 1, 2, 3, 4, 5}), Blocks());
    EXPECT_EQ(append(blocks, {{"a", 2}, {"c", 1}}),
              (Blocks{{"a", 2}, {"b", 3}, {"a", 3}, {"c", 1}}));
    State state;
    for (const char *name : {"a", "b"}) {
        state.nodes[name].name = name;
        state.index(state.nodes[name]);
    }
    EXPECT_EQ(choose_leaving(state, blocks, 2), (std::vector<int>{4, 5}));
    EXPECT_EQ(choose_leaving(state, blocks, 9), (std::vector<int>{0, 1, 2, 3, 4, 5}));
    state.unindex(state.nodes["b"]);
    state.nodes["b"].draining = true;
    state.index(state.nodes["b"]);
    EXPECT_EQ(choose_leaving(state, blocks, 2), (std::vector<int>{3, 4}));
    EXPECT_EQ(choose_leaving(state, blocks, 4), (std::vector<int>{2, 3, 4, 5}));
}

TEST(PlacementTest, leaving_ranks_that_are_and_are_not_consecutive)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Chance chance{std::mt19937_64(seed)};
        Blocks blocks;
        std::vector<std::string> of_rank;
        for (int i = 0; i < 6; i++) {
            Block block{"n" + std::to_string(chance.upto(4)), 1 + chance.upto(5)};
            append(blocks, block);
            of_rank.insert(of_rank.end(), static_cast<size_t>(block.processes), block.node.str());
        }
        int ranks = static_cast<int>(of_rank.size()), first = chance.upto(ranks - 1);
        bool consecutive = chance.upto(1);
        std::vector<int> leave;
        Blocks staying, leaving, left;
        for (int rank = 0; rank < ranks; rank++) {
            bool leaves = consecutive ? rank >= first && rank < first + 7 : chance.upto(2) == 0;
            if (leaves)
                leave.push_back(rank);
            append(leaves ? leaving : staying, {of_rank[static_cast<size_t>(rank)], 1});
        }
        ASSERT_EQ(without(blocks, leave, &left), staying) << "seed " << seed;
        ASSERT_EQ(left, leaving) << "seed " << seed;
    }
}

TEST(PlacementTest, blocks_of_a_node_are_put_together)
{
    EXPECT_EQ(gathered({}), Blocks());
    EXPECT_EQ(gathered({{"g1", 2}, {"g2", 3}}), (Blocks{{"g1", 2}, {"g2", 3}}));
    EXPECT_EQ(gathered({{"g2", 2}, {"g1", 3}, {"g2", 4}}), (Blocks{{"g2", 6}, {"g1", 3}}));
    EXPECT_EQ(gathered({{"g1", 2}, {"g1", 3}}), (Blocks{{"g1", 5}}));
}

TEST(PositionSetTest, finds_what_has_been_inserted_and_not_erased)
{
    constexpr uint32_t END = 1000;
    Chance chance{std::mt19937_64(1)};
    PositionSet set;
    std::set<uint32_t> expected;
    for (int i = 0; i < 20000; i++) {
        /* nearly full, then nearly empty */
        bool fills = i / 2000 % 2 == 0;
        auto position = static_cast<uint32_t>(chance.upto(END - 1));
        if (expected.contains(position) && (!fills || chance.upto(3) == 0)) {
            expected.erase(position);
            set.erase(position);
        } else if (!expected.contains(position) && (fills || chance.upto(9) == 0)) {
            expected.insert(position);
            set.insert(position, END);
        }
        auto from = static_cast<uint32_t>(chance.upto(END - 1));
        auto next = expected.lower_bound(from);
        ASSERT_EQ(set.next(from), next == expected.end() ? PositionSet::NONE : *next);
        ASSERT_EQ(set.next(0), expected.empty() ? PositionSet::NONE : *expected.begin());
        ASSERT_EQ(set.size(), static_cast<int>(expected.size()));
    }
}

TEST(PlacementTest, names_are_in_natural_order)
{
    NaturalLess less;
    EXPECT_TRUE(less("n2", "n10"));
    EXPECT_FALSE(less("n10", "n2"));
    EXPECT_TRUE(less("n9", "n09") != less("n09", "n9"));
    EXPECT_FALSE(less("n1", "n1"));
    EXPECT_TRUE(less("a", "ab") && less("a1b2", "a1b10") && less("a", "b"));
}

}  // namespace
}  // namespace elastic::rm
