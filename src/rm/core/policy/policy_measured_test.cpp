/* Policy `measured`: what it gives, tries and takes back; that noise changes nothing; that its
 * records have the reason. */

#include "core/policy/policy_measured.h"

#include <cmath>

#include "core/policy/policy_fill.h"
#include "core/record.h"
#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE = 60000;
constexpr int CHANGES_MAX = 8; /* of each job, until all have their sizes */
/* Of Config::efficiency_idle_ppm: nothing is loaned, as if nobody could have less than
 * `efficiency`; down to a floor; to all that do not become slower, the default. */
constexpr int64_t NO_LOANS = 500000, LOANS = 100000, NO_FLOOR = 0;

/* Jobs of known scaling models under elasticd's core, sampled every half minute; changes are
 * committed at once. */
struct Machine {
    explicit Machine(int cores, PolicyKind policy = PolicyKind::MEASURED) : driver(policy, 1, cores)
    {
    }
    Machine(int nodes, int cores) : driver(PolicyKind::MEASURED, nodes, cores) {}

    /* Cores that nobody else can use are loaned down to this part of a proportional gain. */
    void loan_down_to(int64_t ppm)
    {
        Config config = driver.core.state().config;
        config.efficiency_idle_ppm = ppm;
        driver.send(Configure{config});
    }
    JobId start(JobSpec spec, SampledProgram::Law law, SampledProgram::Law share = nullptr)
    {
        JobId id = driver.submit(spec);
        ids.push_back(id);
        programs.emplace_back(driver, id, std::move(law), std::move(share));
        stabilize();
        return id;
    }
    void stabilize()
    {
        for (bool changed = true; changed;) {
            changed = false;
            for (JobId id : ids) {
                if (driver.job(id).state == JobState::STARTING) {
                    driver.run(id);
                    changed = true;
                }
                if (driver.job(id).state == JobState::ADAPTING) {
                    driver.commit(id);
                    changes++;
                    changed = true;
                }
            }
        }
    }
    void go_on(int samples, double noise = 0)
    {
        for (int i = 0; i < samples; i++) {
            driver.wait(MINUTE / 2);
            stabilize();
            for (SampledProgram &program : programs) {
                program.sample(MINUTE / 2, noise);
                note();
                stabilize();
            }
        }
    }
    void note()
    {
        for (const Action &action : driver.actions)
            if (const Record *record = std::get_if<Record>(&action);
                record && record->event == record::REQUESTED)
                requested.push_back(*record);
    }
    int size(size_t i) const { return driver.job(ids[i]).size(); }

    CoreDriver driver;
    std::vector<JobId> ids;
    std::deque<SampledProgram> programs;
    std::vector<Record> requested;
    int changes = 0;
};

