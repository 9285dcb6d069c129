/* The step as a whole, event by event, through the C interface. */

#include <gtest/gtest.h>

#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {
namespace {

constexpr uint32_t KILLED = 9;  /* wait status of a process that SIGKILL ended */

class StepTest : public testing::Test {
  protected:
    /* Two processes on node a (proxy 0) and b (proxy 1), both adaptive. */
    void start(const char *schedule)
    {
        mpiexec.config.schedule = schedule;
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "b"});
        mpiexec.init(0, 0, 0);
        mpiexec.init(0, 1, 1);
    }
    void resize(const std::string &fields)
    {
        Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize",)" + fields + "}").at(0);
        ASSERT_TRUE(answer.at("ok")) << answer;
    }
    /* Brings the expansion `group` of two processes, both on node b, to `ready`. */
    void join_two(int group, uint32_t epoch)
    {
        mpiexec.start_group(group, {"b", "b"});
        for (uint32_t rank = 0; rank < 2; rank++) {
            mpiexec.init(group, 0, rank);
            mpiexec.ready(group, 0, rank, epoch);
        }
        mpiexec.prepared(group, 0, epoch);
        mpiexec.greeted(group, 0, epoch);
        mpiexec.prepared(0, 0, epoch);
        mpiexec.prepared(0, 1, epoch);
    }
    /* Those of the launch; where they have done so already it is no harm. */
    void prepare(uint32_t epoch)
    {
        mpiexec.prepared(0, 0, epoch);
        mpiexec.prepared(0, 1, epoch);
    }
    void freeze(uint32_t epoch)
    {
        prepare(epoch);
        mpiexec.frozen(0, 0, epoch, 12);
        mpiexec.frozen(0, 1, epoch, 17);
    }

    FakeMpiexec mpiexec;
};

TEST_F(StepTest, joining_processes_run_the_requested_program)
{
    mpiexec.config.programs = 2;
    start("4/program=1");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.launches[0].program, 1);
    EXPECT_EQ(mpiexec.last_event("requested").at("program"), 1);
    EXPECT_EQ(mpiexec.status().at("programs"), 2);
    mpiexec.send_request(1, R"({"id":1,"op":"cancel"})");
    resize(R"("size":3)");
    EXPECT_EQ(mpiexec.launches.back().program, 0);
    EXPECT_FALSE(mpiexec.last_event("requested").contains("program"));
    mpiexec.send_request(1, R"({"id":1,"op":"cancel"})");
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":3,"program":2})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "change") << answer;
    EXPECT_EQ(mpiexec.launches.size(), 2u);
}

TEST_F(StepTest, schedule_of_a_program_that_was_not_launched)
{
    mpiexec.config.programs = 2;
    mpiexec.config.size = 2;
    mpiexec.config.schedule = "4/program=2";
    EXPECT_EQ(mpiexec.create(),
              "adaptation schedule, entry 1 ('4/program=2', at character 1): there is no "
              "program 2: 2 programs were launched, give 0 to 1");
}

