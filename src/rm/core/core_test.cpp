/* The core, event by event: requests of people, steps, nodes, time, and restarts. */

#include "core/core.h"

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_job_is_not_resized_to_nothing)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    driver.send(Resize{"r", job, 0});
    ASSERT_TRUE(driver.last<Answer>());
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

/* The author and the reason are in the record, in the action for the program, and in what is
 * shown. */
TEST(CoreTest, who_resized_or_cancelled_a_job_and_why_is_recorded)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    driver.send(Resize{"r", job, 2, "alice", "the fine grid begins"});
    const Record *record = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->data.at("by"), "alice");
    EXPECT_EQ(record->data.at("reason"), "the fine grid begins");
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->reason, "the fine grid begins");
    driver.commit(job);
    ASSERT_TRUE(driver.job(job).last_change);
    EXPECT_EQ(driver.job(job).last_change->reason, "the fine grid begins");
    driver.send(Cancel{{"c", job}, "bob", "wrong input"});
    EXPECT_EQ(driver.job(job).reason, "cancelled by bob: wrong input");
    driver.end(job);
    EXPECT_EQ(driver.recorded(record::ENDED)->data.at("reason"), "cancelled by bob: wrong input");
}

TEST(CoreTest, what_a_job_has_used_is_known_by_size)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    int size = driver.job(job).size();
    driver.wait(3000);
    driver.send(Resize{"r", job, 2});
    driver.commit(job);
    driver.wait(2000);
    driver.send(StepEnded{job, 1, 0, "", false, 4500, 1 << 20});
    const Job &ended = driver.job(job);
    ASSERT_EQ(ended.state, JobState::DONE);
    ASSERT_EQ(ended.times.size(), 2u);
    EXPECT_EQ(ended.times[0].size, size);
    EXPECT_GE(ended.times[0].ms, 3000);
    EXPECT_EQ(ended.times[1].size, 2);
    EXPECT_GE(ended.times[1].ms, 2000);
    EXPECT_EQ(ended.cpu_ms, 4500);
    EXPECT_EQ(ended.rss_bytes, 1 << 20);
    std::vector<TimeAtSize> times;
    for (int each = 1; each <= static_cast<int>(TIMES_MAX) + 2; each++)
        add_time_at_size(times, each, 1);
    ASSERT_EQ(times.size(), TIMES_MAX + 1) << "what a job leaves has a bound";
    EXPECT_EQ(times.back(), (TimeAtSize{0, 2 * static_cast<int>(TIMES_MAX) + 3}));
}

TEST(CoreTest, the_reason_of_a_failed_start_survives_a_cancel)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(rigid(2));
    driver.send(StepStartFailed{job, 1, "no descriptor"});
    ASSERT_EQ(driver.job(job).state, JobState::PENDING);
    driver.send(Cancel{{"c", job}, "bob"});
    EXPECT_EQ(driver.job(job).reason,
              "cancelled by bob while it waited; the step could not be started: no descriptor");
}

TEST(CoreTest, without_a_history_all_but_the_records_is_the_same)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    Core quiet;
    quiet.keep_no_history();
    JobId job = driver.submit(malleable(1, 8));
    driver.run(job);
    JobId other = driver.submit(rigid(6));
    driver.commit(job);
    driver.run(other);
    driver.end(job);
    driver.end(other);
    for (const Event &event : driver.log) {
        for (const Action &action : quiet.handle(event))
            EXPECT_FALSE(std::holds_alternative<Record>(action)) << to_json(action).dump();
    }
    EXPECT_GT(driver.core.state().records, 8u);
    EXPECT_EQ(quiet.snapshot(), driver.core.snapshot());
}

/* A change under way may have happened: its cores are the job's until its end, and nothing changes
 * its size. */
TEST(CoreTest, a_step_that_breaks_the_protocol_keeps_all_that_it_may_have)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    int before = driver.node("n0").used, size = driver.job(job).size();
    driver.send(Resize{"r", job, size == 1 ? 2 : size - 1});
    ASSERT_TRUE(driver.job(job).adaptation);
    uint64_t request = driver.job(job).adaptation->request;
    int booked = driver.node("n0").used;
    driver.send(StepAccepted{job, 1, request, 1});
    driver.send(StepBroken{job, 1, "lies"});
    EXPECT_TRUE(driver.recorded("step_broken"));
    EXPECT_FALSE(driver.job(job).adaptation);
    EXPECT_EQ(driver.node("n0").used, std::max(before, booked));
    driver.send(StepCommitted{job, 1, request, 1, 1});
    driver.send(StepFreed{job, 1, 1});
    EXPECT_EQ(driver.job(job).size(), size);
    EXPECT_EQ(driver.node("n0").used, std::max(before, booked));
    driver.send(Resize{"r2", job, 3});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::RIGID);
    driver.end(job);
    EXPECT_EQ(driver.node("n0").used, 0);
}

