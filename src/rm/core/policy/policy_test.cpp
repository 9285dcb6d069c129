/* The jobs that start, grow and shrink, and their nodes. */

#include "core/policy/policy_fill.h"

#include "core/core_driver.h"
#include "core/placement.h"
#include "core/record.h"
#include "sim/simulated_cluster.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE = 60000;

JobState state_of(const CoreDriver &driver, JobId id)
{
    return driver.job(id).state;
}

/* ---- placement ------------------------------------------------------------ */

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
    state.nodes["b"].draining = true;
    EXPECT_EQ(choose_leaving(state, blocks, 2), (std::vector<int>{3, 4}));
    EXPECT_EQ(choose_leaving(state, blocks, 4), (std::vector<int>{2, 3, 4, 5}));
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

/* ---- first come first served ------------------------------------------------------------ */

TEST(FcfsTest, the_first_that_does_not_fit_holds_up_the_others)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId runs = driver.submit(rigid(3, MINUTE)), big = driver.submit(rigid(4));
    JobId small = driver.submit(rigid(1, MINUTE));
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, big), JobState::STARTING);
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
}

TEST(FcfsTest, priority_goes_first_and_waiting_makes_up_for_it)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId runs = driver.submit(rigid(4)), first = driver.submit(rigid(4));
    driver.wait(MINUTE);
    JobSpec urgent = rigid(4);
    urgent.priority = 2;        /* two minutes' worth */
    JobId second = driver.submit(urgent);
    driver.wait(2 * MINUTE);
    JobId third = driver.submit(urgent);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, second), JobState::STARTING);
    driver.end(second);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
    EXPECT_EQ(state_of(driver, third), JobState::PENDING);
}

/* ---- EASY backfilling ------------------------------------------------------------ */

TEST(EasyTest, short_jobs_are_backfilled_and_long_ones_fit_beside)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    JobId runs = driver.submit(rigid(5, 10 * MINUTE));          /* 3 cores are free */
    driver.run(runs);
    JobId first = driver.submit(rigid(7, MINUTE));      /* in 10 minutes, beside 1 core */
    JobId too_long = driver.submit(rigid(2, 11 * MINUTE));
    JobId short_one = driver.submit(rigid(1, 9 * MINUTE));
    JobId beside = driver.submit(rigid(1));
    JobId none_left = driver.submit(rigid(1));
    EXPECT_EQ(state_of(driver, too_long), JobState::PENDING);
    EXPECT_EQ(state_of(driver, short_one), JobState::STARTING);
    EXPECT_EQ(state_of(driver, beside), JobState::STARTING);
    EXPECT_EQ(state_of(driver, none_left), JobState::PENDING);
    driver.end(short_one);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

TEST(EasyTest, without_limits_only_jobs_with_a_limit_are_backfilled)
{
    CoreDriver driver(PolicyKind::EASY, 1, 4);
    JobId runs = driver.submit(rigid(2)), first = driver.submit(rigid(4));
    JobId endless = driver.submit(rigid(1)), limited = driver.submit(rigid(1, 100 * MINUTE));
    EXPECT_EQ(state_of(driver, endless), JobState::PENDING);
    EXPECT_EQ(state_of(driver, limited), JobState::STARTING);
    driver.end(runs);
    JobId later = driver.submit(rigid(3, 200 * MINUTE));
    EXPECT_EQ(state_of(driver, later), JobState::PENDING);      /* would delay the first */
    driver.end(limited);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

TEST(EasyTest, who_cannot_run_at_present_holds_up_nobody)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    driver.send(Drain{"d", "n1", ""});
    JobId big = driver.submit(rigid(8)), small = driver.submit(rigid(4));
    EXPECT_EQ(state_of(driver, big), JobState::PENDING);
    EXPECT_EQ(state_of(driver, small), JobState::STARTING);
}

/* ---- filling ------------------------------------------------------------ */

TEST(FillTest, a_job_alone_takes_the_machine_and_gives_way)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId first = driver.submit(malleable(2, 8));
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.run(first);
    JobId second = driver.submit(malleable(2, 8));
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);      /* half of the machine each */
    driver.commit(first, false);
    EXPECT_EQ(state_of(driver, second), JobState::PENDING);     /* the cores are not free yet */
    driver.send(StepFreed{first, 1, 1});
    EXPECT_EQ(driver.job(second).size(), 4);
    driver.run(second);
    driver.wait(driver.core.state().config.offer_pause_ms);
    driver.end(second);
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
    driver.commit(first);
    EXPECT_EQ(driver.job(first).size(), 8);
}