TEST_F(StepTest, schedule_grows_and_shrinks)
{
    start("4,1");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.launches[0].count, 2);
    EXPECT_EQ(mpiexec.launches[0].pre, 2);
    EXPECT_EQ(mpiexec.launches[0].first_uid, 2u);
    EXPECT_EQ(mpiexec.launches[0].epoch, 1u);
    EXPECT_EQ(mpiexec.sent_text(), "");
    join_two(1, 1);
    EXPECT_EQ(mpiexec.sent_text(), "plan:1.0 plan:0.0 plan:0.1 freeze:0.0 freeze:0.1");
    EXPECT_EQ(mpiexec.sent[3].payload, write_number(2));
    size_t seen = mpiexec.sent.size();
    freeze(1);
    EXPECT_EQ(mpiexec.sent_text(seen), "target:0.0 target:0.1 target:1.0");
    EXPECT_EQ(mpiexec.sent.back().payload, write_number(17));
    seen = mpiexec.sent.size();
    mpiexec.committed(0, 0, 1);
    mpiexec.committed(1, 0, 1);
    EXPECT_EQ(mpiexec.sent.size(), seen);
    mpiexec.committed(0, 1, 1);
    EXPECT_EQ(stepmgr_world_rank(mpiexec.core, 1, 1), 3);

    /* The second entry follows at once: ranks 1 to 3 leave, nobody is launched. */
    EXPECT_EQ(mpiexec.sent_text(seen), "release:0.0 release:0.1 release:1.0 plan:0.0 plan:0.1 "
                                       "plan:1.0");
    EXPECT_EQ(mpiexec.launches.size(), 1u);
    seen = mpiexec.sent.size();
    prepare(2);
    EXPECT_EQ(mpiexec.sent_text(seen), "") << "not all have prepared to shrink";
    mpiexec.prepared(1, 0, 2);
    EXPECT_EQ(mpiexec.sent_text(seen), "freeze:0.0 freeze:0.1 freeze:1.0");
    freeze(2);
    mpiexec.frozen(1, 0, 2, 40);
    for (auto [group, proxy] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        mpiexec.committed(group, proxy, 2);
    EXPECT_EQ(mpiexec.status().at("size"), 1);
    EXPECT_EQ(mpiexec.count_events("freed"), 0);
    mpiexec.exited(0, 1, 1);
    mpiexec.exited(1, 0, 0);
    mpiexec.exited(1, 0, 1);
    EXPECT_EQ(mpiexec.last_event("freed").at("hosts"), Json::parse(R"({"b":3})"));
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
    EXPECT_TRUE(mpiexec.killed.empty());
    EXPECT_TRUE(mpiexec.notified.empty());
}

TEST_F(StepTest, a_plan_that_daemons_would_not_take_fails)
{
    constexpr uint32_t JOINING = STEP_PAYLOAD_MAX / CARD_MAX_BYTES;
    start((std::to_string(2 + JOINING) + ",1").c_str());
    mpiexec.start_group(1, std::vector<std::string>(JOINING, "b"));
    for (uint32_t rank = 0; rank < JOINING; rank++) {
        mpiexec.report(1, 0, REPORT_INIT, 0,
                       write_init({rank, true, std::string(CARD_MAX_BYTES, 'x')}));
        mpiexec.ready(1, 0, rank, 1);
    }
    std::string reason = mpiexec.last_event("failed").at("reason");
    EXPECT_NE(reason.find("the addresses of 1026 processes"), std::string::npos) << reason;
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    /* The next entry is carried out, and no plan was sent before. */
    EXPECT_EQ(mpiexec.sent_text(), "thaw:0.0 thaw:0.1 plan:0.0 plan:0.1");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

TEST_F(StepTest, boards_are_frozen_when_the_joining_processes_know_all_addresses)
{
    start("4");
    mpiexec.start_group(1, {"b", "c"});
    for (int rank = 0; rank < 2; rank++) {
        mpiexec.init(1, rank, static_cast<uint32_t>(rank));
        mpiexec.ready(1, rank, static_cast<uint32_t>(rank), 1);
    }
    EXPECT_EQ(mpiexec.sent_text(), "plan:1.0 plan:1.1");
    size_t seen = mpiexec.sent.size();
    mpiexec.prepared(1, 1, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "");
    mpiexec.greeted(1, 1, 1);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
    mpiexec.prepared(1, 1, 1);
    mpiexec.greeted(1, 1, 1);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 2) << "each is reported once";
    mpiexec.greeted(1, 0, 1);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 3) << "and prepares before it is greeted";
    EXPECT_EQ(mpiexec.sent_text(seen), "");
    mpiexec.prepared(1, 0, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "plan:0.0 plan:0.1");
    seen = mpiexec.sent.size();
    mpiexec.prepared(0, 1, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "");
    mpiexec.prepared(0, 0, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "") << "one of the joining daemons is not greeted yet";
    mpiexec.greeted(1, 0, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "freeze:0.0 freeze:0.1");
    mpiexec.prepared(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 3) << "one of the world may come late";
}

