/* Adaptations from the request to the agreement, and those that are withdrawn or fail before it
 * (world_resize.h). */

#include "stepmgr/adapt/step_fixture.h"

namespace elastic {
namespace {

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

    /* The second entry follows at once: ranks 1 to 3 leave, no process is launched. */
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

TEST_F(StepTest, a_plan_that_proxies_would_not_take_fails)
{
    constexpr uint32_t JOINING = STEP_PAYLOAD_MAX / PMI_REPORT_CARD_MAX;
    start((std::to_string(2 + JOINING) + ",1").c_str());
    mpiexec.start_group(1, std::vector<std::string>(JOINING, "b"));
    for (uint32_t rank = 0; rank < JOINING; rank++) {
        mpiexec.report(1, 0, REPORT_INIT, 0,
                       write_init(
                           {rank, REPORT_MODE_ADAPTIVE, 0, std::string(PMI_REPORT_CARD_MAX, 'x')}));
        mpiexec.ready(1, 0, rank, 1);
    }
    std::string reason = mpiexec.last_event("failed").at("reason");
    EXPECT_NE(reason.find("the addresses of 1026 processes"), std::string::npos) << reason;
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    /* The next entry is applied, and no plan was sent before. */
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
    EXPECT_EQ(mpiexec.sent_text(seen), "") << "one of the joining proxies is not greeted yet";
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
        mpiexec.report(1, 0, REPORT_INIT, 0,
                       write_init({rank, REPORT_MODE_ADAPTIVE, 100 + rank, "addr"}));
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

/* Two processes cannot prepare.  The report of the first one withdrew the adaptation, and the next
 * adaptation has begun in the same epoch. */
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

TEST_F(StepTest, proxies_that_choose_the_margin_get_time_to_see_the_pace)
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

/* ---- undoing before agreement (P7, E3) ------------------------------------------------------- */

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

}  // namespace
}  // namespace elastic