/* SM1, SL1, SW3: it has called MPI_Init, and then changes through process sets. */
TEST(CoreTest, processes_that_end_by_themselves_free_their_cores)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(2, 6);
    JobId job = driver.submit(spec);
    driver.run(job);
    int size = driver.job(job).size(), used = driver.node("n0").used + driver.node("n1").used;
    ASSERT_GE(size, 2);
    driver.send(Resize{"r", job, size == 6 ? 5 : size + 1});
    driver.send(StepLeft{job, 1, 1, {0}});
    EXPECT_EQ(driver.job(job).size(), size - 1);
    EXPECT_EQ(driver.job(job).epoch, 1u);
    EXPECT_FALSE(driver.job(job).adaptation) << "it was requested with the old ranks";
    EXPECT_EQ(driver.node("n0").used + driver.node("n1").used, used - 1);
    EXPECT_TRUE(driver.recorded(record::LEFT));
    driver.send(StepLeft{job, 1, 1, {0}});
    EXPECT_EQ(driver.job(job).size(), size - 1) << "reported again";
    driver.send(StepLeft{job, 1, 3, {0}});
    driver.send(StepLeft{job, 1, 2, {size}});
    EXPECT_EQ(driver.job(job).epoch, 1u) << "they cannot be";
    driver.send(Resize{"r2", job, 3});
    driver.commit(job);
    EXPECT_EQ(driver.job(job).size(), 3);
    EXPECT_EQ(driver.job(job).epoch, 2u);
    driver.end(job);
    EXPECT_EQ(driver.node("n0").used + driver.node("n1").used, 0);
}

TEST(CoreTest, SM3_what_a_program_answers_to_changes_of_sets_is_counted)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId job = driver.submit(malleable(2, 6));
    driver.run(job);
    driver.send(Resize{"r", job, 3});
    uint64_t request = driver.job(job).adaptation->request;
    auto change = [&](uint64_t of, uint64_t number, SetStage stage, uint64_t uid) {
        driver.send(StepSetChange{job, 1, of, number, stage, uid});
    };
    change(request, 1, SetStage::NOTIFIED, 0);
    EXPECT_TRUE(driver.recorded(record::NOTIFIED));
    change(request, 2, SetStage::NOTIFIED, 1);
    change(request, 1, SetStage::NOTIFIED, 0);
    change(request + 1, 1, SetStage::NOTIFIED, 0);
    ASSERT_TRUE(driver.job(job).set_changes);
    EXPECT_EQ(driver.job(job).set_changes->reported, 2u) << "once each, and of what was requested";
    driver.commit(job);
    change(request, 3, SetStage::ACCEPTED, 1);
    EXPECT_TRUE(driver.recorded(record::ACCEPTED));
    const SetChanges &known = *driver.job(job).set_changes;
    EXPECT_EQ(known.accepted, 1u) << "a removal may be complete before";
    EXPECT_EQ(known.stage, SetStage::ACCEPTED);
    EXPECT_EQ(known.uid, 1u);
    driver.send(Resize{"r2", job, 4});
    change(driver.job(job).adaptation->request, 1, SetStage::NOTIFIED, 0);
    change(driver.job(job).adaptation->request, 2, SetStage::DECLINED, 0);
    EXPECT_EQ(driver.job(job).set_changes->declined, 1u);
    driver.end(job);
}

TEST(CoreTest, a_rigid_program_may_come_to_change_through_process_sets)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId job = driver.submit(malleable(1, 8));
    driver.send(StepStarted{job, 1});
    driver.send(StepRigid{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::RIGID);
    driver.send(StepAdaptive{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::ADAPTIVE);
    driver.send(StepRigid{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::ADAPTIVE) << "not the other way";
}

/* ---- from submission to the end ------------------------------------------------------------ */

TEST(CoreTest, a_job_runs_and_ends)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(6));
    const StartStep *start = driver.last<StartStep>();
    ASSERT_TRUE(start);
    EXPECT_EQ(start->job, id);
    EXPECT_EQ(start->step, 1u);
    EXPECT_EQ(start->blocks, (Blocks{{"n0", 4}, {"n1", 2}}));
    EXPECT_EQ(driver.job(id).state, JobState::STARTING);
    EXPECT_EQ(driver.node("n1").used, 2);
    driver.run(id);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.end(id);
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.node("n0").used, 0);
    EXPECT_TRUE(driver.recorded(record::ENDED));
}