TEST_F(StepTest, processes_in_containers_of_their_own_withdraw_a_growth)
{
    start("4");
    mpiexec.start_group(1, {"b", "b"});
    for (uint32_t rank = 0; rank < 2; rank++) {
        mpiexec.report(1, 0, REPORT_INIT, 0, write_init({rank, true, "addr", 100 + rank}));
        mpiexec.ready(1, 0, rank, 1);
    }
    EXPECT_EQ(mpiexec.sent_text(), "") << "no process is notified";
    EXPECT_NE(mpiexec.last_event("withdrawn").dump().find("pid namespace"), std::string::npos);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
}

TEST_F(StepTest, a_process_that_cannot_prepare_withdraws_the_adaptation)
{
    start("4");
    mpiexec.start_group(1, {"b", "b"});
    for (uint32_t rank = 0; rank < 2; rank++) {
        mpiexec.init(1, 0, rank);
        mpiexec.ready(1, 0, rank, 1);
    }
    mpiexec.prepared(1, 0, 1);
    mpiexec.report(0, 0, REPORT_UNABLE, 2, write_unable({0, "of another time"}));
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
    mpiexec.report(0, 0, REPORT_UNABLE, 1, write_unable({0, "out of luck"}));
    EXPECT_NE(mpiexec.last_event("withdrawn").dump().find("out of luck"), std::string::npos);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

/* The first of two that cannot prepare has had it withdrawn, and the next one has begun in the same epoch. */
TEST_F(StepTest, who_could_not_prepare_for_one_adaptation_does_not_withdraw_the_next)
{
    auto launch = [this](int group) {
        mpiexec.start_group(group, {"b", "b"});
        for (uint32_t rank = 0; rank < 2; rank++) {
            mpiexec.init(group, 0, rank);
            mpiexec.ready(group, 0, rank, 1);
        }
    };
    start("4");
    launch(1);
    mpiexec.prepared(1, 0, 1);
    mpiexec.report(0, 0, REPORT_UNABLE, 1, write_unable({0, "out of luck"}));
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    resize(R"("size":4)");
    mpiexec.report(0, 1, REPORT_UNABLE, 1, write_unable({1, "the job has ended"}));
    launch(2);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    mpiexec.prepared(2, 0, 1);
    mpiexec.report(0, 1, REPORT_UNABLE, 1, write_unable({1, "out of luck, too"}));
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 2);
    EXPECT_EQ(mpiexec.killed, (std::vector<int>{1, 2}));
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

TEST_F(StepTest, processes_that_do_not_prepare_are_not_waited_for)
{
    start("4");
    mpiexec.start_group(1, {"b", "b"});
    for (uint32_t rank = 0; rank < 2; rank++) {
        mpiexec.init(1, 0, rank);
        mpiexec.ready(1, 0, rank, 1);
    }
    mpiexec.time(100);
    mpiexec.prepared(1, 0, 1);
    mpiexec.prepared(0, 0, 1);
    size_t seen = mpiexec.sent.size();
    ASSERT_GT(mpiexec.wake_ms, 100);
    mpiexec.time(mpiexec.wake_ms - 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "");
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(mpiexec.sent_text(seen), "freeze:0.0 freeze:0.1");
    seen = mpiexec.sent.size();
    mpiexec.prepared(0, 1, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "") << "boards are frozen once";
    freeze(1);
    EXPECT_EQ(mpiexec.sent_text(seen), "target:0.0 target:0.1 target:1.0");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

TEST_F(StepTest, daemons_that_choose_the_margin_get_time_to_see_the_pace)
{
    mpiexec.config.margin = 0;
    start("4,1");
    join_two(1, 1);
    EXPECT_EQ(mpiexec.sent_text(), "plan:1.0 plan:0.0 plan:0.1");
    size_t seen = mpiexec.sent.size();
    ASSERT_GT(mpiexec.wake_ms, 0);
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(mpiexec.sent_text(seen), "freeze:0.0 freeze:0.1");
    EXPECT_EQ(mpiexec.sent.back().payload, write_number(0));
    freeze(1);
    seen = mpiexec.sent.size();
    for (auto [group, proxy] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        mpiexec.committed(group, proxy, 1);
    EXPECT_EQ(mpiexec.sent_text(seen),
              "release:0.0 release:0.1 release:1.0 plan:0.0 plan:0.1 plan:1.0");
    seen = mpiexec.sent.size();
    for (auto [group, proxy] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        mpiexec.prepared(group, proxy, 2);
    EXPECT_EQ(mpiexec.sent_text(seen), "") << "also where nobody joins";
    mpiexec.time(mpiexec.wake_ms);
    EXPECT_EQ(mpiexec.sent_text(seen), "freeze:0.0 freeze:0.1 freeze:1.0");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

TEST_F(StepTest, a_withdrawal_ends_the_wait_for_preparation)
{
    start(nullptr);
    resize(R"("size":4)");
    mpiexec.start_group(1, {"b", "b"});
    for (uint32_t rank = 0; rank < 2; rank++) {
        mpiexec.init(1, 0, rank);
        mpiexec.ready(1, 0, rank, 1);
    }
    mpiexec.prepared(1, 0, 1);
    size_t seen = mpiexec.sent.size();
    mpiexec.send_request(1, R"({"id":2,"op":"cancel"})");
    EXPECT_EQ(mpiexec.sent_text(seen), "thaw:0.0 thaw:0.1");
    seen = mpiexec.sent.size();
    mpiexec.time(60000);
    mpiexec.prepared(0, 0, 1);
    EXPECT_EQ(mpiexec.sent_text(seen), "");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

/* ---- undoing before agreement (P7, E3) --------------------------------------------------------- */

TEST_F(StepTest, a_joining_process_that_dies_cancels_the_adaptation)
{
    start("4,3");
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.init(1, 0, 0);
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    mpiexec.exited(1, 0, 1, KILLED);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.sent_text(), "") << "staying processes never notice";
    EXPECT_EQ(mpiexec.last_event("failed").at("reason"),
              "the process that joins as rank 3 on node b was killed by signal 9 (Killed)");
    EXPECT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    ASSERT_EQ(mpiexec.launches.size(), 2u) << "the schedule goes on with its next entry";
    EXPECT_EQ(mpiexec.launches[1].first_uid, 4u) << "numbers are never used again";
    EXPECT_EQ(mpiexec.launches[1].epoch, 1u) << "the epoch was not committed";
    mpiexec.exited(1, 0, 0, KILLED);
    mpiexec.disconnected(1, 0);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepTest, failed_joining_processes_unfreeze_the_boards)
{
    start("4");
    join_two(1, 1);
    size_t seen = mpiexec.sent.size();
    mpiexec.frozen(0, 0, 1, 12);
    mpiexec.disconnected(1, 0);
    EXPECT_EQ(mpiexec.sent_text(seen), "thaw:0.0 thaw:0.1");
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.status().at("state"), "running");
}

TEST_F(StepTest, a_ceiling_of_a_withdrawn_freeze_is_not_taken_for_the_next)
{
    start(nullptr);
    resize(R"("size":1)");
    prepare(1);
    mpiexec.send_request(1, R"({"id":2,"op":"cancel"})");
    resize(R"("size":1,"leave":[0])");
    prepare(1);
    size_t seen = mpiexec.sent.size();
    mpiexec.frozen(0, 0, 1, 5);
    mpiexec.frozen(0, 1, 1, 5);
    EXPECT_EQ(mpiexec.sent.size(), seen) << "these answered the first freeze";
    mpiexec.frozen(0, 0, 1, 9);
    mpiexec.frozen(0, 1, 1, 8);
    EXPECT_EQ(mpiexec.sent_text(seen), "target:0.0 target:0.1");
    EXPECT_EQ(mpiexec.sent.back().payload, write_number(9));
}

TEST_F(StepTest, a_ceiling_of_a_withdrawn_freeze_may_come_before_the_next_one_is_sent)
{
    start(nullptr);
    resize(R"("size":1)");
    prepare(1);
    mpiexec.send_request(1, R"({"id":2,"op":"cancel"})");
    resize(R"("size":1,"leave":[0])");
    mpiexec.frozen(0, 0, 1, 5);
    prepare(1);
    size_t seen = mpiexec.sent.size();
    mpiexec.frozen(0, 1, 1, 5);
    mpiexec.frozen(0, 1, 1, 8);
    EXPECT_EQ(mpiexec.sent.size(), seen) << "the other one has answered the first freeze alone";
    mpiexec.frozen(0, 0, 1, 9);
    EXPECT_EQ(mpiexec.sent_text(seen), "target:0.0 target:0.1");
    EXPECT_EQ(mpiexec.sent.back().payload, write_number(9));
}

TEST_F(StepTest, a_rigid_joining_process_fails_the_adaptation)
{
    start("3");
    mpiexec.start_group(1, {"b"});
    mpiexec.init(1, 0, 0, false);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
}

TEST_F(StepTest, a_refused_launch_leaves_the_job_as_it_was)
{
    mpiexec.refuse_launch = "no capacity on b";
    start(nullptr);
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":4,"wait":true})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "launch");
    EXPECT_EQ(answer.at("error").at("message"), "no capacity on b");
    EXPECT_EQ(mpiexec.replies[1].size(), 1u);
    EXPECT_EQ(mpiexec.events(), "started adaptive requested launching failed");
    EXPECT_TRUE(mpiexec.killed.empty());
}

/* ---- the end of the job ------------------------------------------------------------------------- */

TEST_F(StepTest, the_end_of_the_job_withdraws_what_is_pending)
{
    start("4");
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"),
              "the job ended (rank 0 on node a ended with exit code 0)");
    mpiexec.exited(0, 1, 1);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepTest, entries_that_were_never_offered_are_reported_at_the_end)
{
    start("100s:4,1,2");
    mpiexec.exited(0, 0, 0);
    EXPECT_TRUE(mpiexec.notified.empty());
    mpiexec.exited(0, 1, 1);
    EXPECT_EQ(mpiexec.notified,
              std::vector<std::string>{
                  "entries 1 to 3 of the adaptation schedule were never offered: the "
                  "program ended before"});
    EXPECT_EQ(mpiexec.last_event("never_offered").at("last"), 3);
}

TEST_F(StepTest, an_aborted_job_reports_nothing_about_its_schedule)
{
    start("100s:4");
    mpiexec.exited(0, 0, 0, KILLED);
    mpiexec.exited(0, 1, 1, KILLED);
    EXPECT_TRUE(mpiexec.notified.empty());
}

TEST_F(StepTest, a_signal_to_mpiexec_withdraws_what_is_pending)
{
    start("4,1");
    mpiexec.start_group(1, {"b", "b"});
    stepmgr_terminate(mpiexec.core, mpiexec.now_ms, 15);
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"), "mpiexec was told to end (SIGTERM)");
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.status().at("state"), "ending");
    mpiexec.exited(1, 0, 1, 1 << 8);
    mpiexec.exited(0, 0, 0, 15);
    mpiexec.exited(0, 1, 1, 15);
    EXPECT_EQ(mpiexec.launches.size(), 1u) << "the next entry is not offered";
    EXPECT_TRUE(mpiexec.notified.empty()) << mpiexec.notified[0];
}

TEST_F(StepTest, a_signal_to_mpiexec_is_to_blame_for_a_broken_window)
{
    start("4");
    join_two(1, 1);
    freeze(1);
    stepmgr_terminate(mpiexec.core, mpiexec.now_ms, 2);
    mpiexec.exited(1, 0, 1, KILLED);
    EXPECT_EQ(mpiexec.aborts, std::vector<std::string>{
                                  "mpiexec was told to end (SIGINT) while adaptation 1 (2 -> 4 "
                                  "processes) was under way, and no process goes on"});
}

TEST_F(StepTest, a_program_that_never_probes_again_ends_cleanly)
{
    start("4");
    join_two(1, 1);
    freeze(1);
    size_t seen = mpiexec.sent.size();
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.sent_text(seen), "counts:0.0 counts:0.1 counts:1.0");
    CountReport over[] = {{0, PMI_ADAPT_PHASE_NONE, 10}},
                over_too[] = {{1, PMI_ADAPT_PHASE_NONE, 10}};
    CountReport joining[] = {{0, PMI_ADAPT_PHASE_WINDOW, 0}, {1, PMI_ADAPT_PHASE_WINDOW, 0}};
    mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts(over));
    mpiexec.exited(0, 1, 1);
    mpiexec.report(0, 1, REPORT_COUNTS, 1, write_counts(over_too));
    mpiexec.report(1, 0, REPORT_COUNTS, 1, write_counts(joining));
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

/* The last adaptation shrinks to one process, which then ends before the others on its board are
 * out of commit. */
TEST_F(StepTest, one_that_committed_and_ended_did_not_die_in_the_window)
{
    mpiexec.config.schedule = "1";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "a"});
    mpiexec.init(0, 0, 0);
    mpiexec.init(0, 0, 1);
    mpiexec.prepared(0, 0, 1);
    mpiexec.frozen(0, 0, 1, 12);
    mpiexec.exited(0, 0, 0);
    CountReport counts[] = {{0, PMI_ADAPT_PHASE_NONE, 1}, {1, PMI_ADAPT_PHASE_COMMIT, 12}};
    mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts(counts));
    EXPECT_TRUE(mpiexec.aborts.empty());
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
    mpiexec.committed(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

/* ---- after agreement (E4) ------------------------------------------------------------------------ */

TEST_F(StepTest, a_death_in_the_window_ends_the_job_with_a_report)
{
    start("4");
    join_two(1, 1);
    freeze(1);
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 0);
    mpiexec.exited(1, 0, 1, 11);
    ASSERT_EQ(mpiexec.aborts.size(), 1u);
    EXPECT_EQ(
        mpiexec.aborts[0],
        "the process that joins as rank 3 on node b was killed by signal 11 (Segmentation fault), "
        "after adaptation 1 (2 -> 4 processes) was agreed on and before all processes had "
        "committed it");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    mpiexec.exited(0, 0, 0, KILLED);
    EXPECT_EQ(mpiexec.aborts.size(), 1u);
}

