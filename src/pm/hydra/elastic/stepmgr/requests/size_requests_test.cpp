/* Size requests of the program in mpiexec, with and without a resource manager. */

#include <gtest/gtest.h>

#include <cstring>

#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/common/size_request.h"

namespace elastic {
namespace {

class StepSizeRequestTest : public testing::Test {
  protected:
    /* Two processes on node a, one on b. */
    void start(int range_max = 8)
    {
        mpiexec.config.range_min = range_max > 0 ? 1 : 0;
        mpiexec.config.range_max = range_max;
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
        for (uint32_t rank = 0; rank < 3; rank++)
            mpiexec.init(0, proxy_of(rank), rank);
    }
    static int proxy_of(uint32_t rank) { return rank == 2 ? 1 : 0; }
    void size_request(const SizeRequestReport &report)
    {
        mpiexec.report(0, proxy_of(report.rank), REPORT_SIZE_REQUEST, 0,
                       write_size_request(report));
    }
    void withdraw(uint32_t rank, uint32_t number)
    {
        mpiexec.report(0, proxy_of(rank), REPORT_SIZE_REQUEST_WITHDRAWN, 0,
                       write_size_request_withdrawn({rank, number}));
    }
    /* Both proxies are prepared and frozen: the change is agreed on. */
    void agree(uint32_t epoch)
    {
        for (int proxy : {0, 1})
            mpiexec.prepared(0, proxy, epoch);
        for (int proxy : {0, 1})
            mpiexec.frozen(0, proxy, epoch, 12);
    }
    /* From 3 to 2 processes: the one on b leaves. */
    void shrink(uint32_t epoch)
    {
        agree(epoch);
        for (int proxy : {0, 1})
            mpiexec.committed(0, proxy, epoch);
    }
    /* "granted 0.1 2.4: " of the last STEP_SIZE_REQUEST_ENDED: uid and number of each holder, and
     * the reason. */
    std::string notified() const
    {
        for (auto m = mpiexec.sent.rbegin(); m != mpiexec.sent.rend(); ++m) {
            if (m->command != STEP_SIZE_REQUEST_ENDED)
                continue;
            request_ended head;
            std::memcpy(&head, m->payload.data(), sizeof head);
            std::string text = to_string(static_cast<SizeRequestEnd>(head.state));
            size_t at = sizeof head;
            for (uint32_t k = 0; k < head.holders; k++, at += sizeof(request_holder)) {
                request_holder holder;
                std::memcpy(&holder, m->payload.data() + at, sizeof holder);
                text += " " + std::to_string(holder.uid) + "." + std::to_string(holder.number);
            }
            return text + ": " + m->payload.substr(at);
        }
        return "";
    }
    std::string result() const { return mpiexec.last_event(SIZE_REQUEST_ENDED).at("result"); }
    std::string why() const { return mpiexec.last_event(SIZE_REQUEST_ENDED).value("reason", ""); }

    FakeMpiexec mpiexec;
};

TEST_F(StepSizeRequestTest, becomes_a_request_and_is_granted_by_its_commit)
{
    start();
    size_request({1, 1, 2, 2, 2, 0, "coarse grid"});
    Json event = mpiexec.last_event(SIZE_REQUESTED);
    EXPECT_EQ(event.at(REQUEST_NUMBER), 1);
    EXPECT_EQ(event.at("kind"), "processes");
    EXPECT_EQ(event.at("size"), 2);
    EXPECT_EQ(event.at("reason"), "coarse grid");
    EXPECT_EQ(event.at("rank"), 1);
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "wish");
    EXPECT_EQ(mpiexec.status().at(REQUEST_NUMBER).at(REQUEST_NUMBER), 1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0) << "not before it is done";
    shrink(1);
    EXPECT_EQ(result(), "granted");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at("size"), 2);
    EXPECT_EQ(notified(), "granted 1.1: ");
    EXPECT_TRUE(mpiexec.status().at(REQUEST_NUMBER).is_null());
}

TEST_F(StepSizeRequestTest, is_refused_with_the_reason)
{
    start();
    size_request({0, 1, 9, 9, 9, 0, ""});
    EXPECT_EQ(notified(), "refused 0.1: mpiexec was started with --adapt-range 1:8");
    size_request({0, 2, 16, 4, 16, 0, ""});
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 8) << "what the range allows of it";
    mpiexec.refuse_launch = "no capacity";
}

TEST_F(StepSizeRequestTest, without_a_range_nobody_decides)
{
    start(0);
    size_request({0, 1, 4, 4, 4, 0, ""});
    EXPECT_NE(notified().find("refused 0.1: mpiexec was started without --adapt-range"),
              std::string::npos)
        << notified();
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
    size_request({0, 2, 3, 3, 3, 0, ""});
    EXPECT_EQ(notified(), "granted 0.2: ") << "that is the size already";
}

TEST_F(StepSizeRequestTest, a_launch_that_fails_refuses_it)
{
    start();
    mpiexec.refuse_launch = "no capacity on any host";
    size_request({0, 1, 4, 4, 4, 0, ""});
    EXPECT_EQ(notified(), "refused 0.1: no capacity on any host");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 1);
}

