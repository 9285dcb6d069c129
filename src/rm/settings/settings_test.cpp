#include "settings/settings.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

std::string error_of(std::string_view text)
{
    auto settings = parse_settings(text, "test.toml");
    return settings ? "" : settings.error();
}

TEST(ConfigTest, EverythingHasADefault)
{
    auto settings = parse_settings("", "test.toml");
    ASSERT_TRUE(settings) << settings.error();
    EXPECT_EQ(settings.value().policy, "measured");
    EXPECT_EQ(settings.value().local_nodes, 4);
    EXPECT_EQ(check(settings.value().core()), "");
}

TEST(ConfigTest, WhatIsPrintedIsReadAgain)
{
    Settings settings = default_settings();
    settings.administrators = {"ann", "a \"quoted\" one"};
    settings.kill_grace_ms = 90000;
    settings.private_jobs = false;
    settings.socket_mode = 0660;
    std::string printed = print_settings(settings);
    auto again = parse_settings(printed, "printed");
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().administrators, settings.administrators);
    EXPECT_EQ(again.value().kill_grace_ms, 90000);
    EXPECT_EQ(again.value().socket_mode, 0660);
    EXPECT_EQ(print_settings(again.value()), printed);
}

TEST(ConfigTest, PoliciesAndTheirRatios)
{
    auto settings = parse_settings(
        "[scheduling]\npolicy = \"measured\"\nefficiency = 0.7\nefficiency_idle = 0.2\n"
        "mtct_upper = 0.2\nrange = \"model\"\n",
        "test.toml");
    ASSERT_TRUE(settings) << settings.error();
    Config config = settings.value().core();
    EXPECT_EQ(config.policy, PolicyKind::MEASURED);
    EXPECT_EQ(config.efficiency_ppm, 700000);
    EXPECT_EQ(config.efficiency_idle_ppm, 200000);
    EXPECT_EQ(config.mtct_upper_ppm, 200000);
    EXPECT_EQ(config.mtct_lower_ppm, 10000);
    EXPECT_EQ(config.range, RangeTarget::MODEL);
    for (const char *value : {"0", "1", "1.5", "-0.1", "nan", "\"0.5\"", "true"})
        EXPECT_NE(
            error_of(std::string("[scheduling]\nefficiency = ") + value).find("between 0 and 1"),
            std::string::npos)
            << value;
    EXPECT_EQ(error_of("[scheduling]\nefficiency_idle = 0"), "");
    EXPECT_NE(error_of("[scheduling]\nefficiency_idle = 1").find("0 or a number between 0 and 1"),
              std::string::npos);
    EXPECT_NE(error_of("[scheduling]\nmtct_lower = 0.2"), "") << "above mtct_upper";
    EXPECT_NE(error_of("[scheduling]\npolicy = \"fastest\""), "");
    EXPECT_NE(error_of("[scheduling]\nrange = \"half\""), "");
}

TEST(ConfigTest, SamplesAreNotTakenAllTheTime)
{
    EXPECT_EQ(error_of("[monitor]\ninterval = \"1s\"\nwindow = 3"), "");
    EXPECT_EQ(error_of("[monitor]\ninterval = 0"), "");
    EXPECT_NE(error_of("[monitor]\ninterval = \"500ms\"").find("monitor.interval"),
              std::string::npos);
    EXPECT_NE(error_of("[monitor]\nwindow = 0").find("monitor.window"), std::string::npos);
    EXPECT_NE(error_of("[monitor]\nwindow = 65").find("monitor.window"), std::string::npos);
}

TEST(ConfigTest, Durations)
{
    auto grace = [](const std::string &text) {
        auto settings = parse_settings("[job]\nkill_grace = " + text, "test.toml");
        return settings ? settings.value().kill_grace_ms : -1;
    };
    EXPECT_EQ(grace("\"500ms\""), 500);
    EXPECT_EQ(grace("\"2m\""), 120000);
    EXPECT_EQ(grace("0"), 0);
    EXPECT_EQ(grace("5"), -1);
    EXPECT_EQ(grace("\"5\""), -1);
    EXPECT_EQ(grace("\"-5s\""), -1);
    EXPECT_EQ(grace("\"5 s\""), -1);
    EXPECT_EQ(grace("\"99999999999999s\""), -1);
}

TEST(ConfigTest, ErrorsNamePositionAndCause)
{
    EXPECT_NE(error_of("\nwrong = 1").find("test.toml:2: there is no setting wrong"),
              std::string::npos);
    EXPECT_NE(error_of("[scheduling]\npolicy = \"best\"").find("must be one of fcfs, easy, fill"),
              std::string::npos);
    EXPECT_NE(error_of("[backend]\nkind = \"pbs\"").find("must be one of local, hosts, slurm"),
              std::string::npos);
    EXPECT_NE(error_of("[limits]\njobs = \"many\"").find("must be a whole number"),
              std::string::npos);
    EXPECT_NE(error_of("listen = 3").find("is a section"), std::string::npos);
    EXPECT_NE(error_of("\n[^").find("test.toml:2: "), std::string::npos);
    EXPECT_NE(error_of("[access]\nadministrators = [1]").find("list of strings"),
              std::string::npos);
    EXPECT_NE(error_of("state_dir = \"here\"").find("absolute"), std::string::npos);
    EXPECT_NE(error_of("[listen]\ntcp = \"127.0.0.1:1\"").find("tokens_file"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