TEST_F(StepTest, a_process_that_exits_inside_the_window_breaks_it)
{
    start("1");
    freeze(1);
    mpiexec.exited(0, 1, 1, 3 << 8);
    CountReport alive[] = {{0, PMI_ADAPT_PHASE_WINDOW, 17}},
                ended[] = {{1, PMI_ADAPT_PHASE_WINDOW, 17}};
    mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts(alive));
    mpiexec.report(0, 1, REPORT_COUNTS, 1, write_counts(ended));
    ASSERT_EQ(mpiexec.aborts.size(), 1u);
    EXPECT_NE(mpiexec.aborts[0].find("rank 1 on node b ended with exit code 3"), std::string::npos);
}

TEST_F(StepTest, a_proxy_that_fails_in_the_window_ends_the_job)
{
    start("1");
    freeze(1);
    mpiexec.disconnected(0, 1);
    ASSERT_EQ(mpiexec.aborts.size(), 1u);
    EXPECT_NE(mpiexec.aborts[0].find("node b was lost with its node daemon"), std::string::npos);
}

/* ---- rigid and half-initialised jobs (I3) --------------------------------------------------------- */

TEST_F(StepTest, a_rigid_job_is_never_offered_anything)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0, false);
    mpiexec.init(0, 1, 1, true);
    EXPECT_TRUE(mpiexec.launches.empty());
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":4})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "rigid");
    EXPECT_TRUE(mpiexec.notified.empty()) << "it may become one that changes through process sets";
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 1, 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(mpiexec.notified[0],
              "the adaptation schedule was not used: rank 0 called MPI_Init, not "
              "MPI_Init_adapt, so that the job is rigid");
}

