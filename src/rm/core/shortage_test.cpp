/* The reported shortage of a waiting job, and the jobs that release cores for it. */

#include "core/shortage.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

TEST(ShortageTest, who_gives_way_and_who_ends)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId elastic = driver.submit(malleable(1, 8));
    driver.run(elastic);
    ASSERT_EQ(driver.job(elastic).size(), 8);
    JobId waiting = driver.submit(rigid(3));
    auto missing = shortage(driver.core.state(), driver.job(waiting));
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->processes, 3);
    EXPECT_EQ(missing->capacity, 0);
    int64_t given = 8 - driver.job(elastic).adaptation.value().size;
    EXPECT_GE(given, 3);
    EXPECT_EQ(missing->giving, (std::vector<Giving>{{elastic, given}}));
    int left = 8 - static_cast<int>(given);
    EXPECT_EQ(helpers_of(driver.core.state(), waiting),
              (std::vector<Helper>{{elastic, 8, left, false}}));
    driver.commit(elastic, false);
    EXPECT_EQ(helpers_of(driver.core.state(), waiting),
              (std::vector<Helper>{{elastic, 8, left, true}}));
    EXPECT_TRUE(helpers_of(driver.core.state(), elastic).empty());
    driver.send(StepFreed{elastic, driver.job(elastic).step, 1});
    EXPECT_FALSE(shortage(driver.core.state(), driver.job(waiting))) << "it has started";
    EXPECT_FALSE(shortage(driver.core.state(), driver.job(elastic))) << "it runs";
    JobId large = driver.submit(rigid(8));
    driver.send(Cancel{"c", elastic});
    missing = shortage(driver.core.state(), driver.job(large));
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->giving, (std::vector<Giving>{{elastic, 8 - given}}));
    EXPECT_EQ(missing->capacity, given - 3);
}

TEST(ShortageTest, whole_nodes_and_what_cannot_run)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    driver.run(driver.submit(rigid(1)));
    JobSpec whole = rigid(8);
    whole.whole_nodes = true;
    JobId waiting = driver.submit(whole);
    auto missing = shortage(driver.core.state(), driver.job(waiting));
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->processes, 8);
    EXPECT_EQ(missing->capacity, 4) << "on the node that is empty";
    EXPECT_TRUE(missing->giving.empty());
    driver.send(Drain{"d", "n1", "test"});
    EXPECT_FALSE(shortage(driver.core.state(), driver.job(waiting)));
}

}  // namespace
}  // namespace elastic::rm
