/* Sizes under the strategies of another study. */

#include "sim/traces/study_policies.h"

#include <gtest/gtest.h>

#include "sim/traces/trace_replay.h"

namespace elastic::rm {
namespace {

struct StudyJob {
    int64_t submit_s, run_s;
    int size;
    bool malleable = true;
};

/* On one node; malleable jobs may have a quarter to four times of their sizes. */
Outcome study(const std::string &policy, int cores, const std::vector<StudyJob> &jobs)
{
    Trace trace;
    for (const StudyJob &job : jobs)
        trace.jobs.push_back({0, job.submit_s, job.run_s, 0, job.size, 1});
    WorkloadOptions slot_requests;
    slot_requests.machine = {{{1, cores}}};
    slot_requests.malleable = 1;
    slot_requests.prefer_trace_size = true;
    Workload workload = make_workload(trace, slot_requests);
    for (size_t i = 0; i < jobs.size(); i++) {
        JobSpec &spec = workload.jobs[i].spec;
        if (!jobs[i].malleable) {
            spec.elasticity = Elasticity::RIGID;
            spec.minimum = spec.maximum = jobs[i].size;
        }
    }
    ReplayOptions options;
    options.machine = slot_requests.machine;
    options.cost.launch_ms = 0;
    options.keep_sizes = true;
    options.policy = study_policy(policy);
    return replay(workload, options);
}

/* All sizes of the job, in order. */
std::vector<int> sizes_of(const Outcome &outcome, size_t job)
{
    std::vector<int> sizes;
    for (const SizeChange &each : outcome.sizes) {
        if (each.job == job && each.size > 0)
            sizes.push_back(each.size);
    }
    return sizes;
}

TEST(StudyPoliciesTest, alone_a_job_keeps_its_preferred_size_or_grows_beyond_it)
{
    EXPECT_EQ(sizes_of(study("keep-pref", 16, {{0, 40, 4}}), 0), std::vector<int>{4});
    EXPECT_EQ(sizes_of(study("pref", 16, {{0, 40, 4}}), 0), std::vector<int>{16});
}

TEST(StudyPoliciesTest, it_starts_with_its_preferred_size_while_others_get_what_is_left)
{
    auto outcome = study("keep-pref", 12, {{0, 400, 8}, {0, 400, 8}});
    EXPECT_EQ(outcome.jobs[0].first_size, 8);
    EXPECT_EQ(outcome.jobs[1].first_size, 4);
}

TEST(StudyPoliciesTest, it_gives_to_who_waits_and_gets_its_preferred_size_back)
{
    auto outcome = study("keep-pref", 8, {{0, 1000, 8}, {100, 50, 4, false}});
    EXPECT_LT(outcome.jobs[1].start_ms, 101000);
    EXPECT_EQ(sizes_of(outcome, 0), (std::vector<int>{8, 4, 8}));
}

TEST(StudyPoliciesTest, beyond_its_preferred_size_it_has_only_what_nobody_can_use)
{
    auto outcome = study("pref", 8, {{0, 1000, 4}, {100, 50, 4, false}});
    EXPECT_LT(outcome.jobs[1].start_ms, 101000);
    EXPECT_EQ(sizes_of(outcome, 0), (std::vector<int>{8, 4, 8}));
}

/* Published as Min-Common-Pool, Pref-Common-Pool and Average-Steal-Agreement. */
TEST(StudyPoliciesTest, jobs_start_with_the_least_or_the_preferred_size)
{
    const std::vector<StudyJob> jobs = {{0, 100, 12, false}, {1, 400, 8}, {1, 400, 8}};
    for (const char *least : {"min-common-pool", "average-steal-agreement"}) {
        auto outcome = study(least, 12, jobs);
        EXPECT_EQ(outcome.jobs[1].first_size, 6) << least << ": both start, and share what idles";
        EXPECT_EQ(outcome.jobs[2].first_size, 6) << least;
    }
    auto outcome = study("pref-common-pool", 12, jobs);
    EXPECT_EQ(outcome.jobs[1].first_size, 8);
    EXPECT_EQ(outcome.jobs[2].first_size, 4) << "what is free, below its preferred size";
    EXPECT_EQ(sizes_of(study("pref-common-pool", 16, {{0, 40, 4}}), 0).back(), 16);
}

/* Ranges 1 to 16 and 4 to 64, beside a rigid job of 17 that ends: its cores are shared by equal
 * distances from the least sizes, or from the preferred ones, or by equal parts of the ranges. */
TEST(StudyPoliciesTest, idle_cores_go_to_whom_the_strategy_says)
{
    auto sizes_after = [](const char *policy) {
        auto outcome = study(policy, 33, {{0, 100, 17, false}, {0, 4000, 4}, {0, 4000, 16}});
        int sizes[3] = {};
        for (const SizeChange &each : outcome.sizes) {
            if (each.time_ms < 300000)
                sizes[each.job] = each.size;
        }
        EXPECT_EQ(sizes[1] + sizes[2], 33) << policy;
        return std::pair(sizes[1], sizes[2]);
    };
    auto [least, other_least] = sizes_after("min-common-pool");
    EXPECT_NEAR(least - 1, other_least - 4, 3);
    auto [part, other_part] = sizes_after("average-steal-agreement");
    EXPECT_LT(part, least) << "the other one has four times the range";
    EXPECT_GT(other_part, other_least);
    auto [preferred, other_preferred] = sizes_after("pref-common-pool");
    EXPECT_NEAR(preferred - 4, other_preferred - 16, 3);
}

/* Both have their requested sizes; a rigid job of 6 is submitted. */
TEST(StudyPoliciesTest, a_waiting_job_starts_with_cores_of_others)
{
    const std::vector<StudyJob> jobs = {{0, 4000, 4}, {0, 4000, 16}, {100, 50, 6, false}};
    for (const char *policy : {"min-common-pool", "average-steal-agreement", "pref-common-pool"}) {
        auto outcome = study(policy, 40, jobs);
        EXPECT_LT(outcome.jobs[2].start_ms, 102000) << policy;
    }
}

TEST(StudyPoliciesTest, other_names_are_none)
{
    EXPECT_EQ(study_policy("fill"), nullptr);
    EXPECT_FALSE(has_preferred_sizes("fill"));
    EXPECT_TRUE(has_preferred_sizes("pref-common-pool"));
    EXPECT_FALSE(has_preferred_sizes("min-common-pool"));
}

}  // namespace
}  // namespace elastic::rm