TEST_F(StepTest, a_job_without_reports_gets_no_offer)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 1, 1);
    EXPECT_TRUE(mpiexec.launches.empty());
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "no adaptation was offered: the program ended without MPI_Init_adapt, and without having "
        "looked for changes through process sets");
}

TEST_F(StepTest, nothing_is_offered_before_all_processes_have_initialised)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0);
    EXPECT_TRUE(mpiexec.launches.empty());
    mpiexec.init(0, 1, 1);
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(StepTest, an_early_request_waits_and_a_rigid_job_withdraws_it)
{
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    resize(R"("size":4,"wait":true)");
    EXPECT_TRUE(mpiexec.launches.empty());
    EXPECT_EQ(mpiexec.status().at("state"), "starting");
    mpiexec.init(0, 0, 0, false);
    EXPECT_EQ(mpiexec.replies[1].back().at("end").at("result"), "withdrawn");
}

/* ---- time (P8, schedules, deadlines) --------------------------------------------------------------- */

TEST_F(StepTest, stragglers_are_reported_at_growing_intervals)
{
    mpiexec.config.straggler_ms = 1000;
    start("1");
    freeze(1);
    EXPECT_EQ(mpiexec.wake_ms, 1000);
    size_t seen = mpiexec.sent.size();
    mpiexec.time(1000);
    EXPECT_EQ(mpiexec.sent_text(seen), "counts:0.0 counts:0.1");
    CountReport first[] = {{0, PMI_ADAPT_PHASE_WAITING, 17}},
                second[] = {{1, PMI_ADAPT_PHASE_RUNNING, 4}};
    mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts(first));
    mpiexec.report(0, 1, REPORT_COUNTS, 1, write_counts(second));
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(mpiexec.notified[0],
              "adaptation 1 (2 -> 1 processes) waits for 1000 ms: probe number 17 is "
              "agreed on and not reached by: rank 1 on node b (4 probes); nothing is "
              "ended because of this");
    EXPECT_EQ(mpiexec.last_event("behind").at("ranks").at(0).at("count"), 4);
    EXPECT_EQ(mpiexec.wake_ms, 3000);
    mpiexec.time(3000);
    EXPECT_EQ(mpiexec.wake_ms, 7000);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepTest, a_deadline_withdraws_before_agreement)
{
    start(nullptr);
    resize(R"("size":4,"deadline_ms":1700000000500)");
    EXPECT_EQ(mpiexec.wake_ms, 500);
    mpiexec.time(500);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
}

