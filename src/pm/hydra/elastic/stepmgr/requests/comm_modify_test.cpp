/* MPIX_Comm_modify in mpiexec: in rigid and in adaptive programs, with and without a resource
 * manager. */

#include <gtest/gtest.h>

#include <cstring>

#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/common/size_request.h"

namespace elastic {
namespace {

class StepModifyTest : public testing::Test {
  protected:
    /* Two processes on node a, one on b. */
    void start(bool adaptive)
    {
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
        for (uint32_t rank = 0; rank < 3; rank++)
            mpiexec.init(0, proxy_of(rank), rank, adaptive);
    }
    static int proxy_of(uint32_t rank) { return rank == 2 ? 1 : 0; }
    void call(int group, int proxy, uint32_t rank)
    {
        mpiexec.report(group, proxy, REPORT_INIT, 0,
                       write_init({rank, REPORT_MODE_MODIFY, 0, "addr"}));
    }
    void all_call()
    {
        for (uint32_t rank = 0; rank < 3; rank++)
            call(0, proxy_of(rank), rank);
    }
    void make_request(int size, uint32_t number = 1)
    {
        mpiexec.report(0, 0, REPORT_SIZE_REQUEST, 0,
                       write_size_request({0, number, size, size, size, 0, "", true}));
    }
    /* A process on a is created: group 1. */
    void create_one(uint32_t epoch)
    {
        mpiexec.start_group(1, {"a"});
        call(1, 0, 0);
        mpiexec.ready(1, 0, 0, epoch);
        mpiexec.prepared(1, 0, epoch);
    }
    void agree(uint32_t epoch)
    {
        for (int proxy : {0, 1})
            mpiexec.prepared(0, proxy, epoch);
        mpiexec.time(mpiexec.now_ms + 60);
        for (int proxy : {0, 1})
            mpiexec.frozen(0, proxy, epoch, 2);
    }
    /* "refused(1) 0.1: why": the end that is sent to rank 0, and its cause. */
    std::string notified() const
    {
        for (auto m = mpiexec.sent.rbegin(); m != mpiexec.sent.rend(); ++m) {
            if (m->command != STEP_SIZE_REQUEST_ENDED)
                continue;
            request_ended head;
            request_holder holder;
            std::memcpy(&head, m->payload.data(), sizeof head);
            std::memcpy(&holder, m->payload.data() + sizeof head, sizeof holder);
            EXPECT_EQ(head.holders, 1u);
            return std::string(to_string(static_cast<SizeRequestEnd>(head.state))) + "(" +
                   std::to_string(head.cause) + ") " + std::to_string(holder.uid) + "." +
                   std::to_string(holder.number) + ": " +
                   m->payload.substr(sizeof head + sizeof holder);
        }
        return "";
    }

    FakeMpiexec mpiexec;
};

TEST_F(StepModifyTest, a_rigid_program_grows)
{
    start(false);
    make_request(4);
    EXPECT_EQ(mpiexec.launches.size(), 0u) << "not before all addresses are known";
    all_call();
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_TRUE(mpiexec.launches[0].modify);
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "program");
    create_one(1);
    agree(1);
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    mpiexec.committed(1, 0, 1);
    EXPECT_EQ(notified(), "granted(0) 0.1: ");
    EXPECT_EQ(mpiexec.last_event("committed").at("size"), 4);
    EXPECT_EQ(mpiexec.status().at("mode"), "rigid");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
    EXPECT_FALSE(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2})").at(0).at("ok"))
        << "by nobody else";
}

TEST_F(StepModifyTest, and_shrinks_again)
{
    start(false);
    all_call();
    make_request(2);
    EXPECT_EQ(mpiexec.launches.size(), 0u);
    agree(1);
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    EXPECT_EQ(notified(), "granted(0) 0.1: ");
    EXPECT_EQ(mpiexec.status().at("size"), 2);
    make_request(1, 2);         /* addresses are known */
    EXPECT_EQ(mpiexec.count_events("requested"), 2);
}