TEST(FillTest, one_change_serves_all_that_wait)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId first = driver.submit(malleable(1, 8));
    driver.send(StepStarted{{first, 1}});
    JobId a = driver.submit(rigid(2)), b = driver.submit(rigid(2));     /* it is not adaptive yet */
    EXPECT_EQ(driver.job(first).state, JobState::RUNNING);
    driver.send(StepAdaptive{{first, 1}});
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, a), JobState::STARTING);
    EXPECT_EQ(state_of(driver, b), JobState::STARTING);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

/* It can have no more than its share, so that it has nothing to give before others are below
 * theirs. */
TEST(FillTest, who_can_only_be_smaller_than_the_share_keeps_what_it_has)
{
    CoreDriver driver(PolicyKind::FILL, 1, 16);
    JobId small = driver.submit(malleable(1, 4));
    driver.run(small);
    driver.submit(rigid(10));
    /* 2 cores are free, and a third of the machine is 5 */
    driver.submit(malleable(3, 8));
    ASSERT_TRUE(driver.job(small).adaptation);
    EXPECT_EQ(driver.job(small).adaptation->size, 3)
        << "1 makes it start; 3 would make its share full";
}

/* Cores are worth so much to each user. */
class GainOfUser : public Gain {
  public:
    explicit GainOfUser(std::map<uint32_t, double> gains) : gains_(std::move(gains)) {}
    double gain(const State &, const Job &job, int from, int to) const override
    {
        EXPECT_EQ(size_at_most(job.spec, from), from);
        EXPECT_EQ(size_at_most(job.spec, to), to);
        return gains_.at(job.spec.uid) / std::max(from, to);
    }

  private:
    std::map<uint32_t, double> gains_;
};

JobSpec of_user(uint32_t uid, JobSpec spec)
{
    spec.uid = uid;
    return spec;
}

/* Sizes of the changes, by job. */
std::map<JobId, int> changes_of(const Gain &gain, const State &state)
{
    std::map<JobId, int> sizes;
    for (const Change &change : Fill(gain).decide(state).changes)
        sizes[change.job] = change.size;
    return sizes;
}

TEST(GainTest, idle_cores_go_where_they_are_worth_most)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 12);         /* which leaves them idle */
    for (uint32_t uid : {1, 2}) {
        JobSpec spec = of_user(uid, malleable(1, 12));
        spec.preferred = 1;
        driver.run(driver.submit(spec));
    }
    const State &state = driver.core.state();
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 6}, {2, 6}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 1}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 6}, {2, 6}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 1}, {2, 100}}), state), (std::map<JobId, int>{{2, 11}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 2}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 8}, {2, 4}}));
}

TEST(GainTest, cores_are_taken_where_they_are_worth_least)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 12);
    driver.run(driver.submit(of_user(1, malleable(1, 8))));
    driver.run(driver.submit(of_user(2, malleable(1, 4))));
    driver.submit(rigid(3));
    const State &state = driver.core.state();
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 5}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 100}, {2, 1}}), state), (std::map<JobId, int>{{1, 5}}))
        << "the other one has no more than its share";
    driver.submit(rigid(1));
    driver.submit(rigid(1));                    /* whose share is now 2 */
    EXPECT_EQ(changes_of(GainOfUser({{1, 100}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 5}, {2, 2}}));
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 3}}));
}

TEST(FillTest, what_is_freed_for_one_is_not_taken_by_another)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(malleable(2, 6));
    driver.run(first);
    JobId big = driver.submit(rigid(5));        /* 2 are free: 3 must come */
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 3);
    JobId small = driver.submit(rigid(2));      /* fits now, and would delay it */
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, big), JobState::STARTING);
}

TEST(FillTest, jobs_that_start_count_in_the_reservation)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId all = driver.submit(rigid(8));
    driver.run(all);
    JobId starts = driver.submit(rigid(4, 10 * MINUTE)), first = driver.submit(rigid(8, MINUTE));
    JobId too_long = driver.submit(rigid(2, 60 * MINUTE)),
          short_one = driver.submit(rigid(2, 9 * MINUTE));
    driver.end(all);
    EXPECT_EQ(state_of(driver, starts), JobState::STARTING);
    EXPECT_EQ(state_of(driver, first), JobState::PENDING);
    /* the first is promised a start in 10 minutes */
    EXPECT_EQ(state_of(driver, too_long), JobState::PENDING);
    EXPECT_EQ(state_of(driver, short_one), JobState::STARTING);
}