/* Programs that go faster with up to 2, up to 6, and all processes, on 16 cores. */
struct ThreePrograms : Machine {
    ThreePrograms() : Machine(16)
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

/* K: of no program does MPI time show that it needs fewer processes (bench/phases -s), no core
 * idles, and nobody waits.  Whoever came first. */
TEST(MeasuredTest, K_an_unknown_benefit_is_tried_among_running_jobs)
{
    for (double share : {0.0, 0.02, 0.15}) {
        std::vector<int> order = {2, 6, 16};
        do {
            SCOPED_TRACE(testing::Message() << "MPI share " << share << ", scale to " << order[0]
                                            << ", " << order[1] << ", " << order[2]);
            Machine machine(16);
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

/* The same if samples are wrong from the beginning: sizes near by are no proof then. */
TEST(MeasuredTest, K_noise_from_the_beginning_hides_nothing)
{
    for (int64_t floor : {NO_FLOOR, LOANS}) {
        for (uint64_t seed = 0; seed < 60; seed++) {
            SCOPED_TRACE(testing::Message() << "floor " << floor << ", seed " << seed);
            std::vector<int> order = {2, 6, 16};
            for (uint64_t i = 0; i < seed % 6; i++)
                std::next_permutation(order.begin(), order.end());
            Machine machine(16);
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
    Machine machine(16);
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

/* Of whole nodes, too: part of a node is of no use to others. */
TEST(MeasuredTest, Q13_exchanges_of_whole_nodes_come_to_rest)
{
    for (double share : {0.0, 0.02, -1.0}) {
        SampledProgram::Law untold = [share](int) { return share; };
        Machine machine(4, 4);
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

/* R5: whatever is known of it, a job of whole nodes fills those that it has. */
TEST(MeasuredTest, R5_whole_nodes_are_filled)
{
    for (double serial : {0.01, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3}) {
        for (bool hinted : {false, true}) {
            Machine machine(8, 4);
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

/* The state is settled: samples that are wrong by up to 10 % change nothing. */
TEST(MeasuredTest, noise_changes_nothing)
{
    ThreePrograms machine;
    machine.go_on(200);
    int before = machine.changes;
    machine.go_on(300, 0.1);
    EXPECT_EQ(machine.changes, before);
}

TEST(MeasuredTest, a_trial_that_does_not_pay_is_taken_back_and_not_made_again)
{
    for (int64_t idle_ppm : {LOANS, NO_LOANS}) {
        SCOPED_TRACE("efficiency_idle_ppm " + std::to_string(idle_ppm));
        Machine machine(32);
        machine.loan_down_to(idle_ppm);
        JobSpec spec = malleable(1, 32);
        spec.serial_ppm = idle_ppm == NO_LOANS ? 100000 : 500000; /* a hint: it starts with a few */
        JobId id = machine.start(spec, scales_to(12));
        int first = machine.driver.job(id).size();
        EXPECT_LT(first, 12);
        machine.go_on(100);
        if (idle_ppm == NO_LOANS) {
            EXPECT_NEAR(machine.driver.job(id).size(), 12, 3);
        } else { /* the last step up was to twice as many, at most */
            EXPECT_GE(machine.driver.job(id).size(), 12);
            EXPECT_LE(machine.driver.job(id).size(), 24);
        }
        int before = machine.changes;
        EXPECT_GE(before, 1);
        machine.go_on(200, 0.1);
        EXPECT_EQ(machine.changes, before);
    }
}

/* Cores that bring no speed are released, although no job wants them, if there is a floor. */
TEST(MeasuredTest, cores_without_benefit_are_not_loaned)
{
    Machine machine(64);
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

/* Without a floor cores that idle go to all but those that are slower by them; noise of 10 %
 * changes none of it. */
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
            Machine machine(cores);
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

/* Fewer processes that are tried are measured, whatever happens meanwhile; then it grows again. */
TEST(MeasuredTest, without_a_floor_a_trial_is_not_over_before_it_is_measured)
{
    Machine machine(512);
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

/* Borrowed cores go to a running job that can use them, too, at once. */
TEST(MeasuredTest, loans_go_to_jobs_that_use_them)
{
    Machine machine(64);
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

TEST(MeasuredTest, who_scales_perfectly_has_the_machine_alone)
{
    Machine machine(16);
    machine.start(malleable(1, 16), scales_to(16));
    machine.go_on(20);
    EXPECT_EQ(machine.size(0), 16);
    EXPECT_EQ(machine.changes, 0);
}

/* Idle cores go to whom they make faster. */
TEST(MeasuredTest, cores_go_where_they_make_faster)
{
    Machine machine(16);
    machine.start(malleable(1, 16), amdahl(0.2));
    machine.start(malleable(1, 16), amdahl(0));
    machine.go_on(100);
    EXPECT_GT(machine.size(1), machine.size(0));
    EXPECT_GE(machine.size(0) + machine.size(1), 14);
}

/* A sample is followed by a decision only if it may lead to one: CoreDriver, which runs the policy
 * after each event, never gets another one.  How far programs scale changes now and then. */
TEST(MeasuredTest, no_decision_is_missed_whichever_job_is_sampled)
{
    int changes = 0;
    for (uint64_t seed = 1; seed <= 60 && !HasFailure(); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        auto upto = [&](int most) {
            return static_cast<int>(random() % static_cast<uint64_t>(most + 1));
        };
        Machine machine(8 + upto(60), seed % 4 ? PolicyKind::MEASURED : PolicyKind::EFFICIENT);
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

/* Cores that nobody else can use are loaned down to efficiency_idle, and go back at once to whoever
 * comes, before anybody gives what he uses well. */
TEST(MeasuredTest, idle_cores_are_loaned_until_a_job_waits)
{
    for (int64_t idle_ppm : {NO_FLOOR, LOANS, NO_LOANS}) {
        SCOPED_TRACE("efficiency_idle_ppm " + std::to_string(idle_ppm));
        Machine machine(64);
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

/* Of cores that it uses well nobody gives any while others have some on loan, whatever their
 * sizes. */
TEST(MeasuredTest, loans_are_returned_first)
{
    Machine machine(144);
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

/* X1: from the numbers of a record alone follows what was decided. */
TEST(MeasuredTest, X1_recorded_numbers_give_the_decision)
{
    const JobSpec spec = malleable(1, 16);
    std::map<std::string, int> rules;
    std::deque<Machine> machines;
    for (int64_t idle_ppm : {NO_FLOOR, LOANS, NO_LOANS}) {
        for (double share : {-1.0, 0.02, 0.15}) { /* MPI time is no evidence, but the first time */
            Machine &machine = machines.emplace_back(16);
            machine.loan_down_to(idle_ppm);
            SampledProgram::Law untold = [share](int) { return share; };
            for (int most : {2, 6, 16})
                machine.start(spec, scales_to(most), share < 0 ? nullptr : untold);
        }
    }
    for (Machine &each : machines) {
        Machine *machine = &each;
        machine->go_on(200);
        for (const Record &record : machine->requested) {
            Json why = record.data.at("why");
            ASSERT_TRUE(why.is_object());
            auto taken = [&](const char *key) {
                Json value = why.value(key, Json());
                why.erase(key);
                return value;
            };
            std::string rule = taken("rule").get<std::string>();
            Json is_wanted = taken("wanted"), trial = taken("trial"), whom = taken("for");
            Json other = taken("gets"), other_size = taken("gets_size");
            Json wanted = taken("wanted_cores");
            taken("speed_ppm");
            auto numbers = parse<MeasuredNumbers>(why);
            ASSERT_TRUE(numbers) << numbers.error();
            int size = record.data.at("size").get<int>();
            if (rule == "reduce") {
                int64_t least = measured_least(numbers.value(), Floor::IDLE);
                EXPECT_GT(least, 0);
                if (is_wanted.get<bool>()) /* and with what is loaned */
                    least = std::min(least, measured_least(numbers.value(), Floor::EFFICIENT));
                EXPECT_EQ(least, size);
            } else if (rule == "balance") {
                auto gets = parse<MeasuredNumbers>(other);
                ASSERT_TRUE(gets) << gets.error();
                bool tried = trial.get<bool>();
                auto given = best_exchange(spec, numbers.value(), spec, gets.value(), tried);
                ASSERT_TRUE(given);
                if (!tried)
                    given = with_loan(*given, spec, numbers.value(), spec, gets.value(),
                                      wanted.get<int64_t>());
                EXPECT_EQ(std::pair(given->size, given->grown),
                          std::pair(size, other_size.get<int>()));
                EXPECT_EQ(whom.size(), 1u);
                EXPECT_TRUE(!tried || is_doubtful(numbers.value()));
                rule = tried ? "trial" : rule;
            } else {
                EXPECT_EQ(rule, "expand");
                EXPECT_LE(size, measured_most(numbers.value(), Floor::IDLE));
                EXPECT_GT(size, numbers.value().scaling.size);
            }
            rules[rule]++;
            EXPECT_FALSE(record.data.at("reason").get<std::string>().empty());
        }
    }
    for (const char *rule : {"reduce", "balance", "trial", "expand"})
        EXPECT_GT(rules[rule], 0) << rule;
}

/* A user who wants more cores states that his program becomes the faster the more it has, however
 * much: it gets what one gets that makes full use of all, and gives to those that wait as that one
 * does. */
TEST(MeasuredTest, who_boasts_gets_no_more_than_who_scales)
{
    auto boasts = [](int size) { return std::pow(size, 3.0); };
    for (double share : {0.0, 0.02}) {
        Machine reported(16), scaling(16);
        for (Machine *machine : {&reported, &scaling}) {
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

/* Samples that show that it goes faster with fewer, or stands still, take nothing from others and
 * break nothing. */
TEST(MeasuredTest, nonsense_of_one_job_leaves_the_others_theirs)
{
    for (auto nonsense : {SampledProgram::Law([](int size) { return 1.0 / size; }),
                          SampledProgram::Law([](int size) { return size % 2 ? 16.0 : 0.01; }),
                          SampledProgram::Law([](int) { return 1e-9; }),
                          SampledProgram::Law([](int) { return 1e9; })}) {
        Machine machine(16);
        machine.start(malleable(1, 16), scales_to(16));
        machine.start(malleable(1, 16), nonsense, [](int) { return 0.5; });
        machine.go_on(100, 0.1);
        EXPECT_GE(machine.size(0), 8);
        int changes = machine.changes;
        machine.go_on(100, 0.1);
        EXPECT_LE(machine.changes, changes + 4) << "it goes on and on";
    }
}

/* X2: one word of a closed list. */
TEST(MeasuredTest, X2_held_because)
{
    Machine machine(16);
    machine.loan_down_to(NO_LOANS);
    auto held = [&](size_t i) {
        const State &state = machine.driver.core.state();
        return policy(state.config.policy).held_because(state, machine.driver.job(machine.ids[i]));
    };
    JobSpec hinted = malleable(1, 16);
    hinted.serial_ppm = 100000;
    machine.start(hinted, scales_to(2));
    machine.go_on(1);
    EXPECT_EQ(held(0), HeldBecause::NO_DATA);
    machine.go_on(200);
    EXPECT_EQ(held(0), HeldBecause::BETWEEN_THRESHOLDS) << "cores idle, and it does not want them";
    machine.start(malleable(1, 16), scales_to(16));
    machine.go_on(100);
    EXPECT_EQ(held(1), HeldBecause::CORES_WANTED) << "no core idles";
    machine.start(malleable(1, 1), scales_to(1));
    machine.go_on(100);
    EXPECT_EQ(held(2), HeldBecause::AT_MAXIMUM);
    machine.driver.submit(rigid(1));
    EXPECT_EQ(policy(PolicyKind::MEASURED)
                  .held_because(machine.driver.core.state(), machine.driver.job(4)),
              std::nullopt)
        << "a rigid one has no size that could change";
}

/* SPEC-epop M4, SPEC-performance X2: in a rigid phase it neither grows nor shrinks. */
TEST(MeasuredTest, X2_M4_in_a_rigid_phase_the_size_is_held)
{
    for (PolicyKind kind : {PolicyKind::MEASURED, PolicyKind::EFFICIENT, PolicyKind::FILL}) {
        Machine machine(16, kind);
        JobSpec spec = malleable(2, 16);
        spec.preferred = 4;
        auto now = [&] {
            const State &state = machine.driver.core.state();
            return policy(kind).held_because(state, machine.driver.job(machine.ids[0]));
        };
        machine.driver.submit(rigid(12));
        machine.driver.run(1);
        machine.start(spec, scales_to(16));
        machine.programs[0].position = PhasePosition{2, true, 0, -1, -1};
        machine.go_on(4);
        int before = machine.size(0), changes = machine.changes;
        EXPECT_EQ(now(), HeldBecause::RIGID_PHASE) << to_string(kind);
        machine.driver.end(1);
        machine.go_on(4);
        EXPECT_EQ(machine.size(0), before) << "12 cores idle: " << to_string(kind);
        EXPECT_EQ(machine.changes, changes);
        JobId waits = machine.driver.submit(rigid(14));
        machine.go_on(4);
        EXPECT_EQ(machine.driver.job(waits).state, JobState::PENDING);
        EXPECT_EQ(machine.changes, changes) << "one waits for its cores: " << to_string(kind);
        machine.programs[0].position = PhasePosition{1, false, 0, -1, -1};
        machine.go_on(40);
        EXPECT_NE(now(), HeldBecause::RIGID_PHASE) << to_string(kind);
        bool gave = machine.driver.job(waits).state != JobState::PENDING;
        EXPECT_TRUE(gave) << "an elastic phase: " << to_string(kind);
    }
}

/* K, K3: half is tried once, of whom nothing shows that it needs all, and if it is worth it. */
TEST(MeasuredTest, K_who_is_doubtful_and_what_is_tried)
{
    const JobSpec spec = malleable(1, 64);
    MeasuredNumbers one;
    one.scaling = {8, 20000, 20000, 2, 1, 8, 8, false};
    one.is_measured = true;
    one.efficiency_ppm = 500000;
    one.since_ms = one.sample_ms = MINUTE;
    EXPECT_TRUE(is_doubtful(one)) << "MPI time alone is known";
    auto given = best_exchange(spec, one, spec, one, true);
    ASSERT_TRUE(given);
    EXPECT_EQ(std::pair(given->size, given->grown), std::pair(4, 12));
    EXPECT_FALSE(best_exchange(spec, one, spec, one, false)) << "one loses what the other wins";

    MeasuredNumbers other = one;
    other.scaling.size = other.scaling.proven_least = other.scaling.proven_most = 64;
    EXPECT_FALSE(best_exchange(spec, one, malleable(1, 72), other, true)) << "it wins too little";
    given = best_exchange(spec, other, spec, one, true);
    ASSERT_TRUE(given);
    EXPECT_EQ(std::pair(given->size, given->grown), std::pair(51, 16)) << "so many that it shows";
    one.times.standstill_ms = MINUTE;
    EXPECT_FALSE(best_exchange(spec, one, spec, one, true)) << "it would stand still for long";

    one.remaining_ms = 20 * MINUTE;
    EXPECT_TRUE(is_doubtful(one));
    one.remaining_ms--;
    EXPECT_FALSE(is_doubtful(one)) << "its end comes too soon";
    one.remaining_ms = NEVER;
    one.scaling.sizes = 2;
    one.scaling.proven_most = 16;
    EXPECT_FALSE(is_doubtful(one)) << "more have made it faster, so these do";
    one.scaling.serial_ppm = 900000;
    EXPECT_TRUE(is_doubtful(one)) << "more have not";
    one.scaling.proven_least = 4;
    one.scaling.below = {4, 500000};
    EXPECT_FALSE(is_doubtful(one)) << "fewer have been measured";
    one.scaling.proven_least = 7;
    one.scaling.below = {};
    one.scaling.serial_below_ppm = 300000;
    EXPECT_TRUE(is_doubtful(one)) << "hardly fewer, and it is no slower with them";
    one.scaling.serial_below_ppm = 100000;
    EXPECT_FALSE(is_doubtful(one)) << "it is slower with them";
    one.scaling.above = {16, 500000};
    one.scaling.serial_below_ppm = 300000;
    EXPECT_FALSE(is_doubtful(one)) << "more have made it faster";
    one.scaling.proven_least = 8;
    one.is_measured = false;
    EXPECT_FALSE(is_doubtful(one));
}

TEST(MeasuredTest, nobody_grows_into_what_costs_more_than_it_wins)
{
    MeasuredNumbers numbers;
    numbers.scaling = {8, 50000, 50000, 4, 1, 8, 8, false};
    numbers.is_measured = true;
    numbers.efficiency_ppm = 500000;
    numbers.remaining_ms = 60 * MINUTE;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 16);
    numbers.remaining_ms = 5000;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 8);
    numbers.remaining_ms = 60 * MINUTE;
    numbers.times.standstill_ms = 10 * MINUTE;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 8);
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0);
    numbers.scaling.serial_below_ppm = 800000;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0)
        << "it would stand still for as long as it has run";
    numbers.times.standstill_ms = 10;
    numbers.since_ms = MINUTE;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 4);
    numbers.is_measured = false;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0);
}

}  // namespace
}  // namespace elastic::rm