TEST_F(StepModifyTest, the_core_may_receive_the_sample)
{
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "a", "b"});
    all_call();
    EXPECT_EQ(mpiexec.status().at("mode"), "rigid");
    make_request(4);
    EXPECT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(StepModifyTest, a_created_process_that_dies_changes_nothing)
{
    for (int state = 0; state < 4; state++) {
        SCOPED_TRACE(state);
        FakeMpiexec fresh;
        ASSERT_EQ(fresh.create(), "");
        fresh.start_group(0, {"a"});
        fresh.report(0, 0, REPORT_INIT, 0, write_init({0, REPORT_MODE_MODIFY, 0, "addr"}));
        fresh.report(0, 0, REPORT_SIZE_REQUEST, 0,
                     write_size_request({0, 1, 2, 2, 2, 0, "", true}));
        fresh.start_group(1, {"a"});
        if (state > 0)
            fresh.report(1, 0, REPORT_INIT, 0, write_init({0, REPORT_MODE_MODIFY, 0, "addr"}));
        if (state > 1)
            fresh.ready(1, 0, 0, 1);
        if (state > 2)
            fresh.prepared(1, 0, 1);
        fresh.exited(1, 0, 0, 9);
        EXPECT_EQ(fresh.count_events("failed"), 1);
        EXPECT_EQ(fresh.last_event(SIZE_REQUEST_ENDED).at("result"), "refused");
        EXPECT_EQ(fresh.killed, std::vector{1});
        EXPECT_TRUE(fresh.aborts.empty());
        EXPECT_EQ(fresh.status().at("size"), 1);
    }
}

TEST_F(StepModifyTest, one_that_is_not_created_by_it_is_no_member)
{
    start(false);
    all_call();
    make_request(4);
    mpiexec.start_group(1, {"a"});
    mpiexec.init(1, 0, 0, false);       /* as a program with another library */
    EXPECT_EQ(notified().substr(0, 14), "refused(0) 0.1") << notified();
}

TEST_F(StepModifyTest, a_launch_that_is_refused_is_an_error_of_the_call)
{
    start(false);
    all_call();
    mpiexec.refuse_launch = "no capacity";
    make_request(5);
    EXPECT_EQ(notified(), "refused(0) 0.1: no capacity");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
}

TEST_F(StepModifyTest, the_range_counts_if_there_is_one)
{
    mpiexec.config.range_min = 2;
    mpiexec.config.range_max = 4;
    start(false);
    all_call();
    make_request(5);
    EXPECT_EQ(
        notified(),
        "refused(0) 0.1: mpiexec was started with --adapt-range 2:4: request a size in that range");
    make_request(1, 2);
    EXPECT_EQ(notified().substr(0, 14), "refused(0) 0.2");
    make_request(4, 3);
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(StepModifyTest, what_is_not_agreed_on_is_withdrawn)
{
    start(true);
    ASSERT_TRUE(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":8})").at(0).at("ok"));
    make_request(4);
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"), "modify");
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "program");
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

TEST_F(StepModifyTest, what_is_agreed_on_comes_first)
{
    start(true);
    ASSERT_TRUE(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2})").at(0).at("ok"));
    agree(1);
    make_request(4);
    EXPECT_EQ(notified(), "refused(1) 0.1: another adaptation is agreed on");
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    EXPECT_EQ(mpiexec.status().at("size"), 2);
    make_request(3, 2);
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "program");
}

TEST_F(StepModifyTest, another_size_request_does_not_disturb_it)
{
    start(true);
    make_request(4);
    mpiexec.report(0, 0, REPORT_SIZE_REQUEST, 0, write_size_request({1, 1, 2, 2, 2, 0, ""}));
    EXPECT_EQ(notified(), "refused(0) 1.1: the program waits in MPIX_Comm_modify");
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
}

TEST_F(StepModifyTest, cancelling_it_is_an_error_of_the_call)
{
    start(false);
    all_call();
    make_request(4);
    mpiexec.send_request(1, R"({"id":1,"op":"cancel","request":1})");
    EXPECT_EQ(notified().substr(0, 14), "refused(0) 0.1") << notified();
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
}

TEST_F(StepModifyTest, a_resource_manager_gives_what_is_waited_for)
{
    mpiexec.config.managed = 1;
    start(false);
    make_request(4);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0) << "not before it could be had";
    all_call();
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("modify"), true);
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
    EXPECT_FALSE(
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":5,"tag":"7"})").at(0).at("ok"));
    EXPECT_TRUE(
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":4,"tag":"7"})").at(0).at("ok"));
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "program");
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(StepModifyTest, or_refuses_it)
{
    mpiexec.config.managed = 1;
    start(false);
    all_call();
    make_request(4);
    EXPECT_TRUE(mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":1,"reason":"no cores"})")
                    .at(0)
                    .at("ok"));
    EXPECT_EQ(notified(), "refused(0) 0.1: no cores");
}

}  // namespace
}  // namespace elastic
