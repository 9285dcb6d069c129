#include "settings/section_list.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

std::string error_of(const std::string &text)
{
    auto settings = parse_settings(text, "test.toml");
    return settings ? "" : settings.error();
}

TEST(SectionListsTest, WhatIsPrintedIsReadAgain)
{
    Settings settings = default_settings();
    settings.partitions.resize(2);
    PartitionSettings &first = settings.partitions[0];
    first.name = "batch";
    first.nodes = "n[1-4]";
    first.is_default = true;
    first.max_time_ms = 86400000;
    first.allow_groups = {"physics", "a \"quoted\" one"};
    settings.partitions[1].name = "debug";
    settings.groups.resize(1);
    settings.groups[0] = {"students", 20, 64, 500, 360000000};
    settings.reservations.resize(1);
    settings.reservations[0] = {
        "course", "n1", "2026-12-24T08:00", "2026-12-24T18:00", {"ann"}, {}};
    std::string printed = print_settings(settings);
    auto again = parse_settings(printed, "printed");
    ASSERT_TRUE(again) << again.error();
    ASSERT_EQ(again.value().partitions.size(), 2U);
    EXPECT_EQ(again.value().partitions[0].allow_groups, first.allow_groups);
    EXPECT_EQ(again.value().groups[0].core_time_per_job_ms, 360000000);
    EXPECT_EQ(again.value().reservations[0].until, "2026-12-24T18:00");
    EXPECT_EQ(print_settings(again.value()), printed);
    EXPECT_TRUE(parse_settings(print_settings(default_settings()), "printed")
                    .value()
                    .partitions.empty());
}

TEST(SectionListsTest, ErrorsNameLineAndSetting)
{
    EXPECT_NE(error_of("partitions = 3").find("write [[partitions]]"), std::string::npos);
    EXPECT_NE(error_of("partitions = [3]").find("write [[partitions]]"), std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nnodes = \"all\"").find("a partition needs a name"),
              std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nwrong = 1")
                  .find("test.toml:3: there is no setting partitions.wrong"),
              std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nstate = \"closed\"")
                  .find("partitions.state must be one of up, down, drain"),
              std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nmax_time = 5").find("must be a time"),
              std::string::npos);
    EXPECT_NE(error_of("[backend]\nkind = \"slurm\"\n[[partitions]]\nname = \"a\"")
                  .find("Slurm has its own"),
              std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nmax_cores = -1").find("must be from 0"),
              std::string::npos);
    EXPECT_NE(error_of("[[groups]]\nname = \"a\"\nmax_cpus = 1")
                  .find("test.toml:3: there is no setting groups.max_cpus: doc/admin/limits.md"),
              std::string::npos);
    EXPECT_NE(error_of("reservations = 3").find("write [[reservations]]"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
