/* Changes through process sets that wait, fail, or both add and remove processes. */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

class PsetStragglersTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.straggler_ms = 1000;
        SetChangeTest::SetUp();
    }
    std::string message_with(const std::string &what) const
    {
        bool found =
            !mpiexec.notified.empty() && mpiexec.notified.back().find(what) != std::string::npos;
        return found ? what : mpiexec.notified.empty() ? "nothing" : mpiexec.notified.back();
    }
};

TEST_F(PsetStragglersTest, SL3_who_does_not_leave_is_reported)
{
    add();
    resize(3);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with("on these nodes have not connected, or have not replied: a, b;"),
              "on these nodes have not connected, or have not replied: a, b;");
    answer_at_once();
    mpiexec.time(mpiexec.now_ms + 2000);
    EXPECT_EQ(message_with("no process has queried the change"),
              "no process has queried the change");
    call(0, all);
    mpiexec.time(mpiexec.now_ms + 4000);
    EXPECT_EQ(message_with("process 0 has been notified of the change"),
              "process 0 has been notified of the change");
    call(0, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with("have not ended: rank 4 on node b;"),
              "have not ended: rank 4 on node b;");
    EXPECT_EQ(mpiexec.last_event("behind").at("ranks").at(0).at("kind"), "leaving");
    EXPECT_EQ(mpiexec.last_event("behind").at("total"), 1);
    EXPECT_TRUE(mpiexec.killed.empty());
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(PsetStragglersTest, SL3_not_before_the_deadline)
{
    call(0, BecomeDynamic{});
    int64_t deadline_ms = mpiexec.config.unix_ms_at_zero + mpiexec.now_ms + 60000;
    resize(2, ",\"deadline_ms\":" + std::to_string(deadline_ms));
    call(0, all);
    call(0, AcceptChange{1, {}});
    mpiexec.time(mpiexec.now_ms + 59000);
    EXPECT_EQ(mpiexec.count_events("behind"), 0);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(mpiexec.count_events("behind"), 1);
}

TEST_F(PsetStragglersTest, joining_processes_that_do_not_return_are_reported)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with(
                  "have not returned from MPI_Session_init yet: joining process 2 of 2 on node b"),
              "have not returned from MPI_Session_init yet: joining process 2 of 2 on node b");
}

TEST_F(SetChangeTest, SF1_the_next_caller_gets_the_same)
{
    offer_addition();
    call(2, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":1,"op":"cancel"})").at(0).at("error").at("code"),
              "agreed");
    call(1, all);
    EXPECT_EQ(notified(1), "1 mpix://rc/1 1");
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), 0u);
    EXPECT_EQ(code(3), 0u);
}

TEST_F(SetChangeTest, SI8_no_process_waits_for_a_notified_one_that_has_ended)
{
    offer_addition();
    call(2, all);
    call(1, RendezvousMembers{"tag", "one", list({0, 1, 3, 4}), true});
    EXPECT_EQ(code(1), WAITS) << "for the accept";
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    call(0, RendezvousMembers{"tag", "zero", list({0, 1, 3, 4}), true});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
}

TEST_F(SetChangeTest, SI8_nor_does_who_comes_when_it_has_ended)
{
    offer_addition();
    call(2, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
    call(1, RendezvousMembers{"tag", "one", list({1, 3, 4}), true});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
}

TEST_F(SetChangeTest, SF1_also_of_a_removal)
{
    add();
    resize(3);
    call(0, all);
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    call(1, GetChange{{"", list({1, 2, 3})}, false});
    EXPECT_EQ(notified(1), "0  0") << "4 is to go, too";
    call(2, all);
    EXPECT_EQ(notified(2), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_the_change_is_notified)
{
    offer_addition();
    mpiexec.exited(1, 0, 1, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    call(0, all);
    EXPECT_EQ(notified(0), "0  0") << "it is never seen";
    EXPECT_EQ(mpiexec.status().at("state"), "running");
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_its_change_is_accepted)
{
    offer_addition();
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    call(0, all);
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    call(0, MakeSets{PMI_SET_OP_UNION, "app://new", {}, {{"mpix://rc/1", {}}, {"", list({0, 1})}}});
    EXPECT_EQ(state_of("app://new"), "proposed 3-4,0-1");
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_EQ(state_of("app://new"), "ended 3-4,0-1") << "sets that hold it";
    EXPECT_EQ(state_of("mpix://rc/1"), "ended 3-4");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_LOST});
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_its_change_is_complete)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(0, RendezvousMembers{"tag", "addr", list({0, 3, 4})});
    EXPECT_EQ(code(0), WAITS);
    mpiexec.exited(1, 0, 1, 9);
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED}) << "creations that wait for it";
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.last_event("failed").at("size"), 3);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
    mpiexec.exited(1, 0, 0, 9);
    resize(5);
    EXPECT_EQ(mpiexec.launches.back().first_uid, 5u) << "numbers are never used again";
}

TEST_F(SetChangeTest, SF3_the_death_of_another_process_ends_what_is_under_way)
{
    offer_addition();
    mpiexec.exited(0, 0, 0, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.status().at("state"), "ending");
}

TEST_F(SetChangeTest, the_job_is_over_when_all_have_ended)
{
    offer_addition();
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.exited(0, rank == 2 ? 1 : 0, rank);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1}) << "they would wait for ever";
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_NE(
        mpiexec.notified[0].find(
            "2 of 2 joining processes had called MPI_Session_init, and no process had accepted "
            "them"),
        std::string::npos)
        << mpiexec.notified[0];
}

TEST_F(SetChangeTest, joining_processes_may_outlive_the_launch)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.exited(0, rank == 2 ? 1 : 0, rank);
    EXPECT_EQ(mpiexec.count_events("ended"), 0);
    call(3, HasEntered{});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.count_events("failed"), 0) << "it had initialised";
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.status().at("size"), 1);
    mpiexec.exited(1, 0, 1);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