/* Others can use a malleable job's cores that are reserved for the first job until then. */
TEST(FillTest, malleable_jobs_give_cores_to_a_backfilled_job_that_ends_in_time)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId grown = driver.submit(malleable(2, 8, 60 * MINUTE));
    driver.run(grown);
    EXPECT_EQ(driver.job(grown).size(), 8);
    JobId first = driver.submit(rigid(8, MINUTE));      /* promised in 60 minutes */
    JobId too_long = driver.submit(rigid(4, 61 * MINUTE));
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId endless = driver.submit(rigid(4));
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId in_time = driver.submit(rigid(4, 59 * MINUTE));
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);
    JobId another = driver.submit(rigid(4, 59 * MINUTE));       /* 2 stay */
    driver.commit(grown);
    EXPECT_FALSE(driver.last<ResizeStep>());
    EXPECT_EQ(state_of(driver, in_time), JobState::STARTING);
    driver.run(in_time);
    for (JobId id : {first, too_long, endless, another})
        EXPECT_EQ(state_of(driver, id), JobState::PENDING) << id;
    driver.send(Cancel{{"c", another}});
    driver.end(grown);
    driver.end(in_time);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

/* A job whose step has not reported yet whether it adapts was assumed to adapt. */
TEST(FillTest, who_turns_out_to_be_rigid_is_promised_to_nobody)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId malleable_one = driver.submit(malleable(2, 7, 60 * MINUTE));
    driver.send(StepStarted{{malleable_one, 1}});
    JobId first = driver.submit(rigid(6, MINUTE));      /* as soon as the other one gives 5 */
    JobId in_time = driver.submit(rigid(1, 30 * MINUTE));
    EXPECT_EQ(state_of(driver, in_time), JobState::PENDING);
    driver.send(StepRigid{{malleable_one, 1}});
    EXPECT_EQ(state_of(driver, in_time), JobState::STARTING);
    EXPECT_EQ(state_of(driver, first), JobState::PENDING);
}

/* It would end too late by the time when the cores are free: nobody is delayed. */
TEST(FillTest, a_job_that_gets_cores_too_late_is_not_backfilled)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId grown = driver.submit(malleable(2, 8, 60 * MINUTE));
    driver.run(grown);
    driver.submit(rigid(8, MINUTE));
    JobId in_time = driver.submit(rigid(4, 60 * MINUTE));
    ASSERT_TRUE(driver.last<ResizeStep>());
    driver.now_ms += 1;
    driver.commit(grown);
    EXPECT_EQ(state_of(driver, in_time), JobState::PENDING);
}

TEST(FillTest, never_below_the_minimum_and_only_allowed_sizes)
{
    CoreDriver driver(PolicyKind::FILL, 4, 4);
    JobSpec powers = malleable(3, 16);
    powers.size_rule = SizeRule::POWER_OF_TWO;
    JobId first = driver.submit(powers);
    EXPECT_EQ(driver.job(first).size(), 16);
    driver.run(first);
    JobId big = driver.submit(rigid(13));       /* would need a size below 4 */
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId small = driver.submit(rigid(1));
    EXPECT_FALSE(driver.last<ResizeStep>());    /* the big one is first; this may run for ever */
    driver.send(Cancel{{"c", big}});
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, small), JobState::STARTING);
}

TEST(FillTest, who_refuses_is_left_alone_for_longer_and_longer)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    JobId first = driver.submit(malleable(1, 4));
    driver.run(first);
    driver.submit(rigid(1));
    int64_t pause_ms = driver.core.state().config.refusal_pause_ms;
    for (int i = 0; i < 3; i++) {
        uint64_t request = driver.job(first).requests;
        ASSERT_EQ(driver.job(first).state, JobState::ADAPTING);
        driver.send(StepRefused{{first, 1, request, "busy"}});
        EXPECT_EQ(driver.job(first).state, JobState::RUNNING);
        driver.wait((pause_ms << i) - 1);
        EXPECT_EQ(driver.job(first).requests, request);
        driver.wait(1);
        EXPECT_EQ(driver.job(first).requests, request + 1);
    }
}

TEST(FillTest, a_user_s_size_stays_while_nobody_waits)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(malleable(1, 8));
    driver.run(first);
    driver.send(Resize{"r", first, 3});
    driver.commit(first);
    driver.wait(100 * MINUTE);
    EXPECT_EQ(driver.job(first).size(), 3);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