TEST(CoreTest, an_exit_code_makes_it_fail)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(2));
    driver.end(id, 3);          /* so quick that nothing else was received */
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).exit_code, 3);
    EXPECT_EQ(driver.job(id).reason, "exit code 3");
}

TEST(CoreTest, a_submission_that_is_repeated_is_one_job)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    driver.send(Submit{"same", rigid(1)});
    driver.send(Submit{"same", rigid(1)});
    EXPECT_EQ(driver.last<Answer>()->job, 1u);
    EXPECT_FALSE(driver.last<StartStep>());
    EXPECT_EQ(driver.core.state().jobs.size(), 1u);
}

TEST(CoreTest, what_cannot_be_is_refused_and_changes_nothing)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    auto refused = [&](EventContent content) {
        driver.send(std::move(content));
        return driver.last<Answer>()->code;
    };
    EXPECT_EQ(refused(Submit{"a", rigid(9)}), AnswerCode::CAPACITY);
    EXPECT_EQ(refused(Submit{"b", rigid(0)}), AnswerCode::FIELD);
    EXPECT_EQ(refused(Submit{"", rigid(1)}), AnswerCode::FIELD);
    EXPECT_EQ(refused(Submit{std::string(65, 'x'), rigid(1)}), AnswerCode::FIELD);
    JobSpec wide = rigid(4);
    wide.processes_per_node = 1;
    EXPECT_EQ(refused(Submit{"c", wide}), AnswerCode::CAPACITY);
    EXPECT_EQ(refused(Cancel{{"d", 1}}), AnswerCode::UNKNOWN);
    EXPECT_EQ(refused(Drain{"e", "n7", ""}), AnswerCode::UNKNOWN);
    EXPECT_EQ(refused(Resume{"f", "n0"}), AnswerCode::STATE);
    EXPECT_TRUE(driver.core.state().jobs.empty());
    JobId id = driver.submit(rigid(1));
    driver.run(id);
    EXPECT_EQ(refused(Hold{{"g", id}}), AnswerCode::STATE);
    EXPECT_EQ(refused(Release{{"h", id}}), AnswerCode::STATE);
    EXPECT_EQ(refused(Resize{"i", id, 2}), AnswerCode::RIGID);
    driver.end(id);
    EXPECT_EQ(refused(Cancel{{"j", id}}), AnswerCode::STATE);
}

TEST(CoreTest, jobs_are_limited)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.jobs_max = 2;
    config.finished_max = 1;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    JobId first = driver.submit(rigid(1)), second = driver.submit(rigid(1));
    driver.send(Submit{"x", rigid(1)});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::LIMIT);
    driver.end(first);
    EXPECT_EQ(driver.submit(rigid(1)), 3u);
    driver.end(second);
    EXPECT_TRUE(driver.core.state().job(first)) << "until the next event";
    driver.wait(1);
    EXPECT_TRUE(driver.last<RemoveJob>());
    EXPECT_FALSE(driver.core.state().job(first));
    driver.send(StepEnded{first, 1, 0, ""});    /* repeated, of a job that is removed */
    EXPECT_EQ(driver.core.state().unexpected, 0u);
}

TEST(CoreTest, jobs_that_end_by_one_event_are_known_until_the_next)
{
    constexpr size_t DEPENDENT = 5;
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.finished_max = 2;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    JobId first = driver.submit(rigid(1));
    driver.run(first);
    JobSpec after = rigid(1);
    after.dependencies = {{DependencyKind::AFTER_OK, first}};
    for (size_t i = 0; i < DEPENDENT; i++)
        driver.submit(after);
    driver.end(first, 1);
    size_t ended = 0;
    for (const Action &action : driver.actions) {
        auto record = std::get_if<Record>(&action);
        if (!record || record->event != record::ENDED)
            continue;
        ended++;
        EXPECT_TRUE(driver.core.state().job(record->job)) << record->job << " is not known";
    }
    EXPECT_EQ(ended, DEPENDENT + 1) << "the dependent ones are cancelled with it";
    driver.wait(1);
    EXPECT_EQ(driver.core.state().jobs.size(), 2u);
}

/* CoreDriver compares the indices with those of a new core after each event. */
TEST(CoreTest, another_configuration_moves_the_jobs_that_it_concerns)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.priority_weight_ms = 0;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 4});
    JobId running = driver.submit(rigid(4)), first = driver.submit(rigid(4));
    JobSpec urgent = rigid(4);
    urgent.priority = 1;
    JobId second = driver.submit(urgent);
    auto front = [&driver] {
        const State &state = driver.core.state();
        auto walk = state.indices().queue.begin();
        return (*walk).job;
    };
    EXPECT_EQ(front(), first);
    config.priority_weight_ms = 60000;
    driver.send(Configure{config});
    EXPECT_EQ(front(), second);
    config.kill_grace_ms++;     /* nothing of the queue depends on it */
    driver.send(Configure{config});
    EXPECT_EQ(front(), second);
    config.priority_weight_ms = 0;
    driver.send(Configure{config});
    EXPECT_EQ(front(), first);
    driver.run(running);
    driver.end(running, 0);
    EXPECT_EQ(driver.job(first).state, JobState::STARTING);
}

