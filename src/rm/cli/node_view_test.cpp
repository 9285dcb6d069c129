/* Lists of nodes in the formats of sinfo. */

#include "cli/node_view.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

using Lines = std::vector<std::string>;

Json node(const char *name, const char *state, int used, const char *reason = "")
{
    return {{"name", name}, {"state", state}, {"cores", 4}, {"cores_used", used},
            {"reason", *reason ? Json(reason) : Json()},
            {"jobs", used ? Json{{{"job", 7}, {"cores", used}}} : Json::array()}};
}

const Json NODES = {node("n0", "up", 4), node("n1", "up", 0), node("n2", "up", 1),
                    node("n3", "up", 0), node("n4", "drained", 0, "disk"),
                    node("n5", "draining", 2, "disk"), node("n6", "down", 0, "no answer")};

Lines lines(const char *text, bool each_node = false, bool with_header = false)
{
    auto format = ListFormat::of(NODE_FIELDS, text);
    EXPECT_TRUE(format) << format.error();
    return format.value().lines(group_nodes(NODES, format.value(), each_node), 0, with_header);
}

TEST(NodeViewTest, equal_nodes_share_a_line)
{
    EXPECT_EQ(lines("%.5D %6t %N", false, true),
              (Lines{"NODES STATE  NODELIST", "    1 alloc  n0", "    2 idle   n1,n3",
                     "    1 mix    n2", "    1 drain  n4", "    1 drng   n5", "    1 down   n6"}));
    EXPECT_EQ(lines("%n %T"), (Lines{"n0 allocated", "n1 idle", "n2 mixed", "n3 idle",
                                     "n4 drained", "n5 draining", "n6 down"}))
        << "no two nodes have one name";
    EXPECT_EQ(lines("%D %c", true).size(), 7U);
    EXPECT_EQ(lines("nodehost,jobs")[5], "n5  7:2");
}

TEST(NodeViewTest, gpus_of_nodes)
{
    Json with = node("n0", "up", 1), without = node("n1", "up", 0);
    with["gpus"] = 4;
    with["gpus_used"] = {0, 2, 3};
    EXPECT_TRUE(columns_of(Json::array({without, with})).gpus);
    EXPECT_FALSE(columns_of(Json::array({without})).gpus);
    EXPECT_EQ(node_row(with, {true, false}),
              (Lines{"n0", "up", "4", "1", "3/4", "7:1", "-"}));
    EXPECT_EQ(node_row(without, {true, false})[4], "0/0");
    EXPECT_EQ(node_row(with, {}).size(), 6U);
    auto format = ListFormat::of(NODE_FIELDS, "%N %G");
    ASSERT_TRUE(format) << format.error();
    EXPECT_EQ(format.value().lines(group_nodes(Json::array({with, without}), format.value(), false),
                                   0, false),
              (Lines{"n0 gpu:4", "n1 -"}));
}

TEST(NodeViewTest, a_line_for_each_partition_and_state)
{
    Json nodes = NODES;
    for (size_t i = 0; i < nodes.size(); i++)
        nodes[i]["partitions"] = i < 3 ? Json{"batch", "all"} : Json{"all"};
    const Json partitions = {{{"name", "batch"}, {"default", true}, {"state", "up"},
                              {"max_time_ms", 3600000}},
                             {{"name", "all"}, {"default", false}, {"state", "drain"},
                              {"max_time_ms", nullptr}}};
    auto lines_of = [&](const char *text) {
        auto format = ListFormat::of(NODE_FIELDS, text);
        EXPECT_TRUE(format) << format.error();
        EXPECT_TRUE(shows_partitions(format.value()));
        return format.value().lines(
            group_nodes(by_partition(nodes, partitions), format.value(), false), 0, true);
    };
    EXPECT_EQ(lines_of(PARTITIONS_SUMMARY_FORMAT),
              (Lines{"PARTITION AVAIL TIMELIMIT  NODES(A/I/O/T)   NODELIST",
                     "batch*    up    1:00:00    2/1/0/3          n0,n1,n2",
                     "all       drain infinite   3/2/2/7          n0,n1,n2,n3,n4,n5,n6"}));
    EXPECT_EQ(lines_of(PARTITIONS_FORMAT).size(), 1U + 3U + 6U);
    EXPECT_EQ(lines_of("%R %D")[1], "batch 3");
    EXPECT_FALSE(shows_partitions(ListFormat::of(NODE_FIELDS, SUMMARY_FORMAT).value()));
    EXPECT_TRUE(columns_of(nodes).partitions);
    EXPECT_EQ(node_row(nodes[0], {true, true}),
              (Lines{"n0", "up", "4", "4", "0/0", "batch,all", "7:4", "-"}));
    NodeFilter filter{{}, {}, false, "batch"};
    EXPECT_TRUE(filter.accepts(nodes[2]));
    EXPECT_FALSE(filter.accepts(nodes[3]));
}

TEST(NodeViewTest, counts_of_nodes_and_cores)
{
    EXPECT_EQ(lines(SUMMARY_FORMAT),
              (Lines{"up    3/2/1/6          n0,n1,n2,n3,n4,n5", "down  0/0/1/1          n6"}));
    EXPECT_EQ(lines("%C"), Lines{"7/11/10/28"});
    EXPECT_EQ(lines("%E %N")[1], "disk n4,n5");
}

TEST(NodeViewTest, chosen_by_state_name_and_reason)
{
    auto chosen = [](const char *states, std::set<std::string> names = {},
                     bool with_reason = false) {
        auto parsed = parse_node_states(states);
        EXPECT_TRUE(parsed) << parsed.error();
        NodeFilter filter{std::move(names), parsed.value(), with_reason, ""};
        std::string found;
        for (const Json &each : NODES)
            found += filter.accepts(each) ? text_of(each, "name") + " " : "";
        return found;
    };
    EXPECT_EQ(chosen("idle,MIX"), "n1 n2 n3 ");
    EXPECT_EQ(chosen("drain"), "n4 n5 ");
    EXPECT_EQ(chosen("drained,alloc"), "n0 n4 ");
    EXPECT_EQ(chosen("up"), "n0 n1 n2 n3 ");
    EXPECT_EQ(chosen("all"), "n0 n1 n2 n3 n4 n5 n6 ");
    EXPECT_EQ(chosen("", {"n1", "n6"}), "n1 n6 ");
    EXPECT_EQ(chosen("", {}, true), "n4 n5 n6 ");
    for (const char *wrong : {"busy", "idle,", ",", "idle,reserved"})
        EXPECT_EQ(bool(parse_node_states(wrong)), std::string(wrong) == "idle,") << wrong;
}

TEST(NodeViewTest, nothing_that_is_missing_or_odd_does_harm)
{
    for (const Json &odd : {Json::object(), Json{{"jobs", 5}, {"cores", "x"}}, Json::array()}) {
        EXPECT_EQ(node_row(odd, {}).size(), 6U);
        auto format = ListFormat::of(NODE_FIELDS, "%N%n%t%T%a%D%F%c%C%E%P%R%l");
        ASSERT_TRUE(format) << format.error();
        auto groups = group_nodes(Json::array({odd}), format.value(), false);
        EXPECT_EQ(format.value().lines(groups, 0, false).size(), 1U);
        EXPECT_EQ(format.value().lines({odd}, 0, false).size(), 1U);
    }
}

}  // namespace
}  // namespace elastic
