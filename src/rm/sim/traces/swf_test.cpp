/* Reading traces: lines that are accepted as jobs, and messages about the others. */

#include "sim/traces/swf.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>

namespace elastic::rm {
namespace {

const std::string GOOD = "7 100 5 60 4 -1 -1 8 120 -1 1 3 1 -1 -1 -1 -1 -1";

class SwfTest : public testing::Test {
  protected:
    ~SwfTest() override { unlink(path_.c_str()); }
    void write(const std::string &text) { std::ofstream(path_) << text; }

    std::string path_ = testing::TempDir() + "trace-" + std::to_string(getpid());
};

TEST_F(SwfTest, a_line)
{
    auto job = read_trace_line(GOOD);
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(job.value().number, 7);
    EXPECT_EQ(job.value().submit_s, 100);
    EXPECT_EQ(job.value().run_s, 60);
    EXPECT_EQ(job.value().processors, 4);
    EXPECT_EQ(job.value().requested_s, 120);
    EXPECT_EQ(job.value().user, 3);
}

TEST_F(SwfTest, requested_processors_if_none_are_recorded)
{
    auto job = read_trace_line("1 0 -1 60 -1 -1 -1 8 -1 -1 1 -1 -1 -1 -1 -1 -1 -1");
    ASSERT_TRUE(job);
    EXPECT_EQ(job.value().processors, 8);
    EXPECT_EQ(job.value().requested_s, 0);
    EXPECT_EQ(job.value().user, -1);
}

TEST_F(SwfTest, jobs_that_were_cancelled)
{
    for (const char *waiting : {"1 0 5 0 0 -1 -1 8 -1 -1 5 -1 -1 -1 -1 -1 -1 -1",
                                "1 0 5 -1 -1 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1"}) {
        auto job = read_trace_line(waiting);
        ASSERT_TRUE(job) << job.error();
        EXPECT_TRUE(job.value().never_ran) << waiting;
    }
    auto ran = read_trace_line("1 0 5 60 4 -1 -1 8 -1 -1 5 -1 -1 -1 -1 -1 -1 -1");
    ASSERT_TRUE(ran);
    EXPECT_FALSE(ran.value().never_ran) << "it ran until it was cancelled";
    EXPECT_EQ(ran.value().run_s, 60);
    EXPECT_FALSE(read_trace_line(GOOD).value().never_ran);
}

TEST_F(SwfTest, lines_that_are_no_jobs)
{
    for (const char *line : {"1 2 3", "1 0 0 60 4 -1 -1 8 120 -1 1 3 1 -1 -1 -1 -1",
                             "1 -5 0 60 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 -1 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 60 0 -1 -1 -1 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 60 1e30 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 nan 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 60s 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 1e12 0 60 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1",
                             "1 0 0 60 4 -1 -1 4 1 -1 1 3 1 -1 -1 -1 -1 -1 9"})
        EXPECT_FALSE(read_trace_line(line)) << line;
}

TEST_F(SwfTest, a_file_with_broken_lines)
{
    write("; MaxProcs: 100\n\n" + GOOD +
          "\nrubbish\n9 50 0 10 1 -1 -1 1 20 -1 1 3 1 -1 -1 -1 -1 -1\n");
    auto trace = read_trace(path_, false);
    ASSERT_TRUE(trace) << trace.error();
    EXPECT_EQ(trace.value().max_processors, 100);
    ASSERT_EQ(trace.value().jobs.size(), 2u);
    EXPECT_EQ(trace.value().jobs[0].number, 9); /* in the order of submission */
    EXPECT_EQ(trace.value().skipped, 1);
    ASSERT_EQ(trace.value().problems.size(), 1u);
    EXPECT_EQ(trace.value().problems[0].line, 4);
    auto strict = read_trace(path_, true);
    ASSERT_FALSE(strict);
    EXPECT_NE(strict.error().find("line 4"), std::string::npos) << strict.error();
}

TEST_F(SwfTest, a_line_without_end)
{
    write(std::string(100000, '1').append("\n").append(GOOD).append("\n"));
    auto trace = read_trace(path_, false);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace.value().jobs.size(), 1u);
    EXPECT_EQ(trace.value().skipped, 1);
    EXPECT_EQ(trace.value().problems[0].line, 1);
}

TEST_F(SwfTest, no_newline_at_the_end)
{
    write(GOOD);
    auto trace = read_trace(path_, true);
    ASSERT_TRUE(trace) << trace.error();
    EXPECT_EQ(trace.value().jobs.size(), 1u);
}

TEST_F(SwfTest, gzip_and_a_gzip_file_that_is_cut_short)
{
    std::string text;
    for (int i = 0; i < 1000; i++)
        text += std::to_string(i) + " " + std::to_string(7 * i * i) +
                " 5 60 4 -1 -1 8 120 -1 1 3 1 -1 -1 -1 -1 -1\n";
    gzFile file = gzopen(path_.c_str(), "wb");
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    gzclose(file);
    auto trace = read_trace(path_, true);
    ASSERT_TRUE(trace) << trace.error();
    EXPECT_EQ(trace.value().jobs.size(), 1000u);
    ASSERT_EQ(truncate(path_.c_str(), 1000), 0);
    EXPECT_FALSE(read_trace(path_, false));
}

TEST_F(SwfTest, no_file) { EXPECT_FALSE(read_trace(path_ + "-is-not-there", false)); }

}  // namespace
}  // namespace elastic::rm