TEST(CoreTest, waiting_jobs_are_held_released_and_cancelled)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobSpec held = rigid(1);
    held.held = true;
    JobId id = driver.submit(held);
    EXPECT_FALSE(driver.last<StartStep>());
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(id)), "held");
    driver.send(Release{{"r", id}});
    EXPECT_TRUE(driver.last<StartStep>());
    JobId other = driver.submit(rigid(4));
    driver.send(Hold{{"h", other}});
    driver.end(id);
    EXPECT_EQ(driver.job(other).state, JobState::PENDING);
    driver.send(Cancel{{"c", other}});
    EXPECT_EQ(driver.job(other).state, JobState::CANCELLED);
}

TEST(CoreTest, a_running_job_is_cancelled_and_its_cores_are_free_when_it_has_ended)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    driver.run(id);
    driver.send(Cancel{{"c", id}});
    EXPECT_EQ(driver.last<SignalStep>()->signal, 15);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    JobId next = driver.submit(rigid(1));
    EXPECT_EQ(driver.job(next).state, JobState::PENDING);
    driver.wait(driver.core.state().config.kill_grace_ms);
    EXPECT_EQ(driver.last<SignalStep>()->signal, 9);
    driver.send(StepEnded{id, 1, 0, ""});
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
    EXPECT_EQ(driver.job(next).state, JobState::STARTING);
}

TEST(CoreTest, the_time_limit_counts_from_the_start_of_the_step)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.wait(20000);
    driver.run(id);
    driver.wait(59999);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.wait(1);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 143);
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the time limit of 60 s is reached");
}

TEST(CoreTest, a_job_that_ended_well_between_polls_is_done)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.run(id);
    driver.wait(3600000);       /* elasticd was down; the first it does is to end the step */
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 0);
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.job(id).reason, "");
}

TEST(CoreTest, a_job_that_was_stopped_has_failed_even_with_code_0)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.run(id);
    driver.wait(60000);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(StepEnded{id, 1, 0, "", true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the time limit of 60 s is reached");
}

/* ---- starts that go wrong ------------------------------------------------------------ */

TEST(CoreTest, a_start_that_fails_is_tried_again_and_given_up)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    for (uint32_t step = 1; step <= 3; step++) {
        EXPECT_EQ(driver.job(id).step, step);
        driver.send(StepStartFailed{id, step, "no such file"});
        driver.wait(step * driver.core.state().config.start_pause_ms);
    }
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the step could not be started: no such file");
}

TEST(CoreTest, a_start_that_nobody_answers_is_sent_again_with_the_same_key)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    int sent = 0, killed = 0;
    for (int i = 0; i < 40 && killed == 0; i++) {
        driver.wait(30000);
        if (const StartStep *start = driver.last<StartStep>()) {
            EXPECT_EQ(start->step, 1u);
            sent++;
        }
        killed += driver.last<SignalStep>() != nullptr;
    }
    EXPECT_EQ(sent, driver.core.state().config.answer_tries_max - 1);
    EXPECT_EQ(killed, 1);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(StepLost{id, 1, "never seen"});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
}

/* No program would start there. */
TEST(CoreTest, a_node_that_starts_nothing_is_drained_and_its_jobs_wait)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    std::vector<JobId> jobs;
    for (int i = 0; i < 4; i++)
        jobs.push_back(driver.submit(rigid(4)));
    for (int i = 0; i < 3; i++) {
        JobId on_it = 0;
        for (JobId id : jobs)
            if (driver.job(id).state == JobState::STARTING && driver.job(id).blocks ==
                    Blocks{{"n0", 4}})
                on_it = id;
        ASSERT_NE(on_it, 0u) << i;
        driver.send(StepStartFailed{on_it, driver.job(on_it).step, "no descriptor", true});
        EXPECT_EQ(driver.job(on_it).state, JobState::PENDING);
        EXPECT_EQ(driver.job(on_it).start_failures, 0);
        const Record *requeued = driver.recorded(record::REQUEUED);
        ASSERT_TRUE(requeued);
        EXPECT_EQ(requeued->data["reason"],
                  "the step could not be started on node n0: no descriptor");
    }
    EXPECT_TRUE(driver.node("n0").draining);
    EXPECT_EQ(driver.node("n0").reason,
              "3 steps could not be started on it within a minute: no descriptor");
    EXPECT_TRUE(driver.recorded(record::NODE_DRAINING));
    EXPECT_FALSE(driver.node("n1").draining);
    driver.wait(3600000);
    for (JobId id : jobs)
        EXPECT_NE(driver.job(id).state, JobState::FAILED) << id;
}

