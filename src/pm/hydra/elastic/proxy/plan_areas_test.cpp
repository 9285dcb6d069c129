/* Areas of plans: an area that is read stays unchanged, and others are used again. */

extern "C" {
#include "plan_areas.h"
}

#include <gtest/gtest.h>

#include <array>

namespace {

constexpr uint64_t START = 8192, UNIT = 4096;
constexpr int READERS = 3;

class PlanAreas : public testing::Test {
  protected:
    PlanAreas() { EXPECT_EQ(HYD_plan_areas_create(&areas, READERS, START, UNIT), 0); }
    ~PlanAreas() override { HYD_plan_areas_destroy(&areas); }
    PlanAreas(const PlanAreas &) = delete;
    PlanAreas &operator=(const PlanAreas &) = delete;

    uint64_t take(uint32_t serial, size_t bytes)
    {
        return HYD_plan_areas_take(&areas, serial, bytes, read.data());
    }

    HYD_plan_areas areas{};
    std::array<uint32_t, READERS> read{};
};

TEST_F(PlanAreas, one_is_enough_as_long_as_nobody_reads)
{
    for (uint32_t serial = 1; serial < 1000; serial++)
        EXPECT_EQ(take(serial, serial * 100), START);
}

TEST_F(PlanAreas, a_plan_that_is_read_keeps_its_area)
{
    EXPECT_EQ(take(1, 5000), START);
    read[1] = 1;
    EXPECT_EQ(take(2, 1), START + 2 * UNIT);
    EXPECT_EQ(take(3, 1), START + 2 * UNIT);
    read[1] = 3;
    EXPECT_EQ(take(4, 2 * UNIT), START);
    EXPECT_EQ(take(5, 2 * UNIT + 1), START + 3 * UNIT)
        << "more than there is space for in front of plan 3";
}

TEST_F(PlanAreas, a_gap_is_used_again)
{
    take(1, UNIT);
    read[0] = 1;
    EXPECT_EQ(take(2, 2 * UNIT), START + UNIT);
    read[1] = 2;
    EXPECT_EQ(take(3, UNIT), START + 3 * UNIT);
    read[2] = 3;
    read[1] = 0;
    EXPECT_EQ(take(4, UNIT), START + UNIT);
    read[1] = 4;
    EXPECT_EQ(take(5, UNIT), START + 2 * UNIT);
    EXPECT_EQ(take(6, 2 * UNIT), START + 4 * UNIT);
}

TEST_F(PlanAreas, every_reader_may_read_another)
{
    for (uint32_t serial = 1; serial < 100; serial++) {
        EXPECT_EQ(take(serial, UNIT), START + (serial <= READERS ? serial - 1 : READERS) * UNIT);
        if (serial <= READERS)
            read[serial - 1] = serial;
    }
}

} // namespace
