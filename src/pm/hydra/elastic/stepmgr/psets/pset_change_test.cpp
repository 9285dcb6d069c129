/* Changes through process sets, from the request to the end (pset_changes.h), and the sets they
 * make. */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

TEST_F(SetChangeTest, SR1_a_job_becomes_one_that_changes_through_sets)
{
    EXPECT_EQ(mpiexec.status().at("mode"), "unknown");
    resize(2);
    EXPECT_EQ(mpiexec.count_events("requested"), 1) << "it waits";
    call(1, BecomeDynamic{});
    EXPECT_EQ(code(1), 0u);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
    EXPECT_EQ(mpiexec.last_event("adaptive").at("mode"), "sets");
    call(2, BecomeDynamic{});
    EXPECT_EQ(mpiexec.count_events("adaptive"), 1);
    call(0, all);
    EXPECT_EQ(notified(0), "2 mpix://rc/1 1") << "the request from before";
}

TEST_F(SetChangeTest, SR1_a_rigid_job_may_become_one)
{
    mpiexec.init(0, 0, 0, false);
    EXPECT_EQ(mpiexec.status().at("mode"), "rigid");
    call(1, all);
    EXPECT_EQ(notified(1), "0  0");
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
    mpiexec.init(0, 0, 1, false);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets") << "SW3: MPI_Init changes nothing";
}

TEST_F(SetChangeTest, SW1_not_in_a_job_with_windows)
{
    mpiexec.init(0, 0, 0);
    call(1, BecomeDynamic{});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WINDOWS});
    mpiexec.init(0, 0, 1);
    mpiexec.init(0, 1, 2);
    call(1, all);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WINDOWS});
    EXPECT_EQ(mpiexec.status().at("mode"), "adaptive");
}

TEST_F(SetChangeTest, SW1_no_notification_precedes_the_refusal_of_windows_by_all_proxies)
{
    mpiexec.report(0, 1, REPORT_SET_CALL, 0,
                   write_set_report(2, ++ids[2], write_set_call(BecomeDynamic{})));
    EXPECT_EQ(mpiexec.sent_text(), "sets:0.0 sets:0.1 by_sets:0.0 by_sets:0.1");
    mpiexec.report(0, 1, REPORT_INVALIDATED, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_BY_SETS) << "the other one has not confirmed";
    mpiexec.report(0, 0, REPORT_INVALIDATED, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_SET_ANSWER);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(SetChangeTest, SW1_a_window_that_is_wanted_meanwhile_keeps_nobody_from_changes)
{
    offer_addition();
    call(0, all);
    mpiexec.init(0, 0, 1);
    EXPECT_NE(mpiexec.notified.back().find("no adaptation is offered to it"), std::string::npos);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(2, all);
    EXPECT_EQ(notified(2), "0  0");
}

TEST_F(SetChangeTest, SW1_a_joining_process_does_not_wait_for_a_window)
{
    call(0, BecomeDynamic{});
    resize(5);
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.init(1, 0, 0);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    mpiexec.init(0, 0, 0);
    EXPECT_NE(mpiexec.notified.back().find("MPI_Init_adapt"), std::string::npos);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
}

TEST_F(SetChangeTest, SR3_an_addition_is_notified_when_all_joining_processes_wait)
{
    call(0, BecomeDynamic{});
    resize(5);
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
    mpiexec.start_group(1, {"b", "b"});
    await_accept(4);
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
    EXPECT_EQ(state_of("mpix://rc/1"), "none");
    await_accept(3);
    call(0, all);
    EXPECT_EQ(notified(0), "1 mpix://rc/1 1");
    EXPECT_EQ(state_of("mpix://rc/1"), "proposed 3-4");
}

TEST_F(SetChangeTest, SR2_a_query_notifies_nothing)
{
    offer_addition();
    call(0, GetChange{{}, true});
    EXPECT_EQ(notified(0), "1  0");
    call(0, GetChange{{}, true});
    EXPECT_EQ(notified(0), "1  0");
    EXPECT_EQ(mpiexec.count_events("told"), 0);
}

TEST_F(SetChangeTest, SR4_one_process_is_notified_once)
{
    offer_addition();
    call(2, all);
    EXPECT_EQ(notified(2), "1 mpix://rc/1 1");
    call(2, all);
    EXPECT_EQ(notified(2), "0  0");
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
}

TEST_F(SetChangeTest, SR7_joining_processes_return_when_their_change_is_accepted)
{
    offer_addition();
    call(0, all);
    EXPECT_EQ(code(3), WAITS) << "it waits";
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "another one was notified";
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {{"app", "value"}}});
    EXPECT_EQ(code(0), 0u);
    EXPECT_EQ(code(3), 0u);
    EXPECT_EQ(code(4), 0u);
    EXPECT_EQ(state_of("mpix://rc/1"), "starting 3-4");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG}) << "it has been accepted";
    call(3, HasEntered{});
    EXPECT_EQ(mpiexec.count_events("committed"), 0);
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.count_events("committed"), 1) << "SR9";
    EXPECT_EQ(state_of("mpix://rc/1"), "running 3-4");
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetChangeTest, the_log_records_all_steps)
{
    add();
    EXPECT_EQ(
        mpiexec.events(),
        "started adaptive requested launching placed ready ready set_made told accepted committed");
}