TEST(CoreTest, faults_of_a_node_that_are_far_apart_drain_nothing)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    for (int i = 0; i < 6; i++) {
        ASSERT_EQ(driver.job(id).state, JobState::STARTING) << i;
        driver.send(StepStartFailed{id, driver.job(id).step, "no descriptor", true});
        driver.wait(40000);
    }
    EXPECT_FALSE(driver.node("n0").draining);
}

TEST(CoreTest, jobs_on_a_node_that_is_taken_out_go_on)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId running = driver.submit(rigid(4));
    driver.run(running);
    std::string name = (*driver.job(running).blocks.begin()).node;
    driver.send(NodeRemoved{name});
    EXPECT_TRUE(driver.recorded(record::NODE_REMOVED));
    EXPECT_EQ(driver.job(running).state, JobState::RUNNING);
    JobId other = driver.submit(rigid(4)), waits = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(other).state, JobState::STARTING);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING) << "nothing is booked on it";
    driver.end(running);
    EXPECT_FALSE(driver.core.state().node(name));
    driver.send(NodeUp{name, 4});
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING) << "it is back";
}

TEST(CoreTest, a_hold_of_an_administrator_is_released_by_one)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 1);
    driver.submit(rigid(1));
    JobId id = driver.submit(rigid(1));
    driver.send(Hold{{"own", id}});
    driver.send(Hold{{"administrator", id}, true});
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(id)), "held by an administrator");
    driver.send(Hold{{"again", id}});
    driver.send(Release{{"own", id}});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    EXPECT_TRUE(driver.job(id).held);
    driver.send(Release{{"administrator", id}, true});
    EXPECT_FALSE(driver.job(id).held);
    driver.send(Hold{{"own", id}});
    driver.send(Release{{"own", id}});
    EXPECT_FALSE(driver.job(id).held) << "one's own hold";
}

/* ---- nodes ------------------------------------------------------------ */

TEST(CoreTest, a_node_that_goes_down_ends_its_jobs)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec again = rigid(4);
    again.requeue = true;
    JobId fails = driver.submit(rigid(4)), waits = driver.submit(again);
    driver.run(fails);
    driver.run(waits);
    driver.send(NodeDown{"n0", "no heartbeat"});
    EXPECT_EQ(driver.job(fails).state, JobState::COMPLETING);
    EXPECT_EQ(driver.job(waits).state, JobState::RUNNING);
    driver.end(fails, 137);
    EXPECT_EQ(driver.job(fails).reason, "node n0 is down (no heartbeat)");
    driver.send(NodeDown{"n1", "power"});
    driver.end(waits, 137);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.core.state().indices().free_cores, 0);
    driver.send(NodeUp{"n0", 4});
    driver.wait(driver.core.state().config.start_pause_ms);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(waits).step, 2u);
    driver.send(StepEnded{waits, 1, 0, ""});    /* late, of the first step */
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
}

TEST(CoreTest, a_suspect_node_keeps_its_jobs_and_gets_no_others)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(4));
    driver.run(id);
    driver.send(NodeSuspect{"n1", "no answer"});
    EXPECT_EQ(driver.core.state().node("n1")->state(), NodeState::DRAINING);
    JobId waits = driver.submit(rigid(2));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    driver.send(NodeSuspect{"n0", "no answer"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.send(NodeUp{"n1", 4});
    EXPECT_EQ(driver.core.state().node("n1")->why(), "");
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    /* An administrator's drain and the back end's doubt do not end each other. */
    driver.send(Drain{"d", "n0", "repair"});
    driver.send(NodeUp{"n0", 4});
    EXPECT_EQ(driver.core.state().node("n0")->state(), NodeState::DRAINING);
    EXPECT_EQ(driver.core.state().node("n0")->why(), "repair");
    driver.send(NodeSuspect{"n0", "no answer"});
    driver.send(Resume{"r", "n0"});
    EXPECT_EQ(driver.core.state().node("n0")->state(), NodeState::DRAINING);
    driver.send(NodeDown{"n0", "dead"});
    EXPECT_EQ(driver.core.state().node("n0")->why(), "dead");
    driver.send(NodeSuspect{"n0", "late"});
    EXPECT_EQ(driver.core.state().node("n0")->why(), "dead");
}

TEST(CoreTest, a_node_may_be_down_from_the_beginning)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    driver.send(NodeDown{"x", "no such host", 8});
    ASSERT_NE(driver.core.state().node("x"), nullptr);
    EXPECT_EQ(driver.core.state().node("x")->state(), NodeState::DOWN);
    JobId id = driver.submit(rigid(8));
    EXPECT_EQ(driver.job(id).state, JobState::PENDING) << "it would fit, were the node up";
    driver.send(NodeDown{"x", "no route"});
    EXPECT_EQ(driver.core.state().node("x")->reason, "no route");
    driver.send(NodeUp{"x", 8});
    EXPECT_EQ(driver.job(id).state, JobState::STARTING);
}