TEST_F(StepTest, an_entry_that_cannot_be_applied_is_skipped_with_a_line)
{
    start("3/leave=5,2,1");
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "schedule entry 1 is skipped: rank 5 cannot leave: there are 2 processes, ranks 0 to 1");
    EXPECT_EQ(mpiexec.count_events("skipped"), 2)
        << "the second is the present size: no event";
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 1);
}

/* ---- clients ------------------------------------------------------------------------------------ */

TEST_F(StepTest, one_request_at_a_time)
{
    start(nullptr);
    resize(R"("size":4)");
    Json busy = mpiexec.send_request(2, R"({"id":1,"op":"resize","size":3})").at(0);
    EXPECT_EQ(busy.at("error").at("code"), "busy");
    EXPECT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.send_request(2, R"({"id":2,"op":"cancel","request":9})")
                  .at(0)
                  .at("error")
                  .at("code"),
              "nothing");
    EXPECT_TRUE(mpiexec.send_request(2, R"({"id":3,"op":"cancel","request":1})").at(0).at("ok"));
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.status().at("withdrawn"), 1);
}

TEST_F(StepTest, requests_keep_to_a_range_without_a_policy)
{
    mpiexec.config.range_min = 2;
    mpiexec.config.range_max = 3;
    start(nullptr);
    Json refused = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":4})").at(0);
    EXPECT_EQ(refused.at("error").at("code"), "change");
    EXPECT_EQ(refused.at("error").at("message"),
              "mpiexec was started with --adapt-range 2:3: request a size in that range");
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":2,"op":"resize","size":1})").at(0).at("ok"), false);
    resize(R"("size":3)");
}

