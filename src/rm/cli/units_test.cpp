#include "cli/units.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(UnitsTest, times_as_slurm_reads_them)
{
    struct { const char *text; int64_t seconds; } cases[] = {
        {"10", 600}, {"10:30", 630}, {"1:02:03", 3723}, {"2-3", 183600}, {"0-1:30", 5400},
        {"1-00:00:01", 86401}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"1d", 86400},
        {"unlimited", 0}, {"0:01", 1}, {"0", 0}, {"00:00:00", 0},
    };
    for (const auto &[text, seconds] : cases) {
        auto parsed = parse_time_limit(text);
        ASSERT_TRUE(parsed) << text << ": " << parsed.error();
        EXPECT_EQ(parsed.value(), seconds) << text;
    }
}

TEST(UnitsTest, a_malformed_time_names_the_right_form)
{
    for (const char *text : {"", "x", "1:x", "1:2:3:4", "-5", "1-", "-", ":", "1::2",
                             "s", "1.5", "10 ", "367-0", "99999999999999999999", "1-2-3", "5w"}) {
        auto parsed = parse_time_limit(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().find("minutes:seconds"), std::string::npos);
    }
}

TEST(UnitsTest, times_to_begin)
{
    setenv("TZ", "UTC", 1);
    tzset();
    constexpr int64_t NOON = 1700049600;        /* 2023-11-15, 12:00 */
    struct { const char *text; int64_t seconds; } cases[] = {
        {"now", NOON}, {"now+10", NOON + 10}, {"now+2h", NOON + 7200},
        {"now+1hour", NOON + 3600}, {"now+30minutes", NOON + 1800}, {"now+2days", NOON + 172800},
        {"now+90seconds", NOON + 90}, {"now+1week", NOON + 604800},
        {"tomorrow", NOON + 43200}, {"midnight", NOON + 43200}, {"noon", NOON + 86400},
        {"12:30", NOON + 1800},
        {"11:00", NOON + 82800}, {"12:00", NOON + 86400}, {"13:00:05", NOON + 3605},
        {"2023-11-16", NOON + 43200}, {"2023-11-15T12:00:01", NOON + 1},
        {"2023-11-15T12:01", NOON + 60}, {"1970-01-01", 0},
    };
    for (const auto &[text, seconds] : cases) {
        auto parsed = parse_begin(text, NOON);
        ASSERT_TRUE(parsed) << text << ": " << parsed.error();
        EXPECT_EQ(parsed.value(), seconds) << text;
    }
    for (const char *text :
         {"", "now+", "now-1", "now+hour", "now+1hourly", "now+99999weeks", "now+x", "24:00",
          "12:60", "12", "12:0x", "2023-13-01", "2023-02-30",
          "2023-11-15T", "2023-11-15T25:00", "2023-11-15 12:00", "1969-12-31", "teatime", "-1:-1",
          "now+99999999999999999999", "2023-11-15Tx"})
        EXPECT_FALSE(parse_begin(text, NOON)) << text;
}

TEST(UnitsTest, times_of_the_past_as_sacct_reads_them)
{
    setenv("TZ", "UTC", 1);
    tzset();
    constexpr int64_t NOW = 1700049600 + 3600; /* 2023-11-15, 13:00 */
    constexpr int64_t MIDNIGHT = 1700006400;
    const std::pair<const char *, int64_t> cases[] = {
        {"now", NOW},
        {"now-2hours", NOW - 7200},
        {"now-7days", NOW - 7 * 86400},
        {"now-1week", NOW - 7 * 86400},
        {"now-90s", NOW - 90},
        {"now-5m", NOW - 300},
        {"now-1minute", NOW - 60},
        {"now-1000000weeks", 0},
        {"today", MIDNIGHT},
        {"midnight", MIDNIGHT},
        {"yesterday", MIDNIGHT - 86400},
        {"noon", NOW - 3600},
        {"14:30", MIDNIGHT + 52200},
        {"00:00:01", MIDNIGHT + 1},
        {"2023-11-14", MIDNIGHT - 86400},
        {"2023-11-14T12:00", MIDNIGHT - 43200},
        {"2023-11-15T00:00:05", MIDNIGHT + 5},
    };
    for (const auto &[text, seconds] : cases) {
        auto parsed = parse_past(text, NOW);
        ASSERT_TRUE(parsed) << text << ": " << parsed.error();
        EXPECT_EQ(parsed.value(), seconds) << text;
    }
    for (const char *text :
         {"", "now-", "now-5", "now-5x", "now-hours", "now--5s", "now-5 s", "now+2h", "24:00", "1",
          "2023-02-30", "2023-11-15 12:00", "11/15", "todays", "now-99999999999999999999s"}) {
        auto parsed = parse_past(text, NOW);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().find("now-7days"), std::string::npos);
    }
}