TEST(CoreTest, nothing_is_allocated_on_a_draining_node)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.send(Drain{"d", "n0", "repair"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    JobId big = driver.submit(rigid(5)), small = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(big).state, JobState::PENDING);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(big)), "nodes are down or draining");
    EXPECT_EQ(driver.job(small).blocks, (Blocks{{"n1", 4}}));
    driver.end(id);
    driver.end(small);
    driver.send(Resume{"r", "n0"});
    EXPECT_EQ(driver.job(big).state, JobState::STARTING);
}

TEST(CoreTest, a_removed_node_is_deleted_when_it_is_empty)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.send(NodeRemoved{"n0"});
    driver.send(NodeRemoved{"n1"});
    EXPECT_EQ(driver.core.state().nodes.size(), 1u);
    driver.end(id, 1);
    EXPECT_TRUE(driver.core.state().nodes.empty());
    driver.send(NodeUp{"n0", 8});
    EXPECT_EQ(driver.node("n0").cores, 8);
}

/* ---- changes of size ------------------------------------------------------------ */

TEST(CoreTest, a_user_shrinks_and_grows_a_job)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(2, 8);
    spec.preferred = 6;
    JobId id = driver.submit(spec);
    driver.send(Resize{"early", id, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    driver.run(id);
    driver.send(Resize{"r1", id, 3});
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->leave, (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(resize->epoch, 0u);
    EXPECT_EQ(driver.job(id).state, JobState::ADAPTING);
    driver.send(Resize{"r2", id, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::BUSY);
    driver.commit(id, false);
    EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n0", 3}}));
    EXPECT_EQ(driver.node("n1").used, 2);       /* until they have really ended */
    driver.send(StepFreed{id, 1, 1});
    EXPECT_EQ(driver.node("n1").used, 0);
    EXPECT_EQ(driver.node("n0").used, 3);
    driver.send(Resize{"r3", id, 8});
    EXPECT_EQ(driver.last<ResizeStep>()->joining, (Blocks{{"n0", 1}, {"n1", 4}}));
    driver.commit(id);
    EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n0", 4}, {"n1", 4}}));
    EXPECT_EQ(driver.job(id).epoch, 2u);
    driver.send(Resize{"r4", id, 9});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

TEST(CoreTest, a_change_that_comes_to_nothing_leaves_all_as_it_was)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    EXPECT_EQ(driver.core.state().indices().free_cores, 3);
    driver.send(StepWithdrawn{id, 1, 1, "a joining process died"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(id).size(), 2);
    EXPECT_EQ(driver.core.state().indices().free_cores, 6);
    driver.send(StepWithdrawn{id, 1, 1, "again"});      /* repeated */
    driver.send(StepCommitted{id, 1, 1, 1, 0});         /* and contradicted */
    EXPECT_EQ(driver.core.state().unexpected, 1u);
    EXPECT_EQ(driver.job(id).epoch, 0u);
}

TEST(CoreTest, a_job_that_ends_while_it_adapts_ends_the_request_too)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    driver.end(id);
    EXPECT_TRUE(driver.recorded(record::WITHDRAWN));
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.core.state().indices().free_cores, 8);
}

TEST(CoreTest, a_slow_program_is_not_waited_for_for_ever)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    driver.wait(driver.core.state().config.answer_timeout_ms);
    ASSERT_TRUE(driver.last<ResizeStep>());     /* the answer may have been dropped */
    EXPECT_EQ(driver.last<ResizeStep>()->request, 1u);
    driver.send(StepAccepted{id, 1, 1, 77});
    driver.wait(driver.core.state().config.adapt_patience_ms);
    ASSERT_TRUE(driver.last<CancelRequest>());
    EXPECT_EQ(driver.last<CancelRequest>()->step_request, 77u);
    EXPECT_TRUE(driver.last<QueryStep>());
    driver.send(StepCommitted{id, 1, 1, 1, 0}); /* it was agreed already */
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(id).size(), 5);
}

/* ---- a back end that must request nodes ------------------------------------------------------ */

