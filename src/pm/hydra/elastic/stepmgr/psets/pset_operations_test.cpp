/* Operations on process sets that the program requests (pset_operations.h). */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

TEST_F(SetRequestTest, SC6_held_slots_are_not_granted)
{
    const AllocateSlots slot = {1, 1, true, "*", "", {}, {}};
    mpiexec.report(0, 0, REPORT_SET_CALL, 0, write_set_report(0, ++ids[0], write_task_call(slot)));
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0");
    send_request(0, PMI_SET_OP_GROW, 1, 0);
    EXPECT_EQ(done(0), "waits");
}

TEST_F(SetRequestTest, SC6_grow_is_notified_and_accepted_in_one)
{
    send_request(0, PMI_SET_OP_GROW, 2, 9);
    EXPECT_EQ(done(0), "waits");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.launches[0].count, 2);
    start_joining_group(1);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/0.1");
    EXPECT_EQ(code(3), 0u) << "it has been let go";
    EXPECT_EQ(state_of("mpix://op/0.1"), "starting 0-4");
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "wish");
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-4");
}

TEST_F(SetRequestTest, SC6_add_and_sub_make_the_delta_alone)
{
    send_request(1, PMI_SET_OP_ADD, 2, 0);
    start_joining_group(1);
    EXPECT_EQ(done(1), "1 mpix://rc/1");
    enter(3);
    enter(4);
    send_request(1, PMI_SET_OP_SUB, 9, 1);
    EXPECT_EQ(done(1), "2 mpix://rc/2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 2") << "of the set that is bound";
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
}

TEST_F(SetRequestTest, SC6_shrink)
{
    send_request(2, PMI_SET_OP_SHRINK, 0, 2);
    EXPECT_EQ(done(2), "6 mpix://rc/1,mpix://op/2.1");
    EXPECT_EQ(state_of("mpix://rc/1"), "running 1-2");
    EXPECT_EQ(state_of("mpix://op/2.1"), "running 0");
}

TEST_F(SetRequestTest, SC6_replace_removes_when_those_that_were_added_are_there)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    start_joining_group(1);
    EXPECT_EQ(done(0), "waits");
    enter(3);
    EXPECT_EQ(done(0), "waits");
    enter(4);
    EXPECT_EQ(done(0), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 2");
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0-1,3-4");
    query(0), query(1), query(2);
    EXPECT_EQ(done(2), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.status().at("size"), 4);
}

TEST_F(SetRequestTest, SC6_replace_is_refused_before_it_begins)
{
    call(0, MakeSets{PMI_SET_OP_UNION, "", {}, {{"", list({0, 1})}}});
    send_request(0, PMI_SET_OP_REPLACE, 2, 3, "mpix://op/0.1");
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(why_not(0), "the set has 2 running processes, fewer than the 3 to be removed");
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
}

TEST_F(SetRequestTest, SC6_replace_reports_the_addition_if_the_removal_is_impossible)
{
    call(0, MakeSets{PMI_SET_OP_UNION, "", {}, {{"", list({1, 2})}}});
    send_request(0, PMI_SET_OP_REPLACE, 2, 2, "mpix://op/0.1");
    start_joining_group(1);
    mpiexec.exited(0, 1, 2);    /* two of which were to leave */
    enter(3);
    enter(4);
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://rc/1"), "running 3-4");
    for (uint32_t uid : {0, 1})
        call(uid, QueryOp{{"mpi://WORLD", list({0, 1})}, "mpix://op/0.1"});
    EXPECT_EQ(done(1), "3 ,mpix://rc/1,mpix://op/0.2");
}

TEST_F(SetRequestTest, SC6_not_outside_of_the_range)
{
    const std::tuple<pmi_set_op, uint32_t, uint32_t> requested[] = {
        {PMI_SET_OP_ADD, 3, 0},
        {PMI_SET_OP_SUB, 0, 3},
        {PMI_SET_OP_GROW, 0, 0},
        {PMI_SET_OP_REPLACE, 3, 2},
        {PMI_SET_OP_SHRINK, 0, 1 << 20}};
    for (auto [op, add, remove] : requested) {
        send_request(0, op, add, remove);
        EXPECT_EQ(done(0), "0") << op;
        EXPECT_NE(why_not(0), "") << op;
    }
    send_request(0, PMI_SET_OP_ADD, 3, 0);
    EXPECT_EQ(why_not(0), "6 processes are outside of --adapt-range 1:5");
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
}

TEST_F(SetRequestTest, SC6_what_fails_is_not_granted)
{
    send_request(0, PMI_SET_OP_ADD, 2, 0);
    send_request(1, PMI_SET_OP_SUB, 0, 1);
    EXPECT_EQ(done(1), "0") << "one waits at a time";
    EXPECT_EQ(why_not(1), "the request of another process is pending");
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.exited(1, 0, 0, 1);
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    mpiexec.refuse_launch = "no slots";
    send_request(0, PMI_SET_OP_GROW, 1, 0);
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_its_asker_ends)
{
    send_request(1, PMI_SET_OP_ADD, 2, 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"),
              "the process that requested it has ended");
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
}

TEST_F(SetRequestTest, SC6_malleable_takes_what_is_offered)
{
    send_request(0, PMI_SET_OP_MALLEABLE, 0, 0);
    EXPECT_EQ(done(0), "0");
    resize(2);
    send_request(0, PMI_SET_OP_ADD, 1, 0);
    EXPECT_EQ(done(0), "0") << "the opposite is offered";
    send_request(0, PMI_SET_OP_MALLEABLE, 0, 0);
    EXPECT_EQ(done(0), "6 mpix://rc/1,mpix://op/0.1");
}