TEST(FillTest, malleable_jobs_leave_a_draining_node)
{
    CoreDriver driver(PolicyKind::FILL, 3, 4);
    JobId fixed = driver.submit(rigid(4));
    JobId moves = driver.submit(malleable(2, 6));
    driver.run(fixed);
    driver.run(moves);
    ASSERT_EQ(driver.job(moves).blocks, (Blocks{{"n1", 4}, {"n2", 2}}));
    driver.send(Drain{"d", "n1", ""});
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->leave, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(resize->joining, (Blocks{{"n2", 2}}));
    driver.commit(moves);
    EXPECT_EQ(driver.node("n1").used, 0);
    EXPECT_EQ(driver.job(moves).size(), 4);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(moves).requests, 1u);
}

/* Without arrivals and ends, everything comes to rest. */
TEST(FillTest, no_oscillation)
{
    for (int wanted : {1, 3, 6, 10}) {
        CoreDriver driver(PolicyKind::FILL, 3, 4);
        std::vector<JobId> jobs;
        for (int i = 0; i < 4; i++)
            jobs.push_back(driver.submit(malleable(1, 12)));
        driver.submit(rigid(wanted));
        uint64_t changes = 0, at_rest = 0;
        for (int i = 0; i < 200; i++) {
            driver.wait(1000);
            const Jobs &all = driver.core.state().jobs;
            for (const auto &[id, job] : std::map<JobId, Job>(all.begin(), all.end())) {
                if (job.state == JobState::STARTING)
                    driver.run(id);
                if (driver.job(id).state == JobState::ADAPTING) {
                    driver.commit(id);
                    changes++;
                    at_rest = 0;
                }
            }
            at_rest++;
        }
        EXPECT_LE(changes, 12u);
        EXPECT_GT(at_rest, 150u);
    }
}

/* ---- whole nodes, and others who want them --------------------------------------------------- */

Config whole_nodes()
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.whole_nodes = true;
    return config;
}

class WholeNodesTest : public testing::Test {
  protected:
    WholeNodesTest() : driver(whole_nodes())
    {
        for (const char *node : {"n0", "n1", "n2", "n3"})
            driver.send(NodeUp{node, 4});
    }
    /* The size that the last action sets; 0: none. */
    int resized() const { return driver.last<ResizeStep>() ? driver.last<ResizeStep>()->size : 0; }
    CoreDriver driver;
};

TEST_F(WholeNodesTest, every_job_fills_the_nodes_that_it_has)
{
    driver.submit(rigid(13));
    EXPECT_EQ(driver.core.state().indices().free_cores, 0);
    JobId waiting = driver.submit(malleable(1, 3));
    driver.end(1);
    EXPECT_EQ(driver.job(waiting).size(), 3);
    JobId grown = driver.submit(malleable(1, 6));
    EXPECT_EQ(driver.job(grown).size(), 6);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
}

TEST_F(WholeNodesTest, R5_a_job_grows_by_whole_nodes)
{
    JobId first = driver.submit(malleable(1, 16)), second = driver.submit(malleable(1, 15));
    driver.run(first);
    driver.commit(first);
    driver.run(second);
    ASSERT_EQ(driver.job(first).size(), 8);
    ASSERT_EQ(driver.job(second).size(), 8);
    driver.wait(MINUTE);
    driver.send(NodeUp{"n4", 4});
    EXPECT_EQ(resized(), 12) << "in one change";
    driver.commit(first);
    driver.end(first);
    driver.wait(MINUTE);
    EXPECT_EQ(resized(), 15) << "the most that it can have";
}

TEST_F(WholeNodesTest, a_shrink_gives_nodes_and_keeps_the_others_full)
{
    JobId first = driver.submit(malleable(1, 16));
    driver.run(first);
    ASSERT_EQ(driver.job(first).size(), 16);
    JobId second = driver.submit(rigid(1));
    EXPECT_EQ(resized(), 12);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, second), JobState::STARTING);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

TEST_F(WholeNodesTest, a_user_s_shrink_is_undone_within_the_nodes_only_when_it_was_not_wished)
{
    JobSpec spec = malleable(1, 4);
    JobId job = driver.submit(spec);
    driver.run(job);
    driver.send(Resize{"r", job, 2});
    driver.commit(job);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(job).size(), 2);
    EXPECT_EQ(driver.job(job).requests, 1u);
}