class AsynchronousTest : public testing::Test {
  protected:
    static Config config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FCFS);
        config.asynchronous_nodes = true;
        return config;
    }
    AsynchronousTest() : driver(config())
    {
        for (const char *node : {"n0", "n1", "n2"})
            driver.send(NodeUp{node, 4});
    }
    CoreDriver driver;
};

TEST_F(AsynchronousTest, nodes_are_requested_and_released)
{
    JobSpec spec = malleable(1, 8);
    spec.preferred = 4;
    JobId id = driver.submit(spec);
    ASSERT_TRUE(driver.last<AcquireNodes>());
    EXPECT_FALSE(driver.last<StartStep>());
    driver.send(NodesAcquired{id, 1, 0, {{"n2", 4}}});          /* others than requested */
    EXPECT_EQ(driver.last<StartStep>()->blocks, (Blocks{{"n2", 4}}));
    EXPECT_EQ(driver.node("n0").used, 0);
    driver.run(id);
    driver.send(Resize{"r1", id, 8});
    EXPECT_EQ(driver.last<AcquireNodes>()->request, 1u);
    EXPECT_FALSE(driver.last<ResizeStep>());
    driver.send(NodesAcquired{id, 1, 1, {{"n1", 4}}});
    EXPECT_EQ(driver.last<ResizeStep>()->joining, (Blocks{{"n1", 4}}));
    driver.commit(id);
    driver.send(Resize{"r2", id, 4});
    driver.commit(id);
    ASSERT_TRUE(driver.last<ReleaseNodes>());
    EXPECT_EQ(driver.last<ReleaseNodes>()->request, 2u);
    EXPECT_EQ(driver.node("n1").used, 4);
    driver.send(NodesReleased{id, 1, 2, false});
    EXPECT_EQ(driver.node("n1").used, 0);
    driver.end(id);
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
}

TEST_F(AsynchronousTest, nodes_of_a_change_that_comes_to_nothing_are_given_back)
{
    JobSpec spec = malleable(1, 8);
    spec.preferred = 4;
    JobId id = driver.submit(spec);
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});
    driver.run(id);
    driver.send(Resize{"r1", id, 8});
    Blocks blocks = driver.last<AcquireNodes>()->blocks;
    driver.send(NodesAcquired{id, 1, 1, blocks});
    driver.send(StepFailed{id, 1, 1, "a joining process died"});
    ASSERT_TRUE(driver.last<ReleaseNodes>());
    EXPECT_EQ(driver.last<ReleaseNodes>()->blocks, blocks);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
    driver.send(NodesReleased{id, 1, 1, false});
    EXPECT_EQ(driver.core.state().indices().free_cores, 8);
}

TEST_F(AsynchronousTest, a_job_is_cancelled_while_nodes_are_requested)
{
    JobId id = driver.submit(rigid(4));
    driver.send(Cancel{{"c", id}});
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    EXPECT_FALSE(driver.last<SignalStep>());
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});  /* crossed */
    EXPECT_FALSE(driver.last<StartStep>());
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
}

TEST_F(AsynchronousTest, nodes_that_are_taken_away_end_the_job_with_that_reason)
{
    JobId id = driver.submit(rigid(4));
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});
    driver.run(id);
    driver.send(NodesLost{id, 1, "Slurm job 7 was cancelled"});
    ASSERT_TRUE(driver.last<SignalStep>());
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 143);
    driver.send(NodesLost{id, 1, "Slurm job 7 was cancelled"});
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "Slurm job 7 was cancelled");
}

/* The step's end arrives first. */
TEST_F(AsynchronousTest, the_reason_of_an_end_may_come_later)
{
    JobSpec again = rigid(4);
    again.requeue = true;
    JobId fails = driver.submit(rigid(4)), waits = driver.submit(again),
          done = driver.submit(rigid(4));
    JobId node = 0;
    for (JobId id : {fails, waits, done}) {
        driver.send(NodesAcquired{id, 1, 0, {{"n" + std::to_string(node++), 4}}});
        driver.run(id);
        driver.end(id, id == done ? 0 : 1);
        driver.send(NodesLost{id, 1, "taken"});
        driver.send(NodesReleased{id, 1, 0, true});
    }
    EXPECT_EQ(driver.job(fails).state, JobState::FAILED);
    EXPECT_EQ(driver.job(fails).reason, "taken; exit code 1");
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.job(done).state, JobState::DONE);
}

TEST_F(AsynchronousTest, a_start_waits_again_if_its_nodes_go_down_before_they_are_its_own)
{
    JobId id = driver.submit(rigid(12));
    driver.send(NodeDown{"n1", "in use"});
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
}

