#include "daemon/partitions.h"

#include <grp.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

std::vector<PartitionSettings> settings_of(const std::string &text)
{
    auto settings = parse_settings(text, "test.toml");
    EXPECT_TRUE(settings) << settings.error();
    return settings ? settings.value().partitions : std::vector<PartitionSettings>();
}

std::string error_of(const std::string &text)
{
    auto partitions = Partitions::read(settings_of(text));
    return partitions ? "" : partitions.error();
}

TEST(PartitionsTest, TheCoreGetsWhatTheConfigurationHas)
{
    auto read = Partitions::read(settings_of("[[partitions]]\n"
                                             "name = \"batch\"\nnodes = \"n[1-2],m\"\n"
                                             "default = true\npriority = -3\nstate = \"drain\"\n"
                                             "default_time = \"1h\"\nmax_time = \"2h\"\n"
                                             "max_cores = 64\n"
                                             "[[partitions]]\nname = \"every\"\n"));
    ASSERT_TRUE(read) << read.error();
    Partition batch;
    batch.name = "batch";
    batch.nodes = NodeSet({"n1", "n2", "m"});
    batch.is_default = true;
    batch.priority = -3;
    batch.state = PartitionState::DRAIN;
    batch.default_time_ms = 3600000;
    batch.max_time_ms = 7200000;
    batch.max_cores = 64;
    Partition every;
    every.name = "every";
    EXPECT_EQ(read.value().all(), (std::vector<Partition>{batch, every}));
    EXPECT_TRUE(Partitions::read({}).value().all().empty());
}

TEST(PartitionsTest, ErrorsNameThePartition)
{
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nnodes = \"n[1\"")
                  .find("the nodes of partition a are neither"),
              std::string::npos);
    EXPECT_NE(error_of("[[partitions]]\nname = \"a\"\nnodes = \"\""), "");
    EXPECT_EQ(error_of("[[partitions]]\nname = \"a\"\n[[partitions]]\nname = \"a\""),
              "there are two partitions a");
}

TEST(PartitionsTest, UsersAndGroupsOfTheListsMayUseIt)
{
    const group *own = getgrgid(getegid());
    ASSERT_TRUE(own);
    auto read = Partitions::read(settings_of(
        "[[partitions]]\nname = \"free\"\n"
        "[[partitions]]\nname = \"users\"\nallow_users = [\"ann\"]\n"
        "[[partitions]]\nname = \"both\"\nallow_users = [\"ann\"]\nallow_groups = [\"" +
        std::string(own->gr_name) + "\", \"no such group\"]\n"));
    ASSERT_TRUE(read) << read.error();
    const Partitions &partitions = read.value();
    User member, other;
    member.groups = {12345, getegid()};
    other.groups = {getegid() + 1};
    EXPECT_TRUE(partitions.may_use("free", "bob", nullptr));
    EXPECT_TRUE(partitions.may_use("users", "ann", nullptr));
    EXPECT_FALSE(partitions.may_use("users", "bob", &member));
    EXPECT_TRUE(partitions.may_use("both", "ann", &other));
    EXPECT_TRUE(partitions.may_use("both", "bob", &member));
    EXPECT_FALSE(partitions.may_use("both", "bob", &other));
    EXPECT_FALSE(partitions.may_use("both", "bob", nullptr));
    EXPECT_EQ(partitions.unknown_groups(), std::vector<std::string>{"no such group"});
}

}  // namespace
}  // namespace elastic::rm