TEST_F(WholeNodesTest, jobs_give_way_to_others_and_come_back)
{
    JobId first = driver.submit(malleable(2, 16));
    driver.run(first);
    driver.send(NodesWanted{2, "Slurm job 7 of bob"});
    ASSERT_EQ(resized(), 8);
    EXPECT_EQ(driver.last<ResizeStep>()->reason, "nodes for Slurm job 7 of bob");
    driver.commit(first);
    driver.wait(10 * MINUTE);           /* what idles is left to them */
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.send(NodeSuspect{"n2", "in use"});
    driver.send(NodeSuspect{"n3", "in use"});
    EXPECT_EQ(driver.core.state().wanted_nodes, 0);     /* what they have taken they want no more */
    driver.send(NodesWanted{0, ""});
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.send(NodeUp{"n2", 4});
    EXPECT_EQ(resized(), 12);
    driver.commit(first);
    driver.send(NodeUp{"n3", 4});
    driver.wait(driver.core.state().config.offer_pause_ms);
    EXPECT_EQ(resized(), 16);
}

TEST_F(WholeNodesTest, jobs_of_others_precede_our_own_queue)
{
    JobId first = driver.submit(malleable(4, 16));
    driver.run(first);
    driver.send(NodesWanted{1, "others"});
    EXPECT_EQ(resized(), 12);
    JobId waiting = driver.submit(rigid(4));
    driver.commit(first);               /* one node for them, the next one for ours */
    EXPECT_EQ(state_of(driver, waiting), JobState::PENDING);
    ASSERT_TRUE(driver.job(first).adaptation);
    EXPECT_EQ(driver.job(first).adaptation->size, 8);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, waiting), JobState::STARTING);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
}

TEST_F(WholeNodesTest, nobody_grows_into_more_nodes_while_others_wait)
{
    driver.send(NodeSuspect{"n3", "in use"});
    JobId first = driver.submit(malleable(1, 16));
    driver.run(first);
    ASSERT_EQ(driver.job(first).size(), 12);
    driver.send(NodesWanted{1, "others"});
    driver.commit(first);
    ASSERT_EQ(driver.job(first).size(), 8);
    driver.send(NodeUp{"n3", 4});       /* one is theirs, and the other is not for growing */
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).requests, 1u);
    JobId starts = driver.submit(rigid(1));
    EXPECT_EQ(state_of(driver, starts), JobState::STARTING);
    driver.send(NodesWanted{0, ""});
    EXPECT_EQ(resized(), 12);
}

TEST_F(WholeNodesTest, nobody_goes_below_the_minimum_or_gives_way_in_vain)
{
    JobId first = driver.submit(malleable(8, 16));
    driver.run(first);
    driver.send(NodesWanted{3, "others"});
    EXPECT_EQ(resized(), 0);
    driver.wait(10 * MINUTE);
    EXPECT_EQ(driver.job(first).size(), 16);
    driver.send(NodesWanted{2, "others"});
    EXPECT_EQ(resized(), 8);
}

/* The request comes and goes, again and again, at the worst moments: each gives at most two
 * changes. */
TEST_F(WholeNodesTest, giving_way_does_not_oscillate)
{
    JobId first = driver.submit(malleable(1, 16)), second = driver.submit(malleable(1, 16));
    uint64_t slot_requests = 0;
    for (int i = 0; i < 400; i++) {
        for (JobId id : {first, second}) {
            if (driver.job(id).state == JobState::STARTING)
                driver.run(id);
            if (driver.job(id).state == JobState::ADAPTING && i % 3 == 0)
                driver.commit(id);
        }
        if (i % 40 == 0) {
            slot_requests++;
            driver.send(NodesWanted{1 + i / 40 % 2, "others"});
        }
        if (i % 40 == 20)
            driver.send(NodesWanted{0, ""});
        driver.wait(1000);
    }
    /* Each request: one change of each to give, one to take back. */
    EXPECT_LE(driver.job(first).requests + driver.job(second).requests, 4 * slot_requests + 3);
    EXPECT_GE(driver.job(first).requests + driver.job(second).requests, slot_requests);
}

/* ---- what it is for ------------------------------------------------------------ */

