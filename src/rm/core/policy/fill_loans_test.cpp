/* Loans of reserved cores under `efficient` (SPEC-performance Q8): their borrowers, and their
 * return in time. */

#include "core/policy/fill_loans.h"

#include "core/forecast.h"
#include "core/record.h"
#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

/* 20 cores: 8 for a job that is to end in an hour, 8 for a program that scales and has grown
 * from 4, and 4 idle ones, because a job waits for 12. */
struct Machine {
    explicit Machine(bool whole = false, int64_t duration = SECOND, bool has_grown = true)
        : driver(PolicyKind::EFFICIENT, 5, 4), whole_nodes(whole), duration_ms(duration)
    {
        ends = start(rigid(8, 60 * MINUTE));
        JobId small = start(rigid(4, 60 * MINUTE)), idles = has_grown ? start(rigid(4)) : 0;
        borrower = start(malleable(4, 20, 600 * MINUTE));
        program.emplace(driver, borrower, amdahl(0), [this](int size) {
            return size > 8 ? share_beyond : 0.001;
        });
        if (!has_grown)
            idles = small;
        go_on(2);
        if (has_grown) {
            driver.end(small);
            if (of().state == JobState::ADAPTING)
                commit();
            go_on(4);
            EXPECT_EQ(of().size(), 8);
        }
        waits = driver.submit(with_nodes(rigid(12, 60 * MINUTE)));
        go_on(1);
        driver.end(idles);
    }
    JobSpec with_nodes(JobSpec spec) const
    {
        spec.whole_nodes = whole_nodes;
        return spec;
    }
    JobId start(const JobSpec &spec)
    {
        JobId id = driver.submit(with_nodes(spec));
        driver.run(id);
        return id;
    }
    void go_on(int minutes, bool commits = true)
    {
        for (int i = 0; i < minutes; i++) {
            driver.wait(MINUTE);
            program->sample(MINUTE);
            if (commits && of().state == JobState::ADAPTING)
                commit();
        }
    }
    void commit()
    {
        driver.now_ms += duration_ms;
        driver.commit(borrower);
    }
    const Job &of() const { return driver.job(borrower); }
    int64_t promised_ms() const { return forecast(driver.core.state(), waits).start_ms; }

    CoreDriver driver;
    bool whole_nodes;
    int64_t duration_ms;
    double share_beyond = 0.001;        /* of MPI, with more than 8 processes */
    JobId ends = 0, borrower = 0, waits = 0;
    std::optional<SampledProgram> program;
};

TEST(LoanTest, Q8_X1_reserved_cores_are_loaned)
{
    for (bool whole : {false, true}) {
        Machine machine(whole);
        const Job &job = machine.of();
        ASSERT_EQ(job.state, JobState::ADAPTING) << whole;
        EXPECT_EQ(job.adaptation->size, 12);
        EXPECT_EQ(job.adaptation->loaned, 4);
        const Record *record = machine.driver.recorded(record::REQUESTED);
        ASSERT_TRUE(record);
        const Json &why = record->data.at("why");
        EXPECT_EQ(why.at("rule"), "backfill");
        EXPECT_EQ(why.at("lent"), 4);
        EXPECT_EQ(why.at("for"), Json({machine.waits}));
        EXPECT_EQ(why.at("reserved_ms"), machine.promised_ms());
        int64_t promised_ms = machine.promised_ms();
        machine.commit();
        EXPECT_EQ(job.loaned, 4);
        EXPECT_EQ(machine.promised_ms(), promised_ms) << "no loan moves it";
        EXPECT_EQ(promised_ms, machine.driver.job(machine.ends).limit_at_ms);
    }
}

/* Two durations before the reserved time, although the job is then between its thresholds. */
TEST(LoanTest, Q8_it_comes_back_in_time)
{
    for (bool whole : {false, true}) {
        Machine machine(whole);
        machine.share_beyond = 0.05;
        machine.commit();
        CoreDriver &driver = machine.driver;
        uint64_t committed = machine.of().committed;
        int64_t promised_ms = machine.promised_ms();
        while (driver.now_ms + 2 * MINUTE < promised_ms)
            machine.go_on(1);
        ASSERT_EQ(machine.of().size(), 12) << machine.of().last_change->reason;
        ASSERT_EQ(machine.of().committed, committed) << "it does not change meanwhile";
        driver.wait(promised_ms - 2 * machine.of().mean_duration_ms - 1 - driver.now_ms);
        EXPECT_EQ(machine.of().state, JobState::RUNNING);
        driver.wait(1);
        ASSERT_EQ(machine.of().state, JobState::ADAPTING);
        EXPECT_EQ(machine.of().adaptation->size, 8);
        machine.commit();
        EXPECT_EQ(machine.of().loaned, 0);
        EXPECT_EQ(machine.of().state, JobState::RUNNING) << "it is not loaned again";
        driver.wait(promised_ms - driver.now_ms);
        driver.end(machine.ends);
        EXPECT_EQ(driver.job(machine.waits).state, JobState::STARTING);
        EXPECT_EQ(driver.now_ms, promised_ms);
    }
}

