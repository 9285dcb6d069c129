/* Processes that hang in the window, and reports of adaptations that failed. */

#include <gtest/gtest.h>

#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {
namespace {

class StepWindowTest : public testing::Test {
  protected:
    /* From ranks 0 and 1 on nodes a and b to 0 and two more on c; agreed on for probe 17. */
    void agree()
    {
        mpiexec.config.straggler_ms = 1000;
        mpiexec.config.schedule = "3/leave=1";
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "b"});
        mpiexec.init(0, 0, 0);
        mpiexec.init(0, 1, 1);
        mpiexec.start_group(1, {"c", "c"});
        for (uint32_t rank = 0; rank < 2; rank++) {
            mpiexec.init(1, 0, rank);
            mpiexec.ready(1, 0, rank, 1);
        }
        for (auto [group, proxy] : {std::pair{1, 0}, {0, 0}, {0, 1}})
            mpiexec.prepared(group, proxy, 1);
        mpiexec.greeted(1, 0, 1);
        mpiexec.frozen(0, 0, 1, 12);
        mpiexec.frozen(0, 1, 1, 17);
    }
    void counts(CountReport staying, CountReport leaving, CountReport first, CountReport second)
    {
        CountReport joining[] = {first, second};
        mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts({&staying, 1}));
        mpiexec.report(0, 1, REPORT_COUNTS, 1, write_counts({&leaving, 1}));
        mpiexec.report(1, 0, REPORT_COUNTS, 1, write_counts(joining));
    }
    /* Expects one message with these words. */
    void expect_notified(const std::string &words)
    {
        ASSERT_EQ(mpiexec.notified.size(), 1u);
        EXPECT_NE(mpiexec.notified[0].find(words), std::string::npos) << mpiexec.notified[0];
    }

    FakeMpiexec mpiexec;
};

TEST_F(StepWindowTest, positions_in_the_window_are_reported)
{
    agree();
    size_t seen = mpiexec.sent.size();
    mpiexec.time(1000);
    EXPECT_EQ(mpiexec.sent_text(seen), "counts:0.0 counts:0.1 counts:1.0");
    counts({0, PMI_ADAPT_PHASE_COMMIT, 17, 400}, {1, PMI_ADAPT_PHASE_BEGIN, 17, 900},
           {0, PMI_ADAPT_PHASE_WINDOW, 0, 950}, {1, PMI_ADAPT_PHASE_WINDOW, 0, 960});
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "adaptation 1 (2 -> 3 processes) has waited for 1000 ms: the adaptation window is open, "
        "in MPI_Comm_adapt_begin for 900 ms: leaving rank 1 on node b; "
        "between begin and commit for 950 to 960 ms: the process that joins as rank 1 on node c, "
        "the process that joins as rank 2 on node c; "
        "in MPI_Comm_adapt_commit for 400 ms: staying rank 0 on node a; "
        "no process is ended because of this");
    Json ranks = mpiexec.last_event("behind").at("ranks");
    ASSERT_EQ(ranks.size(), 4u);
    EXPECT_EQ(ranks[1].at("kind"), "leaving");
    EXPECT_EQ(ranks[1].at("phase_ms"), 900);
    EXPECT_EQ(ranks[2].at("joining"), true);
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepWindowTest, absent_processes_are_reported_before_waiting_ones)
{
    agree();
    mpiexec.time(1000);
    counts({0, PMI_ADAPT_PHASE_BEGIN, 17, 900}, {1, PMI_ADAPT_PHASE_TOLD, 17, 900},
           {0, PMI_ADAPT_PHASE_WINDOW, 0, 900}, {1, PMI_ADAPT_PHASE_WINDOW, 0, 900});
    expect_notified("have not called MPI_Comm_adapt_begin: rank 1 on node b");
}