TEST_F(SetChangeTest, SR8_a_declined_change_is_undone)
{
    offer_addition();
    call(0, all);
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), 0u);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(state_of("mpix://rc/1"), "none");
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"), "declined");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST_F(SetChangeTest, SO8_a_delta_is_not_freed_before_its_change_is_complete)
{
    offer_addition();
    call(0, all);
    call(1, FreeSet{"mpix://rc/1"});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(4, HasEntered{});
    call(1, FreeSet{"mpidynres://rc_1"});
    EXPECT_EQ(code(1), 0u);
}

TEST_F(SetChangeTest, SO8_a_delta_that_was_accepted_is_freed_when_its_change_is_complete)
{
    add();
    resize(3);
    call(0, all);
    call(0, AcceptChange{2, {}});
    call(1, FreeSet{"mpix://rc/2"});
    EXPECT_EQ(code(1), 0u);
    call(0, FreeSet{"mpix://rc/2"});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
    mpiexec.exited(1, 0, 0);
    mpiexec.exited(1, 0, 1);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(state_of("mpix://rc/2"), "none");
}

TEST_F(SetChangeTest, SR4_a_removal_takes_the_last_of_the_bound_set)
{
    add();
    call(0, MakeFromList{"app://main", list({4, 1, 0})});
    resize(3);
    call(2, GetChange{{"", list({2})}, false});
    EXPECT_EQ(notified(2), "0  0") << "a set of one cannot lose two";
    call(0, GetChange{{"app://main", {}}, false});
    EXPECT_EQ(notified(0), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1,0");
}

TEST_F(SetChangeTest, SR4_a_chosen_removal_is_notified_to_a_set_that_holds_it)
{
    add();
    resize(4, R"(,"leave":[1])");
    call(0, GetChange{{"", list({0, 2})}, false});
    EXPECT_EQ(notified(0), "0  0");
    call(0, GetChange{{"", list({0, 1})}, false});
    EXPECT_EQ(notified(0), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1");
}

TEST_F(SetChangeTest, SI4_a_process_knows_that_it_is_to_leave)
{
    auto leaves = [&](uint32_t uid) {
        call(uid, QueryLeaving{});
        return number_at(answer_to(uid), 4);
    };
    add();
    resize(4, R"(,"leave":[1])");
    EXPECT_EQ(leaves(1), 0u) << "no process has been notified";
    call(0, all);
    EXPECT_EQ(leaves(1), 1u);
    EXPECT_EQ(leaves(2), 0u);
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(leaves(1), 1u);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(leaves(2), 0u);
}

TEST_F(SetChangeTest, SA1_the_staying_state_is_invalidated_before_a_process_may_leave)
{
    auto lasts = [&](uint32_t uid) {
        call(uid, QueryLeaving{});
        return number_at(answer_to(uid), 8);
    };
    auto invalidations = [&] {
        return std::ranges::count_if(mpiexec.sent, [](const SentMessage &m) {
            return m.command == STEP_INVALIDATE;
        });
    };
    add();
    EXPECT_EQ(lasts(2), 1u);
    auto before = invalidations();
    resize(4, R"(,"leave":[1])");
    EXPECT_GT(invalidations(), before) << "no process has been notified yet";
    EXPECT_EQ(lasts(2), 0u) << "there is a removal";
}

TEST_F(SetChangeTest, SR9_a_removal_is_complete_when_its_processes_have_ended)
{
    add();
    resize(3);
    call(0, all);
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
    call(0, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    mpiexec.exited(1, 0, 1, 7 << 8);
    EXPECT_EQ(mpiexec.count_events("committed"), 2) << "SL1: with any exit code";
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json({3, 4}));
    EXPECT_EQ(state_of("mpix://rc/2"), "ended 3-4");
    EXPECT_EQ(mpiexec.status().at("size"), 3);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
}

TEST_F(SetChangeTest, SR9_a_notified_process_may_be_slower_than_a_leaving_one)
{
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
}

TEST_F(SetChangeTest, SR9_an_accept_may_follow_the_next_notification)
{
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    resize(1);
    call(1, all);
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "it was notified of another one";
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(1, DeclineChange{2});
    EXPECT_EQ(code(1), 0u);
}

TEST_F(SetChangeTest, SR9_a_notified_process_may_leave_without_accepting)
{
    add();
    resize(4, R"(,"leave":[0])");
    call(0, all);
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json({0}));
}

TEST_F(SetChangeTest, SL1_a_process_may_end_at_any_time)
{
    call(0, BecomeDynamic{});
    mpiexec.exited(0, 0, 1, 3 << 8);
    EXPECT_EQ(mpiexec.status().at("size"), 2);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
    resize(1);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1) << "no process had been notified";
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

TEST_F(SetChangeTest, SL1_ends_of_processes_are_reported_to_the_manager)
{
    call(0, BecomeDynamic{});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("left"), 0) << "perhaps more follow";
    mpiexec.exited(0, 1, 2);
    mpiexec.time(10000);
    const Json left = mpiexec.last_event("left");
    EXPECT_EQ(mpiexec.count_events("left"), 1);
    EXPECT_EQ(left.at("epoch"), 1);
    EXPECT_EQ(left.at("old_size"), 3);
    EXPECT_EQ(left.at("size"), 1);
    EXPECT_EQ(left.at("leaving"), Json({0, 2}));
    EXPECT_EQ(left.at("hosts"), Json({{"a", 1}, {"b", 1}}));
    EXPECT_EQ(left.at("uids"), Json({0, 2}));
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":3,"if_epoch":0})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "stale")
        << "a client that does not know it requests with the wrong ranks";
    resize(3, R"(,"if_epoch":1)");
    EXPECT_EQ(mpiexec.last_event("requested").at("epoch"), 2);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("left"), 1) << "the end of the job is reported as such";
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

