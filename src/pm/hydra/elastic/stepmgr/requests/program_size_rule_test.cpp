/* Sizes that the program can use, and messages that it did not receive, in mpiexec. */

#include <gtest/gtest.h>

#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {
namespace {

class StepSizesTest : public testing::Test {
  protected:
    /* Two processes on node a, which can use powers of two. */
    void start(const char *schedule, const char *rule = "power_of_two")
    {
        mpiexec.config.schedule = schedule;
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a"});
        mpiexec.init(0, 0, 0);
        report_line(rule);
        mpiexec.init(0, 0, 1);
    }
    void report_line(const char *rule, uint32_t rank = 0)
    {
        mpiexec.report(0, 0, REPORT_SIZES, 0, write_sizes({rank, rule}));
    }
    Json resize(int size)
    {
        return mpiexec
            .send_request(1, R"({"id":1,"op":"resize","size":)" + std::to_string(size) + "}")
            .at(0);
    }

    FakeMpiexec mpiexec;
};

TEST_F(StepSizesTest, a_request_for_another_size_is_refused_with_its_reason)
{
    start(nullptr);
    EXPECT_EQ(mpiexec.last_event("sizes").at("rule"), "power_of_two");
    EXPECT_EQ(mpiexec.status().at("sizes"), "power_of_two");
    Json answer = resize(5);
    EXPECT_EQ(answer.at("error").at("code"), "sizes");
    EXPECT_EQ(answer.at("error").at("message"),
              "the program cannot use 5 processes, its rule of MPIX_Adapt_sizes is "
              "'power_of_two'; the nearest sizes are 4 and 8");
    EXPECT_TRUE(mpiexec.launches.empty());
    EXPECT_TRUE(resize(4).at("ok"));
}

TEST_F(StepSizesTest, entries_of_a_schedule_are_skipped_with_their_reason)
{
    start("5,4");
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_TRUE(
        mpiexec.notified[0].starts_with("schedule entry 1 is skipped: the program cannot use 5 "
                                        "processes"))
        << mpiexec.notified[0];
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

TEST_F(StepSizesTest, a_policy_takes_the_next_size)
{
    mpiexec.config.policy = "increase-decrease";
    mpiexec.config.range_min = 1;
    mpiexec.config.range_max = 8;
    mpiexec.config.interval_ms = 0;
    start(nullptr);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

TEST_F(StepSizesTest, a_policy_without_another_size_stops_with_a_line)
{
    mpiexec.config.policy = "random";
    mpiexec.config.range_min = 1;
    mpiexec.config.range_max = 8;
    mpiexec.config.interval_ms = 0;
    start(nullptr, "2");
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_NE(mpiexec.notified[0].find("the adaptation policy stops"), std::string::npos);
}

TEST_F(StepSizesTest, what_is_under_way_is_withdrawn_before_agreement)
{
    start(nullptr, "any");
    Json accepted = resize(5);
    ASSERT_TRUE(accepted.at("ok"));
    report_line("power_of_two");
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_NE(mpiexec.last_event("withdrawn").at("reason").get<std::string>().find("cannot use 5"),
              std::string::npos);
    EXPECT_EQ(mpiexec.killed, std::vector{1});
    EXPECT_TRUE(mpiexec.notified.empty()) << "the requester gets an answer";
}

TEST_F(StepSizesTest, an_agreed_change_happens_with_a_line)
{
    start("1", "any");
    mpiexec.prepared(0, 0, 1);
    mpiexec.frozen(0, 0, 1, 12);
    report_line("2-");
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_TRUE(mpiexec.notified[0].starts_with("schedule entry 1 is carried out nevertheless"))
        << mpiexec.notified[0];
}

TEST_F(StepSizesTest, a_rule_can_be_replaced_and_rubbish_is_none)
{
    start(nullptr);
    report_line("primes");
    EXPECT_EQ(mpiexec.status().at("sizes"), "power_of_two");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 1);
    report_line("power_of_two");
    EXPECT_EQ(mpiexec.count_events("sizes"), 1) << "nothing new";
    report_line("any");
    EXPECT_TRUE(resize(5).at("ok"));
}

/* ---- messages that nobody received ----------------------------------------------------------- */

TEST_F(StepSizesTest, unreceived_messages_are_reported_at_the_end_of_the_adaptation)
{
    start("1", "any");
    mpiexec.report(0, 0, REPORT_UNRECEIVED, 0, write_unreceived({0, 3, 1, 7, "before any"}));
    EXPECT_EQ(mpiexec.count_events("unexpected"), 1);
    mpiexec.prepared(0, 0, 1);
    mpiexec.frozen(0, 0, 1, 12);
    mpiexec.report(0, 0, REPORT_UNRECEIVED, 1, write_unreceived({0, 3, 1, 7, "MPI_COMM_WORLD"}));
    EXPECT_TRUE(mpiexec.notified.empty());
    EXPECT_EQ(mpiexec.last_event("unreceived").at("count"), 3);
    mpiexec.committed(0, 0, 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(mpiexec.notified[0],
              "adaptation 1 (2 -> 1 processes): these messages were not received before "
              "MPI_Comm_adapt_commit and are lost: 3 on MPI_COMM_WORLD to rank 0 on node "
              "a (the first from rank 1 with tag 7)");
    mpiexec.report(0, 0, REPORT_UNRECEIVED, 1, write_unreceived({0, 1, 1, 7, "intercomm"}));
    EXPECT_EQ(mpiexec.notified.size(), 2u) << "on a slower way";
    mpiexec.report(0, 0, REPORT_UNRECEIVED, 9, write_unreceived({0, 1, 1, 7, "intercomm"}));
    EXPECT_EQ(mpiexec.count_events("unexpected"), 2);
}

}  // namespace
}  // namespace elastic