TEST_F(StepWindowTest, processes_in_finalize_are_reported_before_those_in_the_window)
{
    agree();
    mpiexec.time(1000);
    counts({0, PMI_ADAPT_PHASE_WINDOW, 17, 900}, {1, PMI_ADAPT_PHASE_IGNORED, 17, 900},
           {0, PMI_ADAPT_PHASE_WINDOW, 0, 900}, {1, PMI_ADAPT_PHASE_WINDOW, 0, 900});
    expect_notified("have called MPI_Finalize without MPI_Comm_adapt_begin: rank 1 on node b");
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepWindowTest, many_are_named_by_ranges)
{
    mpiexec.config.straggler_ms = 1000;
    mpiexec.config.schedule = "1";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, std::vector<std::string>(8, "a"));
    for (uint32_t rank = 0; rank < 8; rank++)
        mpiexec.init(0, 0, rank);
    mpiexec.prepared(0, 0, 1);
    mpiexec.frozen(0, 0, 1, 5);
    mpiexec.time(1000);
    std::vector<CountReport> reports;
    for (uint32_t rank = 0; rank < 8; rank++)
        reports.push_back({rank, PMI_ADAPT_PHASE_WINDOW, 5, 700});
    mpiexec.report(0, 0, REPORT_COUNTS, 1, write_counts(reports));
    expect_notified("for 700 ms: staying rank 0 on node a, leaving ranks 1-7;");
}

TEST_F(StepWindowTest, joining_processes_that_do_not_prepare_are_reported)
{
    mpiexec.config.straggler_ms = 1000;
    mpiexec.config.schedule = "3";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0);
    mpiexec.init(0, 1, 1);
    mpiexec.start_group(1, {"c"});
    mpiexec.init(1, 0, 0);
    mpiexec.time(500);
    mpiexec.ready(1, 0, 0, 1);
    mpiexec.time(1500);
    expect_notified("on these nodes have not prepared in MPI_Comm_adapt_begin: c;");
}

TEST_F(StepWindowTest, processes_are_named_by_rank)
{
    agree();
    mpiexec.time(1000);
    counts({0, PMI_ADAPT_PHASE_COMMIT, 17, 400}, {1, PMI_ADAPT_PHASE_COMMIT, 17, 900},
           {1, PMI_ADAPT_PHASE_WINDOW, 0, 960}, {0, PMI_ADAPT_PHASE_WINDOW, 0, 950});
    expect_notified("the process that joins as rank 1 on node c, "
                    "the process that joins as rank 2 on node c");
}

/* ---- the program is over --------------------------------------------------------------------- */

TEST_F(StepWindowTest, a_result_true_that_all_ignored_is_reported)
{
    agree();
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 1, 1);
    counts({0, PMI_ADAPT_PHASE_IGNORED, 17}, {1, PMI_ADAPT_PHASE_IGNORED, 17},
           {0, PMI_ADAPT_PHASE_WINDOW, 0}, {1, PMI_ADAPT_PHASE_WINDOW, 0});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "adaptation 1 (2 -> 3 processes, schedule entry 1) did not take place: MPI_Probe_adapt "
        "had returned MPI_ADAPT_TRUE, and MPI_Finalize was called without MPI_Comm_adapt_begin by "
        "staying rank 0 on node a, leaving rank 1 on node b");
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(StepWindowTest, a_true_that_one_ignored_while_another_is_in_the_window_ends_the_job)
{
    agree();
    mpiexec.exited(0, 0, 0);
    counts({0, PMI_ADAPT_PHASE_IGNORED, 17}, {1, PMI_ADAPT_PHASE_WINDOW, 17},
           {0, PMI_ADAPT_PHASE_WINDOW, 0}, {1, PMI_ADAPT_PHASE_WINDOW, 0});
    ASSERT_EQ(mpiexec.aborts.size(), 1u);
    EXPECT_NE(mpiexec.aborts[0].find("rank 0 on node a ended"), std::string::npos)
        << mpiexec.aborts[0];
}

TEST_F(StepWindowTest, joining_processes_that_never_came_to_begin_are_reported)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0);
    mpiexec.init(0, 1, 1);
    mpiexec.start_group(1, {"c", "c"});
    mpiexec.init(1, 0, 0);
    mpiexec.init(1, 0, 1);
    mpiexec.ready(1, 0, 1, 1);
    mpiexec.exited(0, 0, 0);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "adaptation 1 (2 -> 4 processes, schedule entry 1) did not take place: the program ended "
        "first; 1 of 2 joining processes had called MPI_Comm_adapt_begin");
}

TEST_F(StepWindowTest, a_joining_process_that_ends_without_begin_is_reported)
{
    mpiexec.config.schedule = "3";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0);
    mpiexec.init(0, 1, 1);
    mpiexec.start_group(1, {"c"});
    mpiexec.init(1, 0, 0);
    mpiexec.exited(1, 0, 0);
    expect_notified("the process that joins as rank 2 on node c ended with exit code 0 without "
                    "having called MPI_Comm_adapt_begin; the job continues unchanged");
}

}  // namespace
}  // namespace elastic