TEST_F(StepTest, too_late_to_cancel)
{
    start(nullptr);
    resize(R"("size":1)");
    freeze(1);
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":2,"op":"cancel"})").at(0).at("error").at("code"),
              "agreed");
}

TEST_F(StepTest, requests_about_another_world_are_stale)
{
    start(nullptr);
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":3,"if_epoch":1})")
                  .at(0)
                  .at("error")
                  .at("code"),
              "stale");
    resize(R"("size":1,"if_epoch":0)");
}

TEST_F(StepTest, hosts_leaving_ranks_reason_and_waiting)
{
    start(nullptr);
    resize(R"("size":2,"leave":[0],"hosts":["c"],"reason":"maintenance","wait":true)");
    EXPECT_EQ(mpiexec.launches.at(0).hosts, std::vector<std::string>{"c"});
    mpiexec.start_group(1, {"c"});
    mpiexec.init(1, 0, 0);
    mpiexec.ready(1, 0, 0, 1);
    mpiexec.prepared(1, 0, 1);
    mpiexec.greeted(1, 0, 1);
    mpiexec.prepared(0, 0, 1);
    mpiexec.prepared(0, 1, 1);
    const auto *plan = reinterpret_cast<const pmi_adapt_plan *>(mpiexec.sent.at(0).payload.data());
    EXPECT_STREQ(plan->reason, "maintenance");
    freeze(1);
    for (auto [group, proxy] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        mpiexec.committed(group, proxy, 1);
    Json end = mpiexec.replies[1].back();
    EXPECT_EQ(end.at("id"), 1);
    EXPECT_EQ(end.at("end").at("result"), "committed");
    EXPECT_EQ(stepmgr_world_rank(mpiexec.core, 0, 1), 0);
    EXPECT_EQ(stepmgr_world_rank(mpiexec.core, 0, 0), -1);
    EXPECT_EQ(mpiexec.status().at("hosts").at(1).at("ranks"), "1");
    EXPECT_EQ(stepmgr_local_pre(mpiexec.core, "c"), 1);
}

TEST_F(StepTest, events_are_stored_and_followed)
{
    start(nullptr);
    auto lines = mpiexec.send_request(5, R"({"id":1,"op":"events","since":2,"follow":true})");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].at("next"), 3);
    EXPECT_EQ(lines[1].at("event"), "adaptive");
    resize(R"("size":4)");
    EXPECT_EQ(mpiexec.replies[5].back().at("event"), "launching");
    stepmgr_client_disconnected(mpiexec.core, 5);
    size_t seen = mpiexec.replies[5].size();
    mpiexec.send_request(1, R"({"id":2,"op":"cancel"})");
    EXPECT_EQ(mpiexec.replies[5].size(), seen);
}

