#include "daemon/reservations.h"

#include <grp.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "daemon/group_limits.h"

namespace elastic::rm {
namespace {

Settings settings_of(const std::string &text)
{
    auto settings = parse_settings(text, "test.toml");
    EXPECT_TRUE(settings) << settings.error();
    return settings ? settings.value() : Settings();
}

std::string name_of_own_group()
{
    const group *own = getgrgid(getegid());
    return own ? own->gr_name : "";
}

TEST(ReservationListTest, LocalTimes)
{
    auto whole = parse_local_time("2026-12-24T08:00");
    auto exact = parse_local_time("2026-12-24T08:00:01");
    ASSERT_TRUE(whole && exact);
    EXPECT_EQ(*exact - *whole, 1000);
    for (const char *text : {"", "tomorrow", "2026-12-24", "2026-12-24T08", "2026-12-24T08:00Z",
                             "2026-02-30T08:00", "2026-12-24T08:00:01.5"})
        EXPECT_FALSE(parse_local_time(text)) << text;
}

TEST(ReservationListTest, TheCoreGetsWhatTheConfigurationHas)
{
    const char *times = "from = \"2026-12-24T08:00\"\nuntil = \"2026-12-24T09:00\"\n";
    auto read = Reservations::read(
        settings_of(std::string("[[reservations]]\nname = \"course\"\nnodes = \"n[1-2]\"\n") +
                    times + "allow_users = [\"ann\"]\nallow_groups = [\"" + name_of_own_group() +
                    "\", \"no such group\"]\n[[reservations]]\nname = \"closed\"\nnodes = \"m\"\n" +
                    times)
            .reservations);
    ASSERT_TRUE(read) << read.error();
    const Reservations &reservations = read.value();
    ASSERT_EQ(reservations.configured().size(), 2U);
    const NodeReservation &course = reservations.configured()[0];
    EXPECT_EQ(course.nodes, NodeSet({"n1", "n2"}));
    EXPECT_EQ(course.until_ms - course.from_ms, 3600000);
    EXPECT_EQ(reservations.unknown_groups(), std::vector<std::string>{"no such group"});
    User member;
    member.groups = {getegid()};
    EXPECT_TRUE(reservations.may_use("course", "ann", nullptr));
    EXPECT_TRUE(reservations.may_use("course", "bob", &member));
    EXPECT_FALSE(reservations.may_use("course", "bob", nullptr));
    EXPECT_FALSE(reservations.may_use("closed", "ann", &member)) << "administrators alone";
}

TEST(ReservationListTest, ErrorsNameTheReservation)
{
    auto error_of = [](const std::string &text) {
        auto read = Reservations::read(
            settings_of("[[reservations]]\nname = \"a\"\n" + text).reservations);
        return read ? "" : read.error();
    };
    EXPECT_NE(error_of("nodes = \"n[1\"").find("the nodes of reservation a are neither"),
              std::string::npos);
    EXPECT_NE(error_of("").find("reservation a needs times from and until"), std::string::npos);
    EXPECT_EQ(error_of("from = \"2026-12-24T08:00\"\nuntil = \"2026-12-24T08:00\""),
              "reservation a ends before it begins");
}

TEST(GroupLimitsTest, AUserCountsForEachOfHisGroups)
{
    std::string own = name_of_own_group();
    auto read = GroupLimits::read(
        settings_of("[[groups]]\nname = \"" + own + "\"\nmax_running = 1\nmax_cores = 2\n"
                    "max_jobs = 3\ncore_time_per_job = \"4h\"\n"
                    "core_time = \"1000h\"\ncore_time_period = \"7d\"\n"
                    "[[groups]]\nname = \"no such group\"\n")
            .groups);
    ASSERT_TRUE(read) << read.error();
    const GroupLimits &limits = read.value();
    EXPECT_EQ(limits.all()[0], (GroupLimit{own, 1, 2, 3, 4 * 3600000, int64_t{1000} * 3600000,
                                          int64_t{7} * 24 * 3600000}));
    EXPECT_EQ(limits.all()[1].period_ms, 0) << "it has no budget";
    EXPECT_EQ(limits.unknown_groups(), std::vector<std::string>{"no such group"});
    User member, other;
    member.groups = {12345, getegid(), getegid()};
    other.groups = {getegid() + 1};
    EXPECT_EQ(limits.groups_of(&member), std::vector<std::string>{own});
    EXPECT_TRUE(limits.groups_of(&other).empty());
    EXPECT_TRUE(limits.groups_of(nullptr).empty());
}

}  // namespace
}  // namespace elastic::rm
