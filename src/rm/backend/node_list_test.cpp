/* Lists of nodes in the forms of people and batch systems. */

#include "backend/node_list.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

std::string show(const Result<ListedNodes> &nodes)
{
    if (!nodes)
        return "error: " + nodes.error();
    std::string text;
    for (const ListedNode &node : nodes.value())
        text += (text.empty() ? "" : " ") + node.name +
            (node.cores ? ":" + std::to_string(node.cores) : "");
    return text;
}

bool is_error(const Result<ListedNodes> &nodes, const std::string &part)
{
    return !nodes && nodes.error().find(part) != std::string::npos;
}

TEST(NodeListTest, Hosts)
{
    EXPECT_EQ(show(parse_hosts({"a", "b.site.org:16", "c_1-x:1"})), "a b.site.org:16 c_1-x:1");
    EXPECT_EQ(show(parse_hosts({})), "");
    for (const char *wrong :
         {"", ":4", "a:", "a:0", "a:-1", "a:65537", "a:4x", "a b", "-oProxyCommand=x", ".a", "u@a",
          "a;b", "a:99999999999999999999", "fe80::1", "a\n"})
        EXPECT_FALSE(parse_hosts({wrong})) << wrong;
    EXPECT_TRUE(is_error(parse_hosts({"a", "b", "a:3"}), "a is listed twice"));
    EXPECT_TRUE(is_error(parse_hosts({"u@a"}), "configuration of ssh"));
    EXPECT_FALSE(parse_hosts({std::string(254, 'a')}));
}

TEST(NodeListTest, HostsFile)
{
    EXPECT_EQ(show(parse_hosts_file("a\n\n# all\n b:16  # large\r\nc", "f")), "a b:16 c");
    EXPECT_EQ(show(parse_hosts_file("a\na\nb\na\n", "f")), "a:3 b") << "as PBS writes them";
    EXPECT_EQ(show(parse_hosts_file("a\na:2\na:3\na\n", "f")), "a:7");
    EXPECT_EQ(show(parse_hosts_file("a:2\na\n", "f")), "a:3");
    EXPECT_TRUE(is_error(parse_hosts_file("# none\n", "f"), "f names no node"));
    EXPECT_TRUE(is_error(parse_hosts_file("a\n\n-x\n", "f"), "f:3: '-x'"));
    EXPECT_TRUE(is_error(parse_hosts_file("a:65536\na:1\n", "f"), "f:2: a has more than"));
}

TEST(NodeListTest, Slurm)
{
    EXPECT_EQ(show(parse_slurm_nodes("h1", "4")), "h1:4");
    EXPECT_EQ(show(parse_slurm_nodes("h[1-3,7]", "4(x2),8,16")), "h1:4 h2:4 h3:8 h7:16");
    EXPECT_EQ(show(parse_slurm_nodes("n[008-010],login,x[1]", "")), "n008 n009 n010 login x1");
    EXPECT_EQ(show(parse_slurm_nodes("r[0-1]n[08-09]s", "2(x4)")),
              "r0n08s:2 r0n09s:2 r1n08s:2 r1n09s:2");
    EXPECT_EQ(show(parse_slurm_nodes(" h[1-2]\n", "2(x2)\n")), "h1:2 h2:2");
    for (const char *wrong :
         {"", "h[", "h]", "h[1", "h[]", "h[1-]", "h[-1]", "h[a]", "h[3-1]", "h[1,]x,,", "h[1-2],h1",
          "h,,i", "h[[1]]", "h[0-999999999]", "h[1-1000][1-1000]", "-x[1-2]", "h[1--2]", "h[1-2-3]",
          "h[9999999999]"})
        EXPECT_FALSE(parse_slurm_nodes(wrong, "")) << wrong;
    for (const char *wrong : {"4", "4(x3)", "4(x2),8", "4(x)", "4(x0),4", "0(x2)", "4(x2", "(x2)",
                              "4,,4", "4(y2)", "4(x-2)"})
        EXPECT_FALSE(parse_slurm_nodes("h[1-2]", wrong)) << wrong;
    EXPECT_TRUE(is_error(parse_slurm_nodes("h[1-3]", "4(x2)"), "3 nodes and 2 numbers"));
    EXPECT_TRUE(parse_slurm_nodes("h[1-3]", "", 3));
    EXPECT_TRUE(is_error(parse_slurm_nodes("h[1-4]", "", 3), "'1-4' makes more than 3 nodes"));
    EXPECT_TRUE(is_error(parse_slurm_nodes("h[1-3],i", "", 3), "more than 3 nodes"));
}

TEST(NodeListTest, Lsf)
{
    EXPECT_EQ(show(parse_lsf_mcpu_hosts("a 4 b 8 a 1")), "a:5 b:8");
    EXPECT_EQ(show(parse_lsf_hosts(" a a b  a")), "a:3 b:1");
    for (const char *wrong : {"", "a", "a b", "a 0", "4 a 1", "a 4 b", "a 65536 a 1"})
        EXPECT_FALSE(parse_lsf_mcpu_hosts(wrong)) << wrong;
    EXPECT_FALSE(parse_lsf_hosts("  "));
    EXPECT_FALSE(parse_lsf_hosts("a -b"));
}

TEST(NodeListTest, ManyNodes)
{
    auto nodes = parse_slurm_nodes("n[00001-99999]", "128(x99999)");
    ASSERT_TRUE(nodes) << nodes.error();
    EXPECT_EQ(nodes.value().size(), 99999u);
    EXPECT_EQ(nodes.value().back(), (ListedNode{"n99999", 128}));
}

}  // namespace
}  // namespace elastic::rm
