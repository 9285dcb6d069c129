#include "core/steady_clock.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

constexpr int64_t WALL = 1700000000000, HOUR = 3600 * 1000;

TEST(SteadyClockTest, a_wall_clock_that_is_set_changes_nothing_but_what_is_shown)
{
    for (int64_t jump : {365 * 24 * HOUR, -365 * 24 * HOUR}) {
        SteadyClock clock;
        clock.start(std::nullopt, 0, "boot", 1000, WALL);
        EXPECT_EQ(clock.now_ms(2000, WALL + 1000), WALL + 1000);
        EXPECT_EQ(clock.offset_ms(), 0);
        int64_t later = clock.now_ms(2000 + HOUR, WALL + 1000 + HOUR + jump);
        EXPECT_LE(std::abs(later - (WALL + 1000 + HOUR)), HOUR / 1000);
        EXPECT_EQ(later + clock.offset_ms(), WALL + 1000 + HOUR + jump);
    }
}

TEST(SteadyClockTest, it_never_goes_back)
{
    SteadyClock clock;
    clock.start(std::nullopt, 0, "boot", 0, WALL);
    int64_t before = 0;
    for (int64_t boot = 0; boot < 100000; boot += boot % 7) {
        int64_t now = clock.now_ms(boot, WALL - boot * 3);
        EXPECT_GE(now, before);
        before = now;
        boot++;
    }
}

TEST(SteadyClockTest, it_follows_a_small_drift)
{
    SteadyClock clock;
    clock.start(std::nullopt, 0, "boot", 0, WALL);
    int64_t now = 0;
    for (int64_t boot = 0; boot <= 10 * HOUR; boot += 100)
        now = clock.now_ms(boot, WALL + boot + boot / 10000);
    EXPECT_NEAR(static_cast<double>(now), static_cast<double>(WALL + 10 * HOUR + HOUR / 1000), 10);
}

/* A job of ten seconds that starts after an hour without a difference loses at most the
 * permitted part of ten seconds. */
TEST(SteadyClockTest, what_was_not_needed_before_is_not_made_up_for)
{
    for (int64_t jump : {HOUR, -HOUR}) {
        SteadyClock clock;
        clock.start(std::nullopt, 0, "boot", 0, WALL);
        for (int64_t boot = 0; boot <= HOUR; boot += 100)
            clock.now_ms(boot, WALL + boot);
        int64_t now = 0;
        for (int64_t boot = HOUR; boot <= HOUR + 10000; boot += 100)
            now = clock.now_ms(boot, WALL + boot + jump);
        EXPECT_LE(std::abs(now - (WALL + HOUR + 10000)), 10 + 1);
    }
}

TEST(SteadyClockTest, a_restart_in_the_same_boot_goes_on)
{
    SteadyClock clock, again;
    clock.start(std::nullopt, 0, "boot", 0, WALL);
    clock.now_ms(5000, WALL + 5000);
    again.start(clock.mark(), WALL + 5000, "boot", 9000, WALL + HOUR);
    EXPECT_EQ(again.now_ms(9000, WALL + HOUR), WALL + 9000);
    again.start(clock.mark(), WALL + 5000, "next boot", 100, WALL + HOUR);
    EXPECT_EQ(again.now_ms(100, WALL + HOUR), WALL + HOUR);
    again.start(clock.mark(), WALL + 5000, "next boot", 100, WALL - HOUR);
    EXPECT_EQ(again.now_ms(100, WALL - HOUR), WALL + 5000);
}

}  // namespace
}  // namespace elastic::rm