/* Elastic and rigid jobs in turn, more than fit at a time. */
std::vector<MixJob> mix()
{
    std::vector<MixJob> jobs;
    for (int i = 0; i < 30; i++) {
        MixJob job;
        job.submit_ms = i * 4000;
        if (i % 3 == 2) {
            job.spec = rigid(6, 10 * MINUTE);
            job.work_ms = 120000;
        } else {
            job.spec = malleable(2, 16, 30 * MINUTE);
            job.spec.preferred = 10;
            job.work_ms = 300000;
        }
        job.serial_permille = 20;
        jobs.push_back(job);
    }
    return jobs;
}

TEST(MixTest, filling_beats_rigid_easy_on_an_elastic_mix)
{
    RunMetrics rigid_easy = simulate_mix(mix(), 4, 4, PolicyKind::EASY, true);
    RunMetrics elastic = simulate_mix(mix(), 4, 4, PolicyKind::FILL, false);
    printf("rigid, easy: %s\nelastic, fill: %s\n", write(rigid_easy).dump().c_str(),
           write(elastic).dump().c_str());
    EXPECT_EQ(rigid_easy.done, 30);
    EXPECT_EQ(elastic.done, 30);
    EXPECT_EQ(rigid_easy.adaptations, 0);
    EXPECT_GT(elastic.adaptations, 10);
    EXPECT_LT(elastic.makespan_ms, rigid_easy.makespan_ms);
    EXPECT_LT(elastic.mean_wait_ms, rigid_easy.mean_wait_ms);
    EXPECT_GT(elastic.utilisation, rigid_easy.utilisation);
}

/* A job that needs the whole machine, in a stream of small ones that would keep it busy for ever.
 * */
TEST(MixTest, nobody_starves)
{
    constexpr int64_t SMALL_MS = 40000;
    for (PolicyKind policy : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL}) {
        for (int64_t limit_ms : {int64_t{0}, MINUTE}) {
            for (bool elastic : {false, true}) {
                ClusterOptions options;
                options.config.policy = policy;
                options.nodes = 2;
                options.check = false;
                for (int i = 0; i < 300; i++) {
                    MixJob job;
                    job.submit_ms = i * 2000;
                    job.spec = elastic ? malleable(2, 4, limit_ms) : rigid(2, limit_ms);
                    job.work_ms = 2 * SMALL_MS;
                    options.jobs.push_back(job);
                }
                options.jobs[10].spec = rigid(8, MINUTE);
                SimulatedCluster cluster(options);
                cluster.run();
                EXPECT_TRUE(cluster.broken().empty()) << cluster.broken().front();
                const Job *whole = cluster.core().state().job(11);
                ASSERT_TRUE(whole);
                ASSERT_EQ(whole->spec.minimum, 8);
                /* The jobs before it, the running ones, and those that passed it: each at most
                 * once. */
                EXPECT_LT(whole->started_ms - whole->submitted_ms, 5 * SMALL_MS)
                    << to_string(policy) << " " << limit_ms << " " << elastic;
            }
        }
    }
}

TEST(MixTest, metrics_are_those_of_the_run)
{
    std::vector<MixJob> two(2);
    for (MixJob &job : two) {
        job.spec = rigid(4);
        job.work_ms = 40000;    /* 10 s on four */
    }
    RunMetrics metrics = simulate_mix(two, 1, 4, PolicyKind::FCFS, false);
    EXPECT_EQ(metrics.done, 2);
    EXPECT_NEAR(static_cast<double>(metrics.makespan_ms), 20000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.mean_wait_ms), 5000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.p95_wait_ms), 10000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.mean_turnaround_ms), 15000, 10);
    EXPECT_NEAR(metrics.utilisation, 1, 0.001);
    two[1].spec = rigid(2);
    two[1].work_ms = 20000;
    EXPECT_NEAR(simulate_mix(two, 1, 4, PolicyKind::FCFS, false).utilisation, 0.75, 0.001);
}

/* SPEC-performance X1, X3: a change shows for whom it is made. */
TEST(FillTest, a_donor_records_the_recipient)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId gives = driver.submit(malleable(1, 8));
    driver.run(gives);
    JobId waits = driver.submit(rigid(4));
    const Record *requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->job, gives);
    EXPECT_EQ(requested->data.at("reason"), "cores for job " + std::to_string(waits));
    EXPECT_EQ(requested->data.at("why").at("rule"), "make_room");
    EXPECT_EQ(requested->data.at("why").at("for"), Json::array({waits}));
    driver.commit(gives);
    EXPECT_EQ(driver.job(gives).last_change->reason, "cores for job " + std::to_string(waits));
}

}  // namespace
}  // namespace elastic::rm
