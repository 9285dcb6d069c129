/* Policy `measured`: cores that idle are loaned, tried and taken back. */

#include <cmath>

#include "core/policy/policy_measured_fixture.h"

namespace elastic::rm {
namespace {

TEST(MeasuredTest, a_trial_that_does_not_pay_is_taken_back_and_not_made_again)
{
    for (int64_t idle_ppm : {LOANS, NO_LOANS}) {
        SCOPED_TRACE("efficiency_idle_ppm " + std::to_string(idle_ppm));
        SampledMachine machine(32);
        machine.loan_down_to(idle_ppm);
        JobSpec spec = malleable(1, 32);
        spec.serial_ppm = idle_ppm == NO_LOANS ? 100000 : 500000; /* a hint: it starts with a few */
        JobId id = machine.start(spec, scales_to(12));
        int first = machine.driver.job(id).size();
        EXPECT_LT(first, 12);
        machine.go_on(100);
        if (idle_ppm == NO_LOANS) {
            EXPECT_NEAR(machine.driver.job(id).size(), 12, 3);
        } else { /* the last step up at most doubled the size */
            EXPECT_GE(machine.driver.job(id).size(), 12);
            EXPECT_LE(machine.driver.job(id).size(), 24);
        }
        int before = machine.changes;
        EXPECT_GE(before, 1);
        machine.go_on(200, 0.1);
        EXPECT_EQ(machine.changes, before);
    }
}

/* With a floor, cores without a gain in speed are released, although no job needs them. */
TEST(MeasuredTest, cores_without_benefit_are_not_loaned)
{
    SampledMachine machine(64);
    machine.loan_down_to(LOANS);
    JobSpec spec = malleable(1, 64);
    spec.serial_ppm = 500000;
    machine.start(spec, scales_to(1));
    int first = machine.size(0);
    EXPECT_LT(first, 32);
    machine.programs.clear(); /* MPI time is no evidence of it */
    machine.programs.emplace_back(machine.driver, machine.ids[0], scales_to(first),
                                  [](int) { return 0.0; });
    machine.go_on(100, 0.1);
    EXPECT_LE(machine.size(0), first * 5 / 4);
    int before = machine.changes;
    EXPECT_GE(before, 2) << "it has been tried";
    machine.go_on(300, 0.1);
    EXPECT_EQ(machine.changes, before);
}

/* Without a floor, idle cores go to all jobs except those that become slower; noise of 10 % does
 * not change that. */
TEST(MeasuredTest, without_a_floor_idle_cores_are_loaned_to_jobs_that_are_not_slower)
{
    auto slower_beyond = [](int most) {
        return [most](int size) { return size <= most ? size : most / std::pow(size, 0.5); };
    };
    std::vector<std::pair<SampledProgram::Law, bool>> models = {{amdahl(0.01), true},
                                                             {amdahl(0.1), true},
                                                             {amdahl(0.3), true},
                                                             {scales_to(12), true},
                                                             {slower_beyond(12), false}};
    for (size_t i = 0; i < models.size(); i++) {
        for (int cores : {64, 96, 200}) {
            SCOPED_TRACE("law " + std::to_string(i) + " on " + std::to_string(cores));
            SampledMachine machine(cores);
            machine.loan_down_to(NO_FLOOR);
            machine.start(malleable(1, cores), models[i].first);
            machine.go_on(200, 0.1);
            if (models[i].second)
                EXPECT_EQ(machine.size(0), cores);
            else
                EXPECT_LT(machine.size(0), 32);
            int before = machine.changes;
            machine.go_on(300, 0.1);
            EXPECT_EQ(machine.changes, before);
            JobId waits = machine.driver.submit(rigid(cores - 16));
            machine.stabilize();
            EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING) << "at once";
        }
    }
}

/* A trial with fewer processes is measured, whatever happens meanwhile; then the job grows
 * again. */
TEST(MeasuredTest, without_a_floor_a_trial_is_not_over_before_it_is_measured)
{
    SampledMachine machine(512);
    machine.loan_down_to(NO_FLOOR);
    machine.start(malleable(1, 512, 1000 * MINUTE), amdahl(0.1));
    machine.go_on(2);
    EXPECT_EQ(machine.size(0), 256);
    machine.driver.wait(20000);
    machine.driver.submit(rigid(1));
    machine.stabilize();
    EXPECT_EQ(machine.size(0), 256);
    machine.go_on(2);
    EXPECT_EQ(machine.size(0), 511);
    int before = machine.changes;
    machine.go_on(100, 0.1);
    EXPECT_EQ(machine.changes, before);
}

/* Borrowed cores also go at once to a running job that can use them. */
TEST(MeasuredTest, loans_go_to_jobs_that_use_them)
{
    SampledMachine machine(64);
    machine.start(rigid(16), scales_to(16));
    machine.start(malleable(1, 64), amdahl(0.1));
    machine.go_on(20);
    machine.start(malleable(1, 64), amdahl(0));
    machine.go_on(100);
    EXPECT_GT(machine.size(2), 24) << "more than its half";
    EXPECT_EQ(machine.size(1) + machine.size(2), 48);
    int before = machine.changes;
    machine.go_on(200, 0.1);
    EXPECT_EQ(machine.changes, before);
}

/* Cores that no other job can use are loaned down to efficiency_idle, and return at once to a
 * new job, before any job releases cores that it uses well. */
TEST(MeasuredTest, idle_cores_are_loaned_until_a_job_waits)
{
    for (int64_t idle_ppm : {NO_FLOOR, LOANS, NO_LOANS}) {
        SCOPED_TRACE("efficiency_idle_ppm " + std::to_string(idle_ppm));
        SampledMachine machine(64);
        machine.loan_down_to(idle_ppm);
        machine.start(malleable(1, 16), amdahl(0));
        machine.start(malleable(1, 48), amdahl(0.1));
        machine.go_on(100);
        EXPECT_EQ(machine.size(0), 16);
        bool lends = idle_ppm < NO_LOANS;
        if (lends) {
            EXPECT_EQ(machine.size(1), 48);
        } else {
            EXPECT_LT(machine.size(1), 16);
        }
        int before = machine.changes;
        machine.go_on(200, 0.1);
        EXPECT_EQ(machine.changes, before) << "noise changes it";
        JobId waits = machine.driver.submit(rigid(24));
        machine.stabilize();
        EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING) << "at once";
        EXPECT_EQ(machine.size(0), 16) << "it uses what it has";
        if (lends) {
            EXPECT_EQ(machine.size(1), 24);
        }
    }
}

/* No job releases cores that it uses well while others have loans, whatever their sizes. */
TEST(MeasuredTest, loans_are_returned_first)
{
    SampledMachine machine(144);
    machine.start(malleable(1, 128), amdahl(0));
    machine.start(malleable(1, 16), amdahl(0.2));
    machine.go_on(100);
    EXPECT_EQ(machine.size(0), 128);
    EXPECT_EQ(machine.size(1), 16);
    JobId waits = machine.driver.submit(rigid(8));
    machine.stabilize();
    EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(machine.size(0), 128);
    EXPECT_EQ(machine.size(1), 8);
}

}  // namespace
}  // namespace elastic::rm
