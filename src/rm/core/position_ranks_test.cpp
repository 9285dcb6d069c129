#include "core/position_ranks.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace elastic::rm {
namespace {

TEST(PositionRanksTest, TheOrderOfASet)
{
    std::mt19937 random(1);
    for (size_t positions : {1, 63, 64, 65, 1000}) {
        PositionRanks ranks(positions);
        std::set<uint32_t> marked;
        for (int i = 0; i < 100; i++) {
            auto position = static_cast<uint32_t>(random() % positions);
            EXPECT_EQ(ranks.mark(position), marked.insert(position).second);
        }
        EXPECT_EQ(ranks.count(), marked.size());
        size_t before = 0;
        for (uint32_t position : marked)
            EXPECT_EQ(ranks.rank(position), before++) << position << " of " << positions;
    }
}

}  // namespace
}  // namespace elastic::rm
