/*
 * A reservation is never moved later by a decision (SPEC-performance Q7): a job that has been first
 * in the queue starts not later than the earliest time that was reserved for it, as long as no job
 * outlives its limit and nothing fails.
 */

#include <gtest/gtest.h>

#include <random>

#include "core/policy/fill_plan.h"
#include "core/policy/policy_efficient.h"
#include "sim/traces/trace_replay.h"

namespace elastic::rm {
namespace {

struct Chance {
    std::mt19937_64 random;
    int64_t upto(int64_t most)
    {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
    }
};

/* More than the machine can hold for some time; all request at least their run time. */
Trace busy_trace(uint64_t seed, int nodes, int cores)
{
    Chance chance{std::mt19937_64(seed)};
    Trace trace;
    int64_t submit_s = 0;
    for (int i = 0; i < 250; i++) {
        submit_s += chance.upto(120);
        int64_t run_s = 30 + chance.upto(1200), most = chance.upto(3) ? cores : nodes * cores;
        trace.jobs.push_back({i + 1, submit_s, run_s, run_s + chance.upto(1800),
                              static_cast<int>(1 + chance.upto(most - 1)), 1});
    }
    return trace;
}

/* The earliest reserved start of each job. */
struct Reservations {
    std::map<JobId, int64_t> times;

    void observe(const State &state)
    {
        if (state.indices().runnable.empty())
            return;
        const Job &first = state.jobs.at(state.indices().runnable.begin()->job);
        int64_t time_ms = state.config.policy == PolicyKind::EASY ? of_easy(state, first)
                                                                  : of_fill(state, first);
        if (time_ms == NEVER)
            return;
        auto [known, is_new] = times.try_emplace(first.id, time_ms);
        if (!is_new)
            known->second = std::min(known->second, time_ms);
    }
    static int64_t of_easy(const State &state, const Job &first)
    {
        int size = fixed_size(state, first.spec);
        return Reservation(state, Space(state), first.spec, size).time_ms();
    }
    /* By the jobs' limits alone, without donations, or by the reservation of the policy,
     * whichever is earlier. */
    static int64_t of_fill(const State &state, const Job &first)
    {
        bool efficient = state.config.policy == PolicyKind::EFFICIENT;
        FillPlan plan(state, equal_gain(), efficient ? efficient_rules() : any_sizes());
        plan.expect_freed();
        plan.first = &first;
        int64_t time_ms = plan.first_reservation().time_ms();
        Reservation by_limits(state, Space(state), first.spec, size_at_least(first.spec, 1));
        if (by_limits.time_ms() == NEVER || (time_ms != NEVER && time_ms < by_limits.time_ms()))
            return time_ms;
        return by_limits.time_ms();
    }
};

/* `cost_ms`: of an adaptation; a start that waits for donations may be late by this time or
 * twice this time.  Returns the number of loans. */
int check(PolicyKind policy, double malleable, AdaptationCost cost = {0, 0, 0})
{
    constexpr int NODES = 4, CORES = 8;
    size_t promised = 0;
    int loaned = 0;
    int64_t late_ms = 2 * (cost.launch_ms + cost.standstill_ms);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        WorkloadOptions slot_requests;
        slot_requests.machine = {{{NODES, CORES}}};
        slot_requests.malleable = malleable;
        /* some keep their sizes after they have grown (R4) */
        slot_requests.speedups = {LinearSpeedup{}, AmdahlSpeedup{0.005}, AmdahlSpeedup{0.02}};
        slot_requests.prefer_trace_size = policy == PolicyKind::EASY;
        slot_requests.seed = seed;
        Workload workload = make_workload(busy_trace(seed, NODES, CORES), slot_requests);
        Reservations reservations;
        ReplayOptions options;
        options.machine = slot_requests.machine;
        options.cost = cost;
        options.cost.cores_per_node = CORES;
        options.config.policy = policy;
        options.config.finished_max = 0;
        options.after_each = [&](const State &state) {
            reservations.observe(state);
            loaned += !state.indices().borrowers.empty();
        };
        Outcome outcome = replay(workload, options);
        for (const auto &[id, time_ms] : reservations.times)
            EXPECT_LE(outcome.jobs[id - 1].start_ms, time_ms + late_ms)
                << to_string(policy) << ", seed " << seed << ", job " << id;
        promised += reservations.times.size();
    }
    EXPECT_GT(promised, 1000u) << "too few jobs have waited";
    return loaned;
}

TEST(ReservationTest, easy_keeps_it)
{
    check(PolicyKind::EASY, 0.5);
}

TEST(ReservationTest, fill_keeps_it)
{
    for (double malleable : {0.0, 0.5, 1.0})
        check(PolicyKind::FILL, malleable);
}

TEST(ReservationTest, measured_keeps_it)
{
    for (double malleable : {0.5, 1.0})
        check(PolicyKind::MEASURED, malleable);
}

TEST(ReservationTest, Q7_efficient_keeps_it)
{
    for (double malleable : {0.2, 0.5, 1.0})
        EXPECT_GT(check(PolicyKind::EFFICIENT, malleable), 100) << "too little was loaned";
}

/* Borrowed cores return before the reserved time, by the time that their return takes. */
TEST(ReservationTest, Q8_efficient_keeps_it_if_changes_take_their_time)
{
    AdaptationCost cost;
    cost.standstill_ms = 200;
    EXPECT_GT(check(PolicyKind::EFFICIENT, 0.5, cost), 100);
}

}  // namespace
}  // namespace elastic::rm