TEST_F(StepSizeRequestTest, sizes_that_the_program_can_use_are_chosen)
{
    start();
    mpiexec.report(0, 0, REPORT_SIZES, 0, write_sizes({0, "power_of_two"}));
    size_request({0, 1, 7, 1, 8, 0, ""});
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4) << "the next smaller one";
    size_request({0, 2, 7, 7, 8, 0, ""});
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 8) << "there is no smaller one";
    size_request({0, 3, 7, 7, 7, 0, ""});
    EXPECT_EQ(notified().substr(0, 11), "refused 0.3");
    EXPECT_NE(notified().find("cannot use 7 processes"), std::string::npos) << notified();
}

TEST_F(StepSizeRequestTest, the_same_request_of_several_processes_is_one)
{
    start();
    for (uint32_t rank = 0; rank < 3; rank++)
        size_request({rank, 5, 2, 2, 2, rank == 0 ? 0 : 1700000009000u + rank, ""});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1);
    EXPECT_EQ(mpiexec.count_events("requested"), 1);
    size_t before = mpiexec.sent.size();
    shrink(1);
    EXPECT_EQ(notified(), "granted 0.5 1.5 2.5: ");
    EXPECT_NE(mpiexec.sent_text(before).find("size_request_ended:0.0 size_request_ended:0.1"),
              std::string::npos)
        << "to both proxies: " << mpiexec.sent_text(before);
}

TEST_F(StepSizeRequestTest, another_one_replaces_it)
{
    start();
    size_request({0, 1, 5, 5, 5, 0, ""});
    size_request({2, 1, 2, 2, 2, 0, ""});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1) << "the change to 5";
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_EQ(notified(), "withdrawn 0.1: another size request of the program replaces it");
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 2);
    shrink(1);
    EXPECT_EQ(notified(), "granted 2.1: ");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 2);
}

TEST_F(StepSizeRequestTest, waits_for_the_adaptation_under_way)
{
    start();
    ASSERT_TRUE(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2})").at(0).at("ok"));
    size_request({0, 1, 9, 9, 9, 0, ""});
    EXPECT_EQ(result(), "refused") << "what is impossible does not wait";
    size_request({0, 2, 1, 1, 1, 0, ""});
    EXPECT_EQ(mpiexec.count_events("requested"), 1);
    shrink(1);
    EXPECT_EQ(mpiexec.count_events("requested"), 2);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 1);
}

TEST_F(StepSizeRequestTest, a_commit_for_somebody_else_grants_it_too)
{
    start();
    ASSERT_TRUE(mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2})").at(0).at("ok"));
    size_request({0, 1, 1, 1, 2, 0, ""});
    shrink(1);
    EXPECT_EQ(notified(), "granted 0.1: ");
    EXPECT_EQ(mpiexec.count_events("requested"), 1);
}

TEST_F(StepSizeRequestTest, withdrawing_withdraws_the_change_too)
{
    start();
    size_request({0, 1, 5, 5, 5, 0, ""});
    withdraw(0, 7);
    withdraw(1, 1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0) << "not its numbers";
    withdraw(0, 1);
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"), "the program has withdrawn it");
    EXPECT_EQ(notified(), "withdrawn 0.1: the program has withdrawn it");
    withdraw(0, 1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 1);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(StepSizeRequestTest, one_that_several_have_made_is_withdrawn_by_the_last)
{
    start();
    size_request({0, 1, 5, 5, 5, 0, ""});
    size_request({2, 9, 5, 5, 5, 0, ""});
    withdraw(0, 1);
    EXPECT_EQ(notified(), "withdrawn 0.1: the program has withdrawn it");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    withdraw(2, 9);
    EXPECT_EQ(notified(), "withdrawn 2.9: the program has withdrawn it");
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 1);
}

TEST_F(StepSizeRequestTest, what_is_agreed_on_is_granted_though_withdrawn)
{
    start();
    size_request({0, 1, 2, 2, 2, 0, ""});
    agree(1);
    withdraw(0, 1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    EXPECT_EQ(notified(), "granted 0.1: ");
}

/* One process has committed already, the other has not. */
TEST_F(StepSizeRequestTest, what_is_about_to_be_granted_is_not_replaced)
{
    start();
    size_request({0, 1, 2, 2, 2, 0, ""});
    agree(1);
    size_request({1, 1, 4, 4, 4, 0, ""});
    size_request({0, 2, 4, 4, 4, 0, ""});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1);
    size_request({1, 2, 3, 3, 3, 0, ""});
    EXPECT_EQ(notified(), "withdrawn 1.1 0.2: another size request of the program replaces it");
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUEST_ENDED).at(REQUEST_NUMBER), 1);
    EXPECT_EQ(result(), "granted");
    EXPECT_EQ(mpiexec.last_event(SIZE_REQUESTED).at("size"), 3);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 3);
}