TEST_F(AsynchronousTest, nodes_that_cannot_be_used_are_given_back)
{
    JobId first = driver.submit(rigid(4));
    driver.send(NodesAcquired{first, 1, 0, {{"n0", 4}}});
    JobId id = driver.submit(rigid(4));
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});  /* somebody else's */
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    driver.wait(driver.core.state().config.start_pause_ms);
    EXPECT_EQ(driver.last<AcquireNodes>()->step, 2u);
    driver.send(NodesRefused{id, 2, 0, "the partition is closed"});
    driver.send(NodesReleased{id, 2, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    EXPECT_EQ(driver.job(id).reason, "the partition is closed");
}

TEST_F(AsynchronousTest, a_start_that_is_never_possible_ends_the_job)
{
    JobSpec spec = rigid(4);
    spec.requeue = true;
    JobId id = driver.submit(spec);
    driver.send(NodesRefused{id, 1, 0, "its time limit is too long", true});
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "its time limit is too long");
}

/* ---- restarts ------------------------------------------------------------ */

TEST(CoreTest, a_restored_core_goes_on_as_the_first_would_have)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 3;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.submit(rigid(4, 60000));
    driver.send(Resize{"r1", id, 2});
    Json snapshot = driver.core.snapshot();
    Result<Core> again = Core::restore(Json::parse(snapshot.dump()));
    ASSERT_TRUE(again.ok()) << again.error();
    EXPECT_EQ(again.value().snapshot(), snapshot);
    Event event{driver.core.state().seq + 1, driver.now_ms + 5, StepCommitted{id, 1, 1, 1, 0}};
    Actions first = driver.core.handle(event), second = again.value().handle(event);
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); i++)
        EXPECT_EQ(to_json(first[i]), to_json(second[i]));
    EXPECT_EQ(again.value().snapshot(), driver.core.snapshot());
    EXPECT_TRUE(driver.core.handle(event).empty());     /* handled already */
}

TEST(CoreTest, an_awaited_answer_can_be_requested_again)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId adapts = driver.submit(spec), ends = driver.submit(rigid(1));
    JobId starts = driver.submit(rigid(1));
    driver.run(adapts);
    driver.run(ends);
    driver.send(Resize{"r1", adapts, 1});
    driver.send(Cancel{{"c", ends}});
    std::map<std::string, JobId> found;
    for (const Action &action : driver.core.pending())
        found[name_of(action)] = to_json(action).value("job", JobId{0});
    EXPECT_EQ(found["resize_step"], adapts);
    EXPECT_EQ(found["signal_step"], ends);
    EXPECT_EQ(found["start_step"], starts);
    EXPECT_TRUE(found.contains("query_step"));
    EXPECT_TRUE(found.contains("set_timer"));
}

TEST(CoreTest, broken_snapshots_are_refused)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    driver.submit(rigid(2));
    auto refused = [&](auto change) {
        Json snapshot = driver.core.snapshot();
        change(snapshot);
        return !Core::restore(snapshot).ok();
    };
    EXPECT_FALSE(refused([](Json &) {}));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot = 7; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["version"] = 2; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["nodes"].clear(); }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["state"] = "ASLEEP"; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["blocks"] = 1; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["last_job"] = 0; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["state"] = "DONE"; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"].push_back(snapshot["jobs"][0]); }));
}

TEST(CoreTest, steps_are_queried_periodically)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.wait(driver.core.state().config.poll_interval_ms);
    ASSERT_TRUE(driver.last<QueryStep>());
    EXPECT_EQ(driver.last<QueryStep>()->job, id);
    EXPECT_TRUE(driver.last<SetTimer>());
}

/* Its joining processes were about to be freed already; now all are, and the first that waits needs
 * the idle node no more. */
TEST(CoreTest, who_ends_while_some_of_it_is_freed_lets_others_start)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.asynchronous_nodes = true;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 4});
    JobSpec spec = malleable(4, 8);
    spec.size_rule = SizeRule::MULTIPLE;
    spec.size_multiple = 4;
    JobId ends = driver.submit(spec);
    driver.send(NodesAcquired{ends, 1, 0, {{"n0", 4}}});
    driver.run(ends);
    driver.send(NodeUp{"n1", 4});
    driver.send(NodesAcquired{ends, 1, 1, {{"n1", 4}}});
    ASSERT_EQ(driver.job(ends).state, JobState::ADAPTING);
    driver.send(NodeUp{"n2", 4});
    driver.send(StepBroken{ends, 1, "test"});
    JobId large = driver.submit(rigid(8)), small = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(small).state, JobState::PENDING);
    driver.end(ends);
    EXPECT_EQ(driver.job(large).state, JobState::PENDING);
    EXPECT_EQ(driver.job(small).state, JobState::STARTING);
}

}  // namespace
}  // namespace elastic::rm
