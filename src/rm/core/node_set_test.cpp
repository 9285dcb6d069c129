#include "core/node_set.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

TEST(NodeSetTest, holds_each_name_once)
{
    NodeSet none, set({"n10", "n2", "n10"});
    EXPECT_TRUE(none.empty());
    EXPECT_FALSE(none.contains("n2"));
    EXPECT_EQ(set.size(), 2u);
    EXPECT_TRUE(set.contains("n2"));
    EXPECT_TRUE(set.contains("n10"));
    EXPECT_FALSE(set.contains("n1"));
    EXPECT_EQ(NodeSet(std::vector<std::string>()), none);
}

TEST(NodeSetTest, is_equal_whatever_the_order)
{
    NodeSet one({"a", "b"}), other({"b", "a"}), more({"a", "b", "c"});
    EXPECT_EQ(one, other);
    EXPECT_NE(one, more);
    EXPECT_NE(one, NodeSet());
    EXPECT_TRUE((one < more) != (more < one));
}

TEST(NodeSetTest, json_has_the_names_as_they_were_given)
{
    NodeSet set({"n10", "n2"}), again;
    EXPECT_EQ(write(set), Json({"n10", "n2"}));
    read(write(set), again, "nodelist");
    EXPECT_EQ(again, set);
    read(Json::array(), again, "nodelist");
    EXPECT_TRUE(again.empty());
    EXPECT_THROW(read(Json(7), again, "nodelist"), FieldError);
    EXPECT_THROW(read(Json({7}), again, "nodelist"), FieldError);
}

}  // namespace
}  // namespace elastic::rm
