/* The plan for Slurm's jobs, from the required and the present ones. */

#include "backend/slurm/slurm_plan.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

SlurmJob slurm_job(SlurmId id, NodeNames nodes, bool expands = false,
                   SlurmJobState state = SlurmJobState::RUNNING)
{
    SlurmJob job;
    job.id = id;
    job.state = state;
    job.nodes = std::move(nodes);
    job.tag = SlurmTag{"c", 1, 1, expands ? 1u : 0u, expands};
    return job;
}

SlurmTarget target(SlurmNodeSet keep, SlurmNodeSet acquire = {}, uint64_t request = 0)
{
    SlurmTarget target;
    target.job = target.step = 1;
    target.keep = std::move(keep);
    target.acquires = !acquire.empty();
    target.acquire = std::move(acquire);
    target.request = request;
    return target;
}

/* "allocate h1,h2 into 7; merge 8 into 7", "acquired", "taken h1" */
std::string plan(const SlurmTarget &target, const std::vector<SlurmJob> &jobs, bool merge,
                 std::set<SlurmId> no_merge = {})
{
    std::vector<const SlurmJob *> pointers;
    for (const SlurmJob &job : jobs)
        pointers.push_back(&job);
    SlurmPlan plan = plan_for(target, pointers, merge, no_merge);
    std::string text = plan.taken.empty() ? "" : "taken " + join_names(plan.taken);
    for (const SlurmOrder &order : plan.orders) {
        static const char *const NAMES[] = {"cancel", "shrink", "allocate", "merge"};
        text += (text.empty() ? "" : "; ") + std::string(NAMES[static_cast<int>(order.act)]);
        text += order.id ? " " + std::to_string(order.id) : "";
        text += order.nodes.empty() ? "" : (order.id ? " to " : " ") + join_names(order.nodes);
        text += order.expands ? " into " + std::to_string(order.expands) : "";
    }
    return text + (plan.acquired ? "acquired" : "");
}

TEST(SlurmPlanTest, a_start)
{
    EXPECT_EQ(plan(target({}, {"h1", "h2"}), {}, true), "allocate h1,h2");
    EXPECT_EQ(plan(target({}, {"h1", "h2"}), {}, false), "allocate h1; allocate h2");
    EXPECT_EQ(plan(target({}, {"h1", "h2"}), {slurm_job(7, {"h1", "h2"})}, true), "acquired");
    /* killed in between */
    EXPECT_EQ(plan(target({}, {"h1", "h2"}), {slurm_job(7, {"h1"})}, false), "allocate h2");
}

TEST(SlurmPlanTest, a_growth_is_merged_or_not)
{
    SlurmTarget grows = target({"h1"}, {"h1", "h2"}, 1);
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1"})}, true), "allocate h2 into 7");
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1"}), slurm_job(8, {"h2"}, true)}, true),
              "merge 8 into 7");
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1", "h2"})}, true), "acquired");
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1"}), slurm_job(8, {"h2"}, true)}, true, {8}),
              "acquired");
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1"})}, false), "allocate h2");
    EXPECT_EQ(plan(grows, {slurm_job(7, {"h1"}), slurm_job(8, {"h2"}, true)}, false), "acquired");
    /* within its nodes */
    EXPECT_EQ(plan(target({"h1"}, {"h1"}, 2), {slurm_job(7, {"h1"})}, true), "acquired");
}

TEST(SlurmPlanTest, a_shrink)
{
    EXPECT_EQ(plan(target({"h1"}), {slurm_job(7, {"h1", "h2"})}, true), "shrink 7 to h1");
    EXPECT_EQ(plan(target({"h2"}), {slurm_job(7, {"h1"}), slurm_job(8, {"h2"})}, false),
              "cancel 7");
    EXPECT_EQ(plan(target({"h2"}), {slurm_job(7, {"h1"}), slurm_job(8, {"h2", "h3"}, true)}, false),
              "cancel 7; shrink 8 to h2");
    EXPECT_EQ(plan(target({"h1"}), {slurm_job(7, {"h1"})}, true), "");
    EXPECT_EQ(plan(target({}), {slurm_job(7, {"h1"}), slurm_job(8, {"h2"})}, true),
              "cancel 7; cancel 8");
    EXPECT_EQ(plan(target({}), {slurm_job(7, {"h1"}, false, SlurmJobState::COMPLETING)}, true), "");
}