TEST(UnitsTest, signals_before_the_limit)
{
    EXPECT_EQ(parse_limit_signal("USR1").value().seconds, 60);
    EXPECT_EQ(parse_limit_signal("SIGUSR1@90").value().name, "USR1");
    EXPECT_EQ(parse_limit_signal("USR1@90").value().seconds, 90);
    EXPECT_EQ(parse_limit_signal("TERM@5m").value().seconds, 300);
    for (const char *text :
         {"", "@", "@5", "USR1@", "USR1@x", "USR1@-1", "USR1@99999999999999999999"})
        EXPECT_FALSE(parse_limit_signal(text)) << text;
}

TEST(UnitsTest, numbers_of_jobs)
{
    const std::pair<const char *, int64_t> memory[] = {
        {"100", 100}, {"4G", 4096}, {"4gb", 4096}, {"2M", 2}, {"1T", 1 << 20}, {"1025K", 2},
        {"0", 0}};
    for (const auto &[text, mib] : memory)
        EXPECT_EQ(parse_memory(text).value(), mib) << text;
    for (const char *text : {"", "G", "-1", "4X", "4B", "1025T", "9999999999999G", "4 G"})
        EXPECT_FALSE(parse_memory(text)) << text;
    EXPECT_EQ(parse_jobs("3").value(), std::vector<std::string>{"3"});
    EXPECT_EQ(parse_jobs("3,5_2:7").value(), (std::vector<std::string>{"3", "5_2", "7"}));
    EXPECT_EQ(parse_jobs("3:12_[1-3:2,7]:4").value(),
              (std::vector<std::string>{"3", "12_1", "12_3", "12_7", "4"}));
    for (const char *text : {"", ",", "3,", "0", "-1", "x", "3 5", "99999999999999999999", "12_[1",
                             "12_[5-1]", "12_[0-1000]"})
        EXPECT_FALSE(parse_jobs(text)) << text;
    EXPECT_NE(parse_jobs("abc").error().find("3_[1-5,9]"), std::string::npos);
}

TEST(UnitsTest, dependencies_as_sbatch_has_them)
{
    using Names = std::vector<std::string>;
    auto found = parse_dependencies("afterok:3:4,after:5,afterok:12_[1-2,7]:9,singleton");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found.value().after_ok, (Names{"3", "4", "12_1", "12_2", "12_7", "9"}));
    EXPECT_EQ(found.value().after, Names{"5"});
    EXPECT_TRUE(found.value().singleton && found.value().after_any.empty());
    EXPECT_EQ(parse_dependencies("afternotok:3,afterany:4").value().after_not_ok, Names{"3"});
    for (const char *text : {"", "afterok", "afterok:", "afterok:3:", "afterok:3,4", "afterok:x",
                             "aftercorr:3", "afterok:3?afterany:4", "after:3+10", "afterok:3,"})
        EXPECT_FALSE(parse_dependencies(text)) << text;
    EXPECT_NE(parse_dependencies("afterok:3,4").error().find("afterok:3:4"), std::string::npos);
}

TEST(UnitsTest, types_of_mail)
{
    using Names = std::vector<std::string>;
    EXPECT_EQ(parse_mail_types("FAIL,end").value(), (Names{"end", "fail"}));
    EXPECT_EQ(parse_mail_types("ALL,ARRAY_TASKS").value(),
              (Names{"begin", "end", "fail", "requeue", "array_tasks"}));
    for (const char *none : {"", "NONE", "END,NONE"})
        EXPECT_TRUE(parse_mail_types(none).value().empty()) << none;
    for (const char *wrong : {"END,", ",", " END", "SOON", "TIME_LIMIT", "END FAIL"})
        EXPECT_FALSE(parse_mail_types(wrong)) << wrong;
    std::string text = "end,TIME_LIMIT_90,FAIL,soon";
    EXPECT_EQ(split_mail_types(text), (Names{"TIME_LIMIT_90", "SOON"}));
    EXPECT_EQ(text, "END,FAIL");
}

TEST(UnitsTest, sizes)
{
    EXPECT_EQ(parse_size_range("4").value().minimum, 4);
    EXPECT_EQ(parse_size_range("4").value().maximum, 4);
    EXPECT_EQ(parse_size_range("2:8").value().maximum, 8);
    EXPECT_EQ(parse_size_range("2-8").value().minimum, 2);
    for (const char *text : {"", "0", "a", "2:", ":2", "8:2", "1:2:3", "-1", "1048577", "2:x"})
        EXPECT_FALSE(parse_size_range(text)) << text;
    EXPECT_EQ(parse_node_range("3").value().minimum, 3);
    EXPECT_EQ(parse_node_range("3").value().maximum, 3);
    EXPECT_EQ(parse_node_range("3-5").value().maximum, 5);
    for (const char *text : {"", "0", "3:5", "5-3", "3-", "-3", "all"})
        EXPECT_FALSE(parse_node_range(text)) << text;
    EXPECT_EQ(parse_node_range("3:5").error(),
              "'3:5' is not a number of nodes, such as 3 or 3-5");
}

}  // namespace
}  // namespace elastic
