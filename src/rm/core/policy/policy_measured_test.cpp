/* Policy `measured`: the cores of jobs depend on their measurements; noise changes nothing. */

#include <cmath>

#include "core/policy/policy_measured_fixture.h"
#include "core/program_key.h"

namespace elastic::rm {
namespace {

constexpr int CHANGES_MAX = 8; /* of each job, until all have their sizes */

/* Programs that become faster with up to 2, up to 6, and all processes, on 16 cores. */
struct ThreePrograms : SampledMachine {
    ThreePrograms() : SampledMachine(16)
    {
        start(malleable(1, 16), scales_to(2));
        start(malleable(1, 16), scales_to(6));
        start(malleable(1, 16), scales_to(16));
    }
};

TEST(MeasuredTest, three_programs_get_what_they_can_use_in_few_adaptations)
{
    ThreePrograms machine;
    machine.go_on(200);
    EXPECT_NEAR(machine.size(0), 2, 1);
    EXPECT_NEAR(machine.size(1), 6, 1);
    EXPECT_NEAR(machine.size(2), 8, 1);
    EXPECT_LE(machine.changes, 3 * CHANGES_MAX);
    int before = machine.changes;
    machine.go_on(100);
    EXPECT_EQ(machine.changes, before) << "it has not come to rest";
}

/* K: for no program does the MPI time show that it needs fewer processes (bench/phases -s), no
 * core idles, and no job waits.  For any order of submission. */
TEST(MeasuredTest, K_an_unknown_benefit_is_tried_among_running_jobs)
{
    for (double share : {0.0, 0.02, 0.15}) {
        std::vector<int> order = {2, 6, 16};
        do {
            SCOPED_TRACE(testing::Message() << "MPI share " << share << ", scale to " << order[0]
                                            << ", " << order[1] << ", " << order[2]);
            SampledMachine machine(16);
            for (int most : order)
                machine.start(malleable(1, 16), scales_to(most), [share](int) { return share; });
            machine.go_on(60);
            std::map<int, int> sizes;
            for (size_t i = 0; i < 3; i++)
                sizes[order[i]] = machine.size(i);
            EXPECT_NEAR(sizes[2], 2, 1);
            EXPECT_NEAR(sizes[6], 6, 1);
            EXPECT_NEAR(sizes[16], 8, 1);
            EXPECT_LE(machine.changes, 3 * CHANGES_MAX);
            int before = machine.changes;
            machine.go_on(200, 0.1);
            EXPECT_EQ(machine.changes, before) << "it has not come to rest";
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

/* The same if samples have errors from the beginning: then near sizes are no proof. */
TEST(MeasuredTest, K_noise_from_the_beginning_hides_nothing)
{
    for (int64_t floor : {NO_FLOOR, LOANS}) {
        for (uint64_t seed = 0; seed < 60; seed++) {
            SCOPED_TRACE(testing::Message() << "floor " << floor << ", seed " << seed);
            std::vector<int> order = {2, 6, 16};
            for (uint64_t i = 0; i < seed % 6; i++)
                std::next_permutation(order.begin(), order.end());
            SampledMachine machine(16);
            machine.loan_down_to(floor);
            std::map<int, size_t> position;
            for (int most : order) {
                position[most] = machine.ids.size();
                machine.start(malleable(1, 16), scales_to(most), [](int) { return 0.02; });
                machine.programs.back().seed(seed * 10 + position[most]);
            }
            machine.go_on(60, 0.02);
            EXPECT_NEAR(machine.size(position[2]), 2, 1);
            EXPECT_NEAR(machine.size(position[6]), 6, 1);
            EXPECT_NEAR(machine.size(position[16]), 8, 1);
            int before = machine.changes;
            machine.go_on(100, 0.02);
            EXPECT_EQ(machine.changes, before) << "it has not come to rest";
        }
    }
}

/* The next run of the same programs does not search again for known sizes (learned.h). */
TEST(MeasuredTest, what_was_learned_holds_for_the_next_run)
{
    SampledMachine machine(16);
    auto run = [&](uint32_t uid) {
        machine.ids.clear();
        machine.programs.clear();
        machine.requested.clear();
        machine.changes = 0;
        for (int most : {2, 6, 16}) {
            JobSpec spec = malleable(1, 16);
            spec.uid = uid;
            spec.program = program_of({"program", std::to_string(most)});
            machine.start(spec, scales_to(most), [](int) { return 0.02; });
        }
        machine.go_on(60);
        for (int i : {0, 1, 2})
            EXPECT_NEAR(machine.size(static_cast<size_t>(i)), std::vector({2, 6, 8})[size_t(i)], 1);
        for (JobId id : machine.ids)
            machine.driver.end(id);
        return std::count_if(
            machine.requested.begin(), machine.requested.end(), [](const Record &record) {
                const Json &why = record.data.at("why");
                return why.is_object() && why.value("trial", false);
            });
    };
    EXPECT_GT(run(1), 0);
    int changes = machine.changes;
    EXPECT_EQ(run(1), 0);
    EXPECT_LE(machine.changes, changes);
    EXPECT_GT(run(2), 0) << "another user";
}

/* For whole nodes, too: part of a node is of no use to others. */
TEST(MeasuredTest, Q13_exchanges_of_whole_nodes_come_to_rest)
{
    for (double share : {0.0, 0.02, -1.0}) {
        SampledProgram::Law untold = [share](int) { return share; };
        SampledMachine machine(4, 4);
        JobSpec spec = malleable(1, 16);
        spec.whole_nodes = true;
        for (int most : {3, 6, 16})
            machine.start(spec, scales_to(most), share < 0 ? nullptr : untold);
        machine.go_on(100);
        int before = machine.changes;
        EXPECT_LE(before, 14);
        machine.go_on(300);
        EXPECT_EQ(machine.changes, before) << share;
    }
}

/* R5: with any measurements, a job of whole nodes fills its nodes. */
TEST(MeasuredTest, R5_whole_nodes_are_filled)
{
    for (double serial : {0.01, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3}) {
        for (bool hinted : {false, true}) {
            SampledMachine machine(8, 4);
            JobSpec spec = malleable(1, 32);
            spec.whole_nodes = true;
            if (hinted)
                spec.serial_ppm = std::llround(serial * double(PPM));
            machine.start(spec, amdahl(serial));
            machine.start(spec, amdahl(serial / 2));
            for (int i = 0; i < 30; i++) {
                machine.go_on(1, 0.1);
                EXPECT_EQ(machine.size(0) % 4, 0) << serial << ": " << machine.size(0);
                EXPECT_EQ(machine.size(1) % 4, 0) << serial << ": " << machine.size(1);
            }
        }
    }
}

/* In the final state, samples with errors of up to 10 % change nothing. */
TEST(MeasuredTest, noise_changes_nothing)
{
    ThreePrograms machine;
    machine.go_on(200);
    int before = machine.changes;
    machine.go_on(300, 0.1);
    EXPECT_EQ(machine.changes, before);
}

TEST(MeasuredTest, who_scales_perfectly_has_the_machine_alone)
{
    SampledMachine machine(16);
    machine.start(malleable(1, 16), scales_to(16));
    machine.go_on(20);
    EXPECT_EQ(machine.size(0), 16);
    EXPECT_EQ(machine.changes, 0);
}

/* Idle cores go to jobs that become faster by them. */
TEST(MeasuredTest, cores_go_where_they_make_faster)
{
    SampledMachine machine(16);
    machine.start(malleable(1, 16), amdahl(0.2));
    machine.start(malleable(1, 16), amdahl(0));
    machine.go_on(100);
    EXPECT_GT(machine.size(1), machine.size(0));
    EXPECT_GE(machine.size(0) + machine.size(1), 14);
}

/* A decision follows a sample only if the sample can change it: CoreDriver, which runs the
 * policy after each event, never gets another one.  The scaling of programs changes sometimes. */
TEST(MeasuredTest, no_decision_is_missed_whichever_job_is_sampled)
{
    int changes = 0;
    for (uint64_t seed = 1; seed <= 60 && !HasFailure(); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        auto upto = [&](int most) {
            return static_cast<int>(random() % static_cast<uint64_t>(most + 1));
        };
        SampledMachine machine(8 + upto(60),
                               seed % 4 ? PolicyKind::MEASURED : PolicyKind::EFFICIENT);
        std::deque<int> scales_to;
        int jobs = 1 + upto(6);
        for (int i = 0; i < jobs; i++) {
            int &most = scales_to.emplace_back(1 + upto(30));
            int least = 1 + upto(2);
            SampledProgram::Law untold = [](int) { return 0.01; };
            machine.start(malleable(least, least + upto(40), upto(1) ? 100 * MINUTE : 0),
                          [&most](int size) { return std::min(size, most); },
                          upto(1) ? untold : nullptr);
        }
        for (int i = 0; i < 150; i++) {
            size_t job = static_cast<size_t>(upto(jobs - 1));
            if (upto(9) == 0)
                scales_to[job] = 1 + upto(30);
            machine.driver.wait(upto(2) ? MINUTE / 2 : 1000);
            machine.stabilize();
            if (machine.driver.job(machine.ids[job]).state == JobState::RUNNING)
                machine.programs[job].sample(MINUTE / 2, 0.2);
            machine.stabilize();
        }
        changes += machine.changes;
    }
    EXPECT_GT(changes, 200);
}

/* A user who wants more cores states that his program scales without a limit: it gets the same
 * as a program that makes full use of all cores, and releases as many for waiting jobs. */
TEST(MeasuredTest, who_boasts_gets_no_more_than_who_scales)
{
    auto boasts = [](int size) { return std::pow(size, 3.0); };
    for (double share : {0.0, 0.02}) {
        SampledMachine reported(16), scaling(16);
        for (SampledMachine *machine : {&reported, &scaling}) {
            bool lies = machine == &reported;
            auto waits_for_mpi = [share](int) { return share; };
            machine->start(malleable(1, 16), scales_to(16), waits_for_mpi);
            machine->start(malleable(1, 16),
                           lies ? SampledProgram::Law(boasts) : scales_to(16), waits_for_mpi);
            machine->go_on(60);
        }
        EXPECT_EQ(std::pair(reported.size(0), reported.size(1)),
                  std::pair(scaling.size(0), scaling.size(1)));
        JobId waits = reported.driver.submit(rigid(12));
        reported.stabilize();
        EXPECT_EQ(reported.driver.job(waits).state, JobState::STARTING) << "it gives as any other";
    }
}

/* Samples which show that a job is faster with fewer processes, or stands still, take nothing
 * from others and break nothing. */
TEST(MeasuredTest, nonsense_of_one_job_leaves_the_others_theirs)
{
    for (auto nonsense : {SampledProgram::Law([](int size) { return 1.0 / size; }),
                          SampledProgram::Law([](int size) { return size % 2 ? 16.0 : 0.01; }),
                          SampledProgram::Law([](int) { return 1e-9; }),
                          SampledProgram::Law([](int) { return 1e9; })}) {
        SampledMachine machine(16);
        machine.start(malleable(1, 16), scales_to(16));
        machine.start(malleable(1, 16), nonsense, [](int) { return 0.5; });
        machine.go_on(100, 0.1);
        EXPECT_GE(machine.size(0), 8);
        int changes = machine.changes;
        machine.go_on(100, 0.1);
        EXPECT_LE(machine.changes, changes + 4) << "it goes on and on";
    }
}

}  // namespace
}  // namespace elastic::rm
