/* Unit tests of the names of nodes in arguments of the command. */

#include <gtest/gtest.h>

#include "cli/node_names.h"

namespace elastic {
namespace {

using Names = std::vector<std::string>;

TEST(NodeNames, lists_and_ranges)
{
    auto names = node_names("NODE", {"n[1-3],x7", "rack0-n[08-10]"});
    ASSERT_TRUE(names) << names.error();
    EXPECT_EQ(names.value(),
              (Names{"n1", "n2", "n3", "x7", "rack0-n08", "rack0-n09", "rack0-n10"}));
}

TEST(NodeNames, each_comes_once_where_it_came_first)
{
    auto names = node_names("NODE", {"n3,n1", "n[1-4]"});
    ASSERT_TRUE(names) << names.error();
    EXPECT_EQ(names.value(), (Names{"n3", "n1", "n2", "n4"}));
}

TEST(NodeNames, no_list_is_no_names)
{
    auto names = node_names("NODE", {});
    ASSERT_TRUE(names);
    EXPECT_TRUE(names.value().empty());
}

TEST(NodeNames, an_error_names_the_option_and_the_list)
{
    for (const char *list : {"n[1-", "n[3-1]", "", "n1,,n2", "n/1", "n[1-999999999]"}) {
        auto names = node_names("--nodelist", {list});
        ASSERT_FALSE(names) << list;
        EXPECT_EQ(names.error().find("--nodelist: '" + std::string(list) + "'"), 0u)
            << names.error();
    }
}

}  // namespace
}  // namespace elastic