TEST_F(StepSizeRequestTest, one_that_waits_for_another_can_be_withdrawn)
{
    start();
    size_request({0, 1, 2, 2, 2, 0, ""});
    agree(1);
    size_request({1, 1, 4, 4, 4, 0, ""});
    withdraw(1, 1);
    EXPECT_EQ(notified(), "withdrawn 1.1: the program has withdrawn it");
    for (int proxy : {0, 1})
        mpiexec.committed(0, proxy, 1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 1);
}

TEST_F(StepSizeRequestTest, is_void_after_its_time)
{
    start();
    uint64_t until = static_cast<uint64_t>(mpiexec.config.unix_ms_at_zero) + 500;
    size_request({0, 1, 5, 5, 5, until, ""});
    EXPECT_EQ(mpiexec.wake_ms, 500);
    mpiexec.time(499);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    mpiexec.time(500);
    EXPECT_EQ(notified(), "refused 0.1: it was not granted within its time limit");
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    size_request({0, 2, 5, 5, 5, until, ""});
    mpiexec.time(500);
    EXPECT_EQ(notified().substr(0, 11), "refused 0.2");
}

TEST_F(StepSizeRequestTest, ends_with_the_processes_that_have_made_it)
{
    start();
    mpiexec.config.range_max = 8;
    size_request({2, 1, 5, 5, 5, 0, ""});
    mpiexec.send_request(1, R"({"id":1,"op":"cancel"})");
    EXPECT_EQ(notified(), "refused 2.1: cancelled by a client");
    size_request({2, 2, 5, 5, 5, 0, ""});
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(result(), "withdrawn");
}

TEST_F(StepSizeRequestTest, ends_with_the_job)
{
    mpiexec.config.managed = 1;
    start(0);
    size_request({0, 1, 5, 5, 5, 0, ""});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(notified(), "withdrawn 0.1: the job ended");
}

TEST_F(StepSizeRequestTest, too_many_in_a_short_time_are_refused)
{
    start(0);
    mpiexec.config.managed = 1;
    for (uint32_t number = 1; number <= 100; number++)
        size_request({0, number, static_cast<int>(3 + number), 1, 200, 0, ""});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), RequestRate::AT_ONCE);
    EXPECT_EQ(notified(),
              "refused 0.100: the program has made too many size requests in a short time");
    mpiexec.time(10 * RequestRate::EVERY_MS);
    size_request({0, 101, 4, 4, 4, 0, ""});
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), RequestRate::AT_ONCE + 1);
}

TEST_F(StepSizeRequestTest, rubbish_is_counted)
{
    start();
    std::string good = write_size_request({0, 1, 2, 2, 2, 0, ""});
    auto with = [&good](size_t at, uint32_t value) {
        std::string text = good;
        std::memcpy(text.data() + at, &value, sizeof value);
        return text;
    };
    std::vector<std::string> bad = {
        "",
        good.substr(0, good.size() - 1),
        good + "bell\a",
        good + std::string(256, 'x'),
        with(offsetof(request_made, number), 0),
        with(offsetof(request_made, kind), 3),
        with(offsetof(request_made, size), 3),
        with(offsetof(request_made, size_min), 0),
        with(offsetof(request_made, size_max), 0xffffffff),
        with(offsetof(request_made, rank), 2),     /* not on this proxy */
        with(offsetof(request_made, until_ms) + 4, 0x7fffffff),
    };
    for (const std::string &payload : bad)
        mpiexec.report(0, 0, REPORT_SIZE_REQUEST, 0, payload);
    EXPECT_EQ(mpiexec.status().at("unexpected"), bad.size());
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUESTED), 0);
}

/* ---- a resource manager ---------------------------------------------------------------------- */

class ManagedSizeRequestTest : public StepSizeRequestTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.managed = 1;
        start(0);
    }
};

TEST_F(ManagedSizeRequestTest, the_manager_grants_it_by_resizing)
{
    size_request({0, 1, 2, 2, 2, 0, ""});
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
    ASSERT_TRUE(
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2,"tag":"x"})").at(0).at("ok"));
    shrink(1);
    EXPECT_EQ(notified(), "granted 0.1: ");
}

TEST_F(ManagedSizeRequestTest, the_manager_refuses_it)
{
    size_request({0, 1, 20, 20, 20, 0, ""});
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":2,"reason":"no"})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "nothing");
    answer = mpiexec
                 .send_request(
                     1, R"({"id":1,"op":"refuse","wish":1,"reason":"the job may have 8 at most"})")
                 .at(0);
    EXPECT_TRUE(answer.at("ok")) << answer;
    EXPECT_EQ(notified(), "refused 0.1: the job may have 8 at most");
    answer = mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":1,"reason":"no"})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "nothing");
    answer = mpiexec.send_request(1, R"({"id":1,"op":"refuse","reason":"no"})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "field");
}

TEST_F(ManagedSizeRequestTest, a_commit_outside_leaves_it_open)
{
    size_request({0, 1, 5, 4, 6, 0, ""});
    ASSERT_TRUE(
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2,"tag":"x"})").at(0).at("ok"));
    shrink(1);
    EXPECT_EQ(mpiexec.count_events(SIZE_REQUEST_ENDED), 0);
}

}  // namespace
}  // namespace elastic