/* A request that is made before the job changes through sets: two processes join and uid 1
 * leaves. */
class SetReplacementTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        SetChangeTest::SetUp();
        resize(4, R"(,"leave":[1])");
        call(0, BecomeDynamic{});
        ASSERT_EQ(mpiexec.launches.size(), 1u);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3);
        await_accept(4);
    }
    void take_addition()
    {
        call(0, all);
        ASSERT_EQ(notified(0), "1 mpix://rc/1 1");
        call(0, AcceptChange{1, {}});
        call(3, HasEntered{});
        call(4, HasEntered{});
    }
};

TEST_F(SetReplacementTest, SR6_notified_as_an_addition_then_as_a_removal)
{
    take_addition();
    EXPECT_EQ(mpiexec.count_events("committed"), 0) << "a request has one end";
    EXPECT_EQ(mpiexec.status().at("size"), 5);
    call(3, QueryLeaving{});
    call(4, GetChange{{"", list({0, 3, 4})}, false});
    EXPECT_EQ(notified(4), "0  0") << "SR4: the manager has chosen uid 1";
    call(4, all);
    EXPECT_EQ(notified(4), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1");
    call(4, AcceptChange{2, {}});
    EXPECT_EQ(mpiexec.count_events("committed"), 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    const Json committed = mpiexec.last_event("committed");
    EXPECT_EQ(committed.at("size"), 4);
    EXPECT_EQ(committed.at("joining"), 2);
    EXPECT_EQ(committed.at("leaving"), Json::array({1}));
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json::array({1}));
    EXPECT_EQ(mpiexec.status().at("epoch"), 1);
    resize(3);
    call(0, all);
    EXPECT_EQ(notified(0), "2 mpix://rc/3 3");
}

TEST_F(SetReplacementTest, SA1_the_staying_state_is_invalidated_before_the_removal)
{
    auto invalidations = [&] {
        return std::ranges::count_if(mpiexec.sent, [](const SentMessage &m) {
            return m.command == STEP_INVALIDATE;
        });
    };
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(1, QueryLeaving{});
    EXPECT_EQ(number_at(answer_to(1), 8), 1u) << "it may remember that it stays";
    auto before = invalidations();
    call(4, HasEntered{});
    EXPECT_GT(invalidations(), before) << "no process has been notified yet that it leaves";
    call(1, QueryLeaving{});
    EXPECT_EQ(number_at(answer_to(1), 8), 0u);
}

TEST_F(SetReplacementTest, SR6_what_was_added_stays_if_the_removal_is_declined)
{
    take_addition();
    call(3, all);
    call(3, DeclineChange{2});
    const Json committed = mpiexec.last_event("committed");
    EXPECT_EQ(committed.at("size"), 5);
    EXPECT_EQ(committed.at("leaving"), Json::array());
    EXPECT_EQ(committed.at("reason"), "declined");
    EXPECT_EQ(mpiexec.killed, std::vector<int>{});
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetReplacementTest, SR6_nobody_is_removed_who_has_ended_before)
{
    call(0, all);
    call(0, AcceptChange{1, {}});
    mpiexec.exited(0, 0, 1);
    call(3, HasEntered{});
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.last_event("committed").at("size"), 5);
    EXPECT_EQ(mpiexec.last_event("left").at("size"), 4);
    EXPECT_EQ(mpiexec.status().at("size"), 4);
}

TEST_F(SetReplacementTest, SR6_nobody_is_removed_if_the_addition_is_declined)
{
    call(0, all);
    call(0, DeclineChange{1});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST(PsetSlotsTest, a_job_has_so_many_processes_over_its_life)
{
    FakeMpiexec mpiexec;
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, std::vector<std::string>(PMI_SET_PROCESSES_MAX - 1, "a"));
    mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                   write_set_report(0, 1, write_set_call(ChangeCall(BecomeDynamic{}))));
    mpiexec.send_request(1, R"({"id":1,"op":"resize","size":65537})");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_NE(mpiexec.last_event("failed").at("reason").get<std::string>().find(
                  "65536 processes in its lifetime"),
              std::string::npos);
    mpiexec.send_request(1, R"({"id":1,"op":"resize","size":65536})");
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(SetChangeTest, SN4_joining_processes_do_not_run_before_they_have_initialised)
{
    const MakeSets running = {PMI_SET_OP_UNION, "", {}, {{"mpix://ALL", {}}}};
    offer_addition();
    call(0, running);
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-2");
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(0, running);
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0-3");
}

TEST_F(SetChangeTest, SI8_a_notified_process_does_not_wait_for_proposed_ones)
{
    offer_addition();
    call(0, all);
    call(0, RendezvousMembers{"tag", "addr", list({0, 1, 3, 4})});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_FOREIGN});
    call(1, RendezvousMembers{"tag", "addr", list({0, 1, 3, 4})});
    EXPECT_EQ(code(1), WAITS) << "others do";
    call(0, DeclineChange{1});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetChangeTest, only_joining_processes_wait_to_enter)
{
    call(0, EnterJob{});
    EXPECT_EQ(answer_to(0), SetAnswer().number(0).number(0).bytes());
    call(0, AwaitAccept{});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, HasEntered{});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    offer_addition();
    await_accept(3);
    EXPECT_EQ(code(3), uint32_t{PMI_SET_WRONG}) << "it waits already";
    call(3, HasEntered{});
    EXPECT_EQ(code(3), uint32_t{PMI_SET_WRONG}) << "it has not been let go";
    call(3, all);
    EXPECT_EQ(notified(3), "0  0") << "it does not run";
}

}  // namespace
}  // namespace elastic