/* Releases come first: the core counts on them. */
TEST(SlurmPlanTest, a_shrink_before_a_growth)
{
    std::vector<SlurmJob> jobs = {slurm_job(7, {"h1", "h2"})};
    EXPECT_EQ(plan(target({"h1"}, {"h3"}, 3), jobs, true), "shrink 7 to h1");
    jobs[0].nodes = {"h1"};
    EXPECT_EQ(plan(target({"h1"}, {"h3"}, 3), jobs, true), "allocate h3 into 7");
}

TEST(SlurmPlanTest, ends_by_others_are_reported_first)
{
    EXPECT_EQ(plan(target({"h1", "h2"}, {"h3"}, 1), {slurm_job(7, {"h1"})}, false), "taken h2");
    EXPECT_EQ(plan(target({"h1"}), {slurm_job(7, {"h1"}, false, SlurmJobState::COMPLETING)}, true),
              "taken h1");
}

TEST(SlurmPlanTest, what_still_waits_for_nobody_is_cancelled)
{
    SlurmJob waits = slurm_job(8, {}, true, SlurmJobState::PENDING);
    EXPECT_EQ(plan(target({"h1"}, {"h2"}, 1), {slurm_job(7, {"h1"}), waits}, true), "cancel 8");
}

TEST(SlurmPlanTest, what_the_core_wants)
{
    Job job;
    job.id = 1;
    job.step = 2;
    job.state = JobState::STARTING;
    job.acquiring = true;
    job.blocks = {{"h1", 4}, {"h2", 1}};
    SlurmTarget start = target_of(job);
    EXPECT_TRUE(start.acquires);
    EXPECT_TRUE(start.keep.empty());
    EXPECT_EQ(start.acquire, (SlurmNodeSet{"h1", "h2"}));

    job.acquiring = false;
    job.state = JobState::ADAPTING;
    job.adaptation.emplace();
    job.adaptation->request = 5;
    job.adaptation->phase = AdaptPhase::ACQUIRING;
    job.adaptation->joining = {{"h2", 3}, {"h3", 1}};
    job.departures = {{3, 1, {{"h4", 4}}, false}, {4, 2, {{"h5", 4}, {"h1", 1}}, true}};
    SlurmTarget grows = target_of(job);
    EXPECT_EQ(grows.keep, (SlurmNodeSet{"h1", "h2", "h4"}));
    EXPECT_EQ(grows.acquire, (SlurmNodeSet{"h2", "h3"}));
    EXPECT_EQ(grows.request, 5u);
    job.adaptation->phase = AdaptPhase::ACCEPTED;
    EXPECT_EQ(target_of(job).keep, (SlurmNodeSet{"h1", "h2", "h3", "h4"}));
    EXPECT_FALSE(target_of(job).acquires);

    job.slots.emplace();
    job.slots->held = {{"h6", 1}};
    job.slots->grants = {{1, 1, {{"h7", 2}}, false}};
    EXPECT_EQ(target_of(job).keep, (SlurmNodeSet{"h1", "h2", "h3", "h4", "h6", "h7"}))
        << "where only its slots are";
    job.slots.reset();

    job.state = JobState::COMPLETING;
    job.adaptation.reset();
    EXPECT_EQ(target_of(job).keep, (SlurmNodeSet{"h1", "h2", "h4"}));
    job.releasing = true;
    EXPECT_TRUE(target_of(job).keep.empty());
}

TEST(SlurmPlanTest, a_new_request_is_polled_often)
{
    int64_t age_ms = 0;
    for (int64_t pause_ms : {1000, 1000, 2000, 4000, 8000, 16000, 30000, 30000}) {
        EXPECT_EQ(poll_pause_ms(30000, age_ms), pause_ms);
        age_ms += pause_ms;
    }
    EXPECT_EQ(poll_pause_ms(300, 0), 300);
}

}  // namespace
}  // namespace elastic::rm
