/* Ends of processes, proxies and the job in an adaptation. */

#include "stepmgr/adapt/step_fixture.h"

namespace elastic {
namespace {

/* ---- the end of the job ---------------------------------------------------------------------- */

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
                  "program ended first"});
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
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"),
              "mpiexec received a signal to end (SIGTERM)");
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
                                  "mpiexec received a signal to end (SIGINT) while adaptation "
                                  "1 (2 -> 4 processes) was in progress, and all processes are "
                                  "ended"});
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

/* The last adaptation shrinks to one process, which then ends before the others on its board have
 * left commit. */
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

/* ---- after agreement (E4) -------------------------------------------------------------------- */

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
    EXPECT_NE(mpiexec.aborts[0].find("node b has failed with its proxy"), std::string::npos);
}

}  // namespace
}  // namespace elastic