TEST_F(SetChangeTest, SL1_ranks_are_those_of_before_while_a_change_is_under_way)
{
    add();
    resize(4, R"(,"leave":[3])");
    call(2, all);
    mpiexec.exited(0, 0, 0);
    mpiexec.time(10000);
    EXPECT_EQ(mpiexec.count_events("left"), 0);
    call(2, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.last_event("committed").at("leaving"), Json({3}));
    EXPECT_EQ(mpiexec.last_event("committed").at("size"), 4);
    EXPECT_EQ(mpiexec.last_event("left").at("leaving"), Json({0}));
    EXPECT_EQ(mpiexec.last_event("left").at("epoch"), 3);
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST_F(SetChangeTest, SR4_the_log_records_processes_that_left)
{
    call(0, BecomeDynamic{});
    call(0, MakeFromList{"app://main", list({2, 0})});
    resize(2);
    call(1, GetChange{{"app://main", {}}, false});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.last_event("committed").at("leaving"), Json({0}))
        << "and not the one with the highest rank";
}

TEST_F(SetChangeTest, SL3_who_was_let_go_may_die_in_any_way)
{
    add();
    resize(3);
    call(0, all);
    EXPECT_EQ(mpiexec.sent.at(mpiexec.sent.size() - 2).command, STEP_OFFER)
        << "no other process need query";
    call(0, AcceptChange{2, {}});
    const SentMessage &before = mpiexec.sent.at(mpiexec.sent.size() - 2);
    EXPECT_EQ(before.command, STEP_LET_GO) << "their proxy knows before anybody can know";
    EXPECT_EQ(before.group, 1);
    EXPECT_EQ(number_at(before.payload, 0), 3u);
    EXPECT_EQ(number_at(before.payload, 4), 4u);
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_NE(mpiexec.notified.back().find("the other processes continue"), std::string::npos)
        << "it is reported";
    mpiexec.exited(1, 0, 1, 11);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(SetChangeTest, SL3_also_before_its_proxy_knows)
{
    auto broke = [&](uint32_t rank) {
        mpiexec.report(0, rank == 2 ? 1 : 0, REPORT_BROKE, 0, write_broke(rank));
    };
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    broke(2);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_BREAK) << "nobody has accepted it yet";
    EXPECT_EQ(number_at(mpiexec.sent.back().payload, 0), 2u);
    call(0, AcceptChange{1, {}});
    size_t sent = mpiexec.sent.size();
    broke(2);
    EXPECT_EQ(mpiexec.sent.size(), sent) << "its proxy is about to be notified that it may exit";
    mpiexec.exited(0, 1, 2, 9);
    sent = mpiexec.sent.size();
    broke(2);
    EXPECT_EQ(mpiexec.sent_text(sent), "") << "in whatever order";
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    broke(1);
    EXPECT_EQ(mpiexec.sent_text(sent), "break:0.0");
}

TEST_F(SetChangeTest, SL3_before_that_a_death_ends_the_job)
{
    add();
    resize(3);
    call(0, all);
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.status().at("state"), "ending");
}

}  // namespace
}  // namespace elastic