TEST(LoanTest, Q8_it_comes_back_at_once_for_who_starts_sooner)
{
    Machine machine;
    machine.share_beyond = 0.05;
    machine.commit();
    machine.go_on(3);
    machine.driver.end(machine.ends);
    ASSERT_EQ(machine.of().state, JobState::ADAPTING);
    EXPECT_EQ(machine.of().adaptation->size, 8);
    machine.commit();
    EXPECT_EQ(machine.driver.job(machine.waits).state, JobState::STARTING);
}

/* If processes end by themselves, the loaned ones count as ended; a return that this prevents is
 * not a refusal. */
TEST(LoanTest, Q8_who_leaves_by_itself_keeps_no_loan)
{
    Machine machine;
    machine.share_beyond = 0.05;
    machine.commit();
    machine.go_on(3);
    CoreDriver &driver = machine.driver;
    const Job &job = machine.of();
    driver.send(StepLeft{job.id, job.step, job.epoch + 1, {3}});
    EXPECT_EQ(job.size(), 11);
    EXPECT_EQ(job.loaned, 3);
    driver.end(machine.ends);
    ASSERT_EQ(job.state, JobState::ADAPTING);
    EXPECT_EQ(job.adaptation->size, 8);
    driver.send(StepLeft{job.id, job.step, job.epoch + 1, {0, 1}});
    EXPECT_EQ(job.size(), 9);
    EXPECT_EQ(job.loaned, 1);
    EXPECT_FALSE(job.withheld_loan);
}

/* Without the loan they could start; a job that runs longer than the reservation allows could
 * not. */
TEST(LoanTest, Q8_a_loan_returns_for_a_backfilled_job)
{
    Machine machine;
    machine.share_beyond = 0.05;
    machine.commit();
    machine.go_on(1);
    CoreDriver &driver = machine.driver;
    JobId late = driver.submit(rigid(2, 100 * MINUTE));
    EXPECT_EQ(machine.of().state, JobState::RUNNING);
    JobId early = driver.submit(rigid(2, 5 * MINUTE));
    ASSERT_EQ(machine.of().state, JobState::ADAPTING);
    EXPECT_EQ(machine.of().adaptation->size, 10) << "as much as is wanted";
    machine.commit();
    EXPECT_EQ(machine.of().loaned, 2);
    EXPECT_EQ(driver.job(early).state, JobState::STARTING);
    EXPECT_EQ(driver.job(late).state, JobState::PENDING);
}

TEST(LoanTest, Q8_who_does_not_give_back_gets_no_loan_again)
{
    Machine machine;
    machine.commit();
    machine.go_on(1);
    CoreDriver &driver = machine.driver;
    int64_t promised_ms = machine.promised_ms();
    JobId early = driver.submit(rigid(2, 5 * MINUTE));
    ASSERT_EQ(machine.of().state, JobState::ADAPTING);
    driver.send(StepRefused{machine.borrower, machine.of().step, machine.of().adaptation->request,
                            "it does not probe"});
    EXPECT_TRUE(machine.of().withheld_loan);
    EXPECT_NE(machine.promised_ms(), promised_ms) << "it is not counted on";
    for (int i = 0; i < 10 && machine.of().state != JobState::ADAPTING; i++)
        driver.wait(10 * SECOND);
    ASSERT_EQ(machine.of().state, JobState::ADAPTING) << "it is requested again";
    machine.commit();
    EXPECT_EQ(machine.of().loaned, 2);
    ASSERT_EQ(driver.job(early).state, JobState::STARTING);
    driver.run(early);
    driver.end(early);
    machine.go_on(10);
    EXPECT_EQ(machine.promised_ms(), machine.of().limit_at_ms) << "nobody counts on it";
}

TEST(LoanTest, Q8_nothing_for_who_has_never_changed_or_would_have_it_for_too_short)
{
    Machine never(false, SECOND, false);
    EXPECT_EQ(never.of().state, JobState::RUNNING);
    EXPECT_EQ(never.of().committed, 0u);
    EXPECT_EQ(never.driver.core.state().indices().free_cores, 4);
    Machine slow(false, 20 * MINUTE);
    EXPECT_EQ(slow.of().state, JobState::RUNNING);
    EXPECT_EQ(slow.driver.core.state().indices().free_cores, 4);
}

TEST(LoanTest, a_restart_restores_it)
{
    Machine machine;
    machine.commit();
    auto again = Core::restore(Json::parse(machine.driver.core.snapshot().dump()));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().state().jobs.at(machine.borrower).loaned, 4);
    EXPECT_EQ(again.value().state().indices(), machine.driver.core.state().indices());
}

}  // namespace
}  // namespace elastic::rm
