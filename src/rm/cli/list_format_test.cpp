/* Lists in the formats of squeue and sacct. */

#include "cli/list_format.h"

#include <gtest/gtest.h>

#include "cli/job_fields.h"

namespace elastic {
namespace {

using Lines = std::vector<std::string>;

constexpr int64_t NOW_MS = 1'000'000;

Json job(int64_t id, const char *name, const char *state, int64_t priority = 0)
{
    return {{"id", id}, {"name", name}, {"user", "al"}, {"state", state},
            {"code", std::string(state) == "RUNNING" ? "R" : "PD"}, {"priority", priority},
            {"size", std::string(state) == "RUNNING" ? 4 : 0}, {"min", 2}, {"max", 8},
            {"cores_per_process", 2}, {"submit_ms", NOW_MS - 70'000},
            {"start_ms", std::string(state) == "RUNNING" ? Json(NOW_MS - 60'000) : Json()},
            {"end_ms", nullptr}, {"exit_code", nullptr}, {"reason", "resources"},
            {"nodes", std::string(state) == "RUNNING"
                 ? Json{{{"name", "n0"}, {"processes", 4}}}
                 : Json::array()},
            {"time_limit_ms", 600'000},
            {"accounting",
             {{"core_ms", 480'000}, {"cpu_ms", 90'000}, {"max_rss_bytes", 2 << 20},
              {"core_ms_by_size",
               {{{"size", 2}, {"core_ms", 80'000}}, {{"size", nullptr}, {"core_ms", 400'000}}}}}}};
}

const std::vector<Json> JOBS = {job(3, "heat", "RUNNING"), job(12, "a|long name", "PENDING", 5)};

TEST(ListFormatTest, letters_as_squeue_has_them)
{
    auto format = ListFormat::of(JOB_FIELDS, "%.5i %8j|%t %M/%l (%C) %R%%");
    ASSERT_TRUE(format) << format.error();
    EXPECT_EQ(format.value().lines(JOBS, NOW_MS, true),
              (Lines{"JOBID NAME    |ST TIME/TIME_LIMIT (CPUS) NODELIST(REASON)%",
                     "    3 heat    |R 1:00/10:00 (8) n0%",
                     "   12 a|long n|PD 0:00/10:00 (4) (resources)%"}));
    EXPECT_EQ(format.value().lines({}, NOW_MS, false), Lines());
    for (const char *wrong : {"%", "%!", "%.5", "text", "%5"})
        EXPECT_FALSE(ListFormat::of_letters(JOB_FIELDS, wrong)) << wrong;
    EXPECT_NE(ListFormat::of(JOB_FIELDS, "%q").error().find("%i, "), std::string::npos);
}

TEST(ListFormatTest, names_as_squeue_and_sacct_have_them)
{
    auto format = ListFormat::of(JOB_FIELDS, "JobID,JobName%6,state:3,timeleft");
    ASSERT_TRUE(format) << format.error();
    EXPECT_EQ(format.value().lines(JOBS, NOW_MS, true),
              (Lines{"JOBID    NAME  STA  TIME_LEFT", "    3    heat  RUN       9:00",
                     "   12  a|long  PEN      10:00"}));
    format = ListFormat::of(JOB_FIELDS, "jobname%-6,jobid:.4");
    ASSERT_TRUE(format) << format.error();
    EXPECT_EQ(format.value().lines(JOBS, NOW_MS, false), (Lines{"heat       3", "a|long    12"}));
    for (const char *wrong : {"", "none", "jobid:", "jobid:x", "jobid%2x", "jobid:0"})
        EXPECT_FALSE(ListFormat::of_names(JOB_FIELDS, wrong)) << wrong;
    EXPECT_NE(ListFormat::of(JOB_FIELDS, "qos").error().find("jobid, "), std::string::npos);
}

TEST(ListFormatTest, what_a_job_has_used)
{
    auto format = ListFormat::of(
        JOB_FIELDS, "elapsed,suspended,waited,cputime,totalcpu,maxrss,coresecondsbysize,exitcode");
    ASSERT_TRUE(format) << format.error();
    Json job = JOBS[0];
    job["suspended_ms"] = 20'000;
    EXPECT_EQ(format.value().row(job, NOW_MS),
              (Lines{"0:40", "0:20", "0:10", "8:00", "1:30", "2048K", "2:80,other:400", "-"}));
    EXPECT_EQ(format.value().row(Json::object(), NOW_MS),
              (Lines{"0:00", "0:00", "0:00", "-", "-", "-", "-", "-"}));
}

TEST(ListFormatTest, a_field_cannot_end_its_column)
{
    auto format = ListFormat::of(JOB_FIELDS, "jobid,name");
    ASSERT_TRUE(format);
    Json evil = job(1, "a|b\n\x1b[2J", "PENDING");
    EXPECT_EQ(parsable_line(format.value().row(evil, NOW_MS), Parsable::BARS), "1|a?b ?[2J|");
    EXPECT_EQ(parsable_line({"1", ""}, Parsable::BARS_BETWEEN), "1|");
}

TEST(ListFormatTest, sorted_by_several_fields)
{
    std::vector<Json> jobs = {job(2, "b", "PENDING", 1), job(10, "a", "PENDING", 1),
                              job(1, "c", "RUNNING")};
    auto ids = [&](const char *text) {
        auto keys = parse_sort(JOB_FIELDS, text);
        EXPECT_TRUE(keys) << keys.error();
        std::vector<Json> sorted = jobs;
        sort_items(sorted, keys.value(), NOW_MS);
        std::string found;
        for (const Json &each : sorted)
            found += text_of(each, "id") + " ";
        return found;
    };
    EXPECT_EQ(ids("i"), "1 2 10 ") << "by number, not by letter";
    EXPECT_EQ(ids("-jobid"), "10 2 1 ");
    EXPECT_EQ(ids("-Q,j"), "10 2 1 ");
    EXPECT_EQ(ids("+t"), "2 10 1 ") << "equal ones keep their order";
    EXPECT_FALSE(parse_sort(JOB_FIELDS, "x"));
    EXPECT_FALSE(parse_sort(JOB_FIELDS, "i,nothing"));
}

}  // namespace
}  // namespace elastic
