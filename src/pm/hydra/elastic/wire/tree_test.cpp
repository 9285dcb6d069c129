/* The shape of the tree by which commands reach proxies: the number of messages that mpiexec sends
 * itself, and the length of the longest path (SPEC-performance G, figure 13.1).  Lists are divided
 * as in mpiexec/relay.c and proxy/relay.c. */

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

extern "C" {
#include "wire/tree.h"
}

namespace {

/* The sizes of the parts of a list of `n`; the first member of each part receives it. */
std::vector<uint32_t> parts_of(uint32_t n, uint32_t fanout)
{
    std::vector<uint32_t> parts;
    uint32_t part = HYD_relay_part(n, fanout);
    for (uint32_t first = 0; first < n; first += part)
        parts.push_back(std::min(part, n - first));
    return parts;
}

struct Shape {
    uint32_t reached = 0, sent_most = 0, longest = 0;
};

/* Below the sender of these parts. */
void walk(const std::vector<uint32_t> &parts, uint32_t fanout, uint32_t depth, Shape &shape)
{
    shape.sent_most = std::max(shape.sent_most, static_cast<uint32_t>(parts.size()));
    for (uint32_t part : parts) {
        shape.reached++;
        shape.longest = std::max(shape.longest, depth);
        if (part > 1)
            walk(parts_of(part - 1, fanout), fanout, depth + 1, shape);
    }
}

/* The number of levels if all proxies except the last ones have `fanout` proxies below them. */
uint32_t levels(uint32_t n, uint32_t fanout)
{
    uint32_t count = 0;
    for (uint64_t width = 1; width < n; width *= fanout)
        count++;
    return count;
}

TEST(RelayTree, G131_mpiexec_sends_to_few_and_the_depth_is_logarithmic)
{
    constexpr uint32_t HOSTS = 64, FANOUT = 4;
    std::vector<uint32_t> own = parts_of(HOSTS, FANOUT);
    EXPECT_LE(own.size() * 8, HOSTS) << "without a tree it sends one to each";
    Shape shape;
    walk(own, FANOUT, 1, shape);
    EXPECT_EQ(shape.reached, HOSTS);
    EXPECT_LE(shape.longest, 3u);
    EXPECT_LE(shape.sent_most, FANOUT) << "nobody else has to send more";
}

TEST(RelayTree, G131_of_any_number_each_is_reached_once)
{
    for (uint32_t fanout : {2, 3, 4, 32}) {
        for (uint32_t hosts = 1; hosts <= 1100; hosts++) {
            Shape shape;
            walk(parts_of(hosts, fanout), fanout, 1, shape);
            ASSERT_EQ(shape.reached, hosts) << fanout;
            ASSERT_LE(shape.sent_most, fanout) << hosts;
            ASSERT_LE(shape.longest, std::max(levels(hosts, fanout), 1u))
                << hosts << " by " << fanout;
        }
    }
}

}  // namespace