TEST_F(SetRequestTest, SC6_all_of_a_set_query_the_open_operation)
{
    query(0);
    query(1);
    EXPECT_EQ(done(1), "waits");
    query(2);
    for (uint32_t uid : {0, 1, 2})
        EXPECT_EQ(done(uid), "0");
    query(1);
    query(2);
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    start_joining_group(1);
    query(0);
    for (uint32_t uid : {0, 1, 2})
        EXPECT_EQ(done(uid), "5 mpix://rc/1,mpix://op/0.1");
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://op/0.1"});
    EXPECT_EQ(done(0), "0") << "it is bound to the old set";
    call(3, CloseOp{"mpix://op/0.1"});
    EXPECT_EQ(code(3), 0u);
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://WORLD/0"});
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_an_operation_is_closed_by_what_was_made_of_it)
{
    send_request(0, PMI_SET_OP_SUB, 0, 1);
    call(0, MakeSets{PMI_SET_OP_DIFFERENCE,
                     "app://rest",
                     {},
                     {{"mpix://WORLD/0", {}}, {"mpix://rc/1", {}}}});
    call(1, CloseOp{"app://nobody"});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_UNKNOWN});
    call(1, CloseOp{"app://rest"});
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://WORLD/0"});
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_the_managers_change_is_an_open_operation_too)
{
    call(0, BecomeDynamic{});
    resize(5);
    start_joining_group(1);
    query(0), query(1), query(2);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/2.1");
    EXPECT_EQ(done(1), done(0));
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetRequestTest, SC6_no_process_waits_for_an_ended_one)
{
    query(0);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
    query(1);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetRequestTest, SC6_bad_calls)
{
    send_request(0, PMI_SET_OP_ADD, 1, 0, "app://nobody");
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    call(0, RequestOp{"mpix://WORLD/0", static_cast<pmi_set_op>(0), 1, 1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    query(0, "app://nobody");
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    call(0, QueryOp{{"mpi://WORLD", list({1, 2})}, "mpix://WORLD/0"});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
}

class ManagedSetRequestTest : public SetRequestTest {
  protected:
    ManagedSetRequestTest() { managed = true; }
};

TEST_F(ManagedSetRequestTest, SC6_a_resource_manager_decides)
{
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "waits");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 5);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size_min"), 4);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("waits"), true);
    mpiexec.time(1000);
    EXPECT_EQ(done(0), "waits") << "whatever happens meanwhile";
    resize(5, R"(,"tag":"manager")");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    start_joining_group(1);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/0.1");
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "granted");

    send_request(0, PMI_SET_OP_SHRINK, 0, 1);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 4);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":2,"reason":"no"})");
    EXPECT_EQ(done(0), "0");
}

TEST_F(ManagedSetRequestTest, SC6_replace_is_two_requests)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 5);
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    enter(3);
    EXPECT_EQ(done(0), "waits");
    enter(4);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "granted");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 4);
    EXPECT_EQ(done(0), "waits");
    resize(4, R"(,"tag":"manager","leave":[1])");
    EXPECT_EQ(done(0), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0,2-4");
}

TEST_F(ManagedSetRequestTest, SC6_replace_of_which_one_half_is_refused)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":1,"reason":"no"})");
    EXPECT_EQ(done(0), "0");
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    enter(3);
    enter(4);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":3,"reason":"no"})");
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.1") << "those that were added are there";
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-4");
}

TEST_F(ManagedSetRequestTest, SC6_repeated_queries_do_not_occupy_the_manager)
{
    auto refuse = [&](int number) {
        send_request(0, PMI_SET_OP_GROW, 2, 0);
        EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at(REQUEST_NUMBER), number);
        mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":)" + std::to_string(number) +
                                    R"(,"reason":"no"})");
        EXPECT_EQ(done(0), "0");
    };
    for (int i = 1; i <= RequestRate::AT_ONCE; i++)
        refuse(i);
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0") << "at once";
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at(REQUEST_NUMBER), RequestRate::AT_ONCE)
        << "no query";
    mpiexec.time(mpiexec.now_ms + RequestRate::EVERY_MS);
    refuse(RequestRate::AT_ONCE + 1);
}

TEST_F(ManagedSetRequestTest, SC6_its_asker_ends)
{
    send_request(1, PMI_SET_OP_GROW, 2, 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "withdrawn");
}

TEST_F(ManagedSetRequestTest, SC6_a_manager_that_has_no_process_to_give_is_not_waited_for)
{
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    mpiexec.time(mpiexec.now_ms + 1999);
    EXPECT_EQ(done(0), "waits");
    mpiexec.time(mpiexec.now_ms + 1);
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"), "refused");
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    for (uint32_t uid : {0, 1, 2})
        query(uid);
    EXPECT_EQ(done(1), "5 mpix://rc/1,mpix://op/2.1") << "what it offers later";
}

TEST_F(ManagedSetRequestTest, SC6_processes_that_start_are_waited_for)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    resize(5, R"(,"tag":"manager")");
    mpiexec.time(mpiexec.now_ms + 10000);
    EXPECT_EQ(done(0), "waits");
    start_joining_group(1);
    enter(3);
    enter(4);
    EXPECT_EQ(done(0), "waits") << "for the removal";
    mpiexec.time(mpiexec.now_ms + 2000);
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.1");
}

}  // namespace
}  // namespace elastic