TEST_F(StepTest, reports_that_make_no_sense_change_nothing)
{
    start("4");
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.report(0, 0, REPORT_INIT, 0, "short");
    mpiexec.report(0, 1, REPORT_EXITED, 0, write_exited({0, 0})); /* rank 0 is not this proxy's */
    mpiexec.report(7, 0, REPORT_COMMITTED, 1, "");
    mpiexec.report(0, 0, REPORT_COMMITTED, 1, "");
    mpiexec.frozen(0, 0, 1, 3);
    mpiexec.ready(1, 0, 0, 1);  /* before its initialisation */
    mpiexec.init(0, 0, 0);
    mpiexec.report(0, 0, static_cast<step_report>(7), 0, "");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 8);
    EXPECT_EQ(mpiexec.sent_text(), "");
    EXPECT_EQ(mpiexec.status().at("adaptation").at("state"), "joining");
}

TEST_F(StepTest, options_are_checked_when_the_step_is_made)
{
    mpiexec.config.schedule = "9/leave=7";
    mpiexec.config.size = 2;
    EXPECT_NE(mpiexec.create().find("rank 7 cannot leave"), std::string::npos);
    EXPECT_EQ(mpiexec.core, nullptr);
}

TEST_F(StepTest, summary)
{
    start("1");
    char text[512];
    EXPECT_EQ(stepmgr_summary(mpiexec.core, text, sizeof text), 0u);
    freeze(1);
    mpiexec.committed(0, 0, 1);
    mpiexec.committed(0, 1, 1);
    stepmgr_summary(mpiexec.core, text, sizeof text);
    EXPECT_EQ(std::string(text),
              "adaptations: 1 committed, 0 withdrawn, 0 failed; world size 2 -> 1; mean time to be "
              "ready 0 ms, to agree 0 ms, from agreement to commit 0 ms");
    char little[8];
    EXPECT_GT(stepmgr_summary(mpiexec.core, little, sizeof little), sizeof little);
    EXPECT_STREQ(little, "adaptat");
}

}  // namespace
}  // namespace elastic
