/* Time, clients and malformed reports (step.h). */

#include "stepmgr/adapt/step_fixture.h"

namespace elastic {
namespace {

/* ---- time (P8, schedules, deadlines) --------------------------------------------------------- */

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
              "adaptation 1 (2 -> 1 processes) has waited for 1000 ms: the agreed probe "
              "number 17 has not been reached by: rank 1 on node b (4 probes); no process is "
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

/* ---- clients --------------------------------------------------------------------------------- */

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
    mpiexec.report(0, 1, REPORT_EXITED, 0, write_exited({0, 0})); /* rank 0 is not on this proxy */
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
