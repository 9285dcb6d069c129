/* The program as called by people: files that it reads and writes, and exit codes. */

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/store.h"

namespace elastic::rm {
namespace {

class ElasticsimTest : public testing::Test {
  protected:
    void SetUp() override
    {
        const char *build = getenv("ELASTIC_RM_BUILD");
        ASSERT_NE(build, nullptr) << "make check sets it";
        program_ = std::string(build) + "/elasticsim";
        char name[] = "/tmp/elasticsim-test-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
        std::ofstream trace(folder_ + "/trace.swf");
        for (int i = 0; i < 60; i++)
            trace << i + 1 << " " << i * 40 << " 0 " << 120 + i % 7 * 30 << " " << 1 + i % 8
                  << " -1 -1 -1 600 -1 1 " << i % 3 << " -1 -1 -1 -1 -1 -1\n";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /* Returns its exit code; its output is in `output_`. */
    int run(const std::string &arguments)
    {
        std::string command = program_ + " " + arguments + " 2>&1";
        output_.clear();
        FILE *pipe = popen(("cd " + folder_ + " && " + command).c_str(), "r");
        if (!pipe)
            return -1;
        char part[4096];
        while (size_t bytes = fread(part, 1, sizeof(part), pipe))
            output_.append(part, bytes);
        int status = pclose(pipe);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string file(const std::string &name) const
    {
        std::ostringstream text;
        text << std::ifstream(folder_ + "/" + name).rdbuf();
        return text.str();
    }
    static size_t count(const std::string &text, const std::string &what)
    {
        size_t found = 0;
        for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
            found++;
        return found;
    }

    std::string program_, folder_, output_;
};

const std::string MACHINE = "--nodes 2 --cores 8 ";

TEST_F(ElasticsimTest, PlotsComparePolicies)
{
    ASSERT_EQ(run("trace.swf " + MACHINE +
                  "--policy easy --policy fill --malleable 0.5 --draws 2 --json --quiet "
                  "--svg plots.svg --csv jobs.csv"),
              0)
        << output_;
    EXPECT_EQ(count(output_, "\"policy\":\"easy\""), 2u) << output_;
    EXPECT_EQ(count(output_, "\"policy\":\"fill\""), 2u) << output_;
    std::string page = file("plots.svg"), jobs = file("jobs.csv");
    EXPECT_EQ(page.rfind("<svg", 0), 0u);
    EXPECT_NE(page.find("trace.swf: 2 nodes of 8 cores"), std::string::npos) << page;
    /* Waiting jobs, utilisation and sizes, of each; sizes may be interrupted. */
    EXPECT_GE(count(page, "<polyline"), 6u);
    EXPECT_EQ(count(page, "<title>easy: "), 3u);
    EXPECT_EQ(count(page, "<title>fill: "), 3u);
    EXPECT_EQ(count(jobs, "\n"), 1u + 2 * 2 * 60);
    EXPECT_EQ(count(jobs, "\nfill,2,60,"), 1u) << jobs;
}

TEST_F(ElasticsimTest, NodesOfSeveralKindsAndStrategiesOfAnotherStudy)
{
    ASSERT_EQ(run("trace.swf --nodes 1x8,2x4 --policy pref,keep-pref --malleable 0.5 --json "
                  "--quiet --svg plots.svg"),
              0)
        << output_;
    EXPECT_EQ(count(output_, "\"done\":60,"), 2u) << output_;
    EXPECT_EQ(count(output_, "\"policy\":\"keep-pref\""), 1u) << output_;
    EXPECT_NE(file("plots.svg").find("1 nodes of 8 cores, 2 of 4"), std::string::npos);
}

TEST_F(ElasticsimTest, JobsThatNeverRanAreLeftOut)
{
    std::ofstream(folder_ + "/trace.swf", std::ios::app)
        << "61 70 5 0 0 -1 -1 8 100 -1 5 1 1 -1 -1 -1 -1 -1\n";
    ASSERT_EQ(run("trace.swf --strict " + MACHINE + "--json --quiet"), 0) << output_;
    EXPECT_EQ(count(output_, "\"jobs\":60,"), 2u) << "of all and of rigid jobs: " << output_;
    EXPECT_EQ(count(output_, "1 job(s) left out"), 1u) << output_;
}

TEST_F(ElasticsimTest, RangesAreReadToTheirEnd)
{
    for (std::string range :
         {"0.5:4x", "0.5x:4", "0.5", "0.5:", ":4", "0.5:4:8", "2:4", "nan:4"}) {
        EXPECT_EQ(run("trace.swf " + MACHINE + "--quiet --range " + range), 2) << range;
        EXPECT_EQ(count(output_, "'" + range + "'"), 1u) << output_;
    }
}

TEST_F(ElasticsimTest, OnePolicyAloneIsFill)
{
    ASSERT_EQ(run("trace.swf " + MACHINE + "--quiet --svg plots.svg"), 0) << output_;
    EXPECT_EQ(output_.rfind("fill, seed 1: ", 0), 0u) << output_;
    EXPECT_EQ(count(file("plots.svg"), "<polyline"), 2u) << "no job is malleable";
}

TEST_F(ElasticsimTest, TheJobsOfAnElasticd)
{
    {
        auto store = Store::open(folder_ + "/state");
        ASSERT_TRUE(store) << store.error();
        Batch batch;
        for (JobId id = 1; id <= 3; id++) {
            Job job;
            job.id = id;
            job.state = id < 3 ? JobState::DONE : JobState::CANCELLED;
            job.spec.minimum = job.spec.maximum = 4;
            job.submitted_ms = 1'700'000'000'000 + static_cast<int64_t>(id);
            if (id < 3) {
                job.step = 1;
                job.first_size = 4;
                job.started_ms = job.sized_ms = job.submitted_ms;
                job.blocks = {{"n0", 4}};
            }
            job.ended_ms = job.submitted_ms + 60'000;
            batch.ended.push_back({id, 0, job.submitted_ms, job.ended_ms, write(job)});
        }
        ASSERT_EQ(store.value().write(batch), "");
    }
    ASSERT_EQ(run("--store state --nodes 1 --cores 4 --policy easy --json --quiet"), 0) << output_;
    EXPECT_NE(output_.find("\"done\":2,"), std::string::npos) << output_;
    EXPECT_NE(output_.find("\"makespan_ms\":120000,"), std::string::npos) << output_;
    EXPECT_NE(output_.find("1 job(s) left out: they have ended without having run"),
              std::string::npos)
        << output_;
    EXPECT_EQ(run("trace.swf --store state " + MACHINE), 2) << "one of them";
    EXPECT_EQ(run(MACHINE), 2);
    EXPECT_EQ(run("--store nowhere " + MACHINE), 1);
    EXPECT_NE(output_.find("nowhere/store.sqlite"), std::string::npos) << output_;
}

/* Lines that are not jobs are reported, omitted and counted; jobs larger than the machine, too. */
TEST_F(ElasticsimTest, ABrokenTraceIsReportedLineByLine)
{
    const std::string rest = " -1 -1 -1 600 -1 1 3 -1 -1 -1 -1 -1 -1\n";
    std::ofstream(folder_ + "/broken.swf") << "; MaxProcs: 16\n"
                                           << "1 0 0 60 4" << rest << "2 10 0 60\n"
                                           << "3 -5 0 60 4" << rest << "4 20 0 -60 4" << rest
                                           << "5 30 0 60 99" << rest << "6 40 0 60 x" << rest
                                           << "7 50 0 60 8" << rest;
    ASSERT_EQ(run("broken.swf " + MACHINE + "--policy easy --json --quiet"), 0) << output_;
    for (const char *reported :
         {"broken.swf, line 3: has 4 columns, not 18\n",
          "broken.swf, line 4: its time of submission is impossible\n",
          "broken.swf, line 5: its run time is not recorded, or impossible\n",
          "broken.swf, line 7: column 5 is not a number: x\n", "broken.swf: 4 line(s) left out",
          "1 job(s) left out: larger than the machine", "\"too_large\":1,", "\"done\":2,"})
        EXPECT_NE(output_.find(reported), std::string::npos) << reported << "\n" << output_;
    EXPECT_EQ(run("broken.swf " + MACHINE + "--strict --quiet"), 1);
    EXPECT_NE(output_.find("line 3: has 4 columns"), std::string::npos) << output_;
    EXPECT_EQ(count(output_, "\n"), 1u) << "nothing is simulated: " << output_;
}

TEST_F(ElasticsimTest, ATraceWithoutJobsIsReported)
{
    std::ofstream(folder_ + "/empty.swf");
    std::ofstream(folder_ + "/comments.swf") << "; MaxProcs: 16\n\n; no jobs\n";
    std::ofstream(folder_ + "/rubbish.swf") << "rubbish\n";
    for (const char *name : {"empty.swf", "comments.swf", "rubbish.swf"}) {
        EXPECT_EQ(run(std::string(name) + " " + MACHINE + "--json --quiet"), 1);
        EXPECT_NE(output_.find("trace " + std::string(name) + " has no jobs"), std::string::npos)
            << output_;
        EXPECT_EQ(count(output_, "{"), 0u) << "nothing is made up: " << output_;
    }
}

TEST_F(ElasticsimTest, ErrorsAreReported)
{
    EXPECT_EQ(run("nowhere.swf " + MACHINE), 1);
    EXPECT_NE(output_.find("nowhere.swf"), std::string::npos) << output_;
    EXPECT_EQ(run("trace.swf --nodes 2"), 2);
    EXPECT_EQ(run("trace.swf --nodes 2x8 --cores 8"), 2);
    EXPECT_EQ(run("trace.swf --nodes 2x8,"), 2);
    EXPECT_NE(output_.find("of several kinds"), std::string::npos) << output_;
    EXPECT_EQ(run("trace.swf " + MACHINE + "--policy fill --policy fill"), 2);
    EXPECT_NE(output_.find("twice"), std::string::npos) << output_;
    EXPECT_EQ(run("trace.swf " + MACHINE + "--quiet --svg nowhere/plots.svg"), 1);
    EXPECT_NE(output_.find("nowhere/plots.svg cannot be written"), std::string::npos) << output_;
    EXPECT_EQ(run("trace.swf " + MACHINE + "--policy easy --policy oracle --speedup downey:8,1"),
              2);
}

}  // namespace
}  // namespace elastic::rm
