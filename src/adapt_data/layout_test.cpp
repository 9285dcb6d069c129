/* Layouts: the owners of elements (SPEC-epop D1, D5). */

#include "schedule_fixture.h"

#include <string>

namespace {

/* Ten elements for each rank, those of odd ranks shifted by `state`. */
int64_t tens(int rank, int, int64_t max, int64_t *low, int64_t *high, void *state)
{
    if (max > 0) {
        low[0] = 10 * rank + (rank % 2 ? *static_cast<int64_t *>(state) : 0);
        high[0] = low[0] + 10;
    }
    return 1;
}

/* Rank 0 has [0, 10); rank 1 has the elements from `state` on. */
int64_t begins_at(int rank, int, int64_t max, int64_t *low, int64_t *high, void *state)
{
    if (rank > 1)
        return 0;
    if (max > 0) {
        low[0] = rank == 0 ? 0 : *static_cast<int64_t *>(state);
        high[0] = rank == 0 ? 10 : 20;
    }
    return 1;
}

}  // namespace

TEST(AdaptLayout, D1_every_element_has_one_owner)
{
    for (int p = 1; p <= 9; p++) {
        for (int64_t n : {0, 1, 2, 5, 8, 9, 97, 360}) {
            Distribution block(MPIX_Layout_block(n), p);
            expect_whole(block.it);
            for (int64_t size : {1, 3, 50}) {
                Distribution cyclic(MPIX_Layout_block_cyclic(n, size), p);
                expect_whole(cyclic.it);
            }
        }
    }
    for (int side = 1; side <= 4; side++)
        for (int64_t rows : {0, 1, 3, 10})
            for (int64_t columns : {0, 1, 2, 11}) {
                Distribution grid(MPIX_Layout_grid(rows, columns), side * side);
                ASSERT_EQ(grid.error, nullptr);
                expect_whole(grid.it);
            }
}

TEST(AdaptLayout, D1_block_is_the_formula)
{
    for (int p = 1; p <= 12; p++)
        for (int64_t n = 0; n <= 30; n++) {
            MPIX_Adapt_layout layout = MPIX_Layout_block(n);
            for (int rank = 0; rank < p; rank++) {
                int64_t low = rank * n / p, high = (rank + 1) * n / p, first;
                EXPECT_EQ(MPIX_Layout_range(&layout, rank, p, &first), high - low);
                EXPECT_EQ(first, high > low ? low : n);
                for (int64_t i = low; i < high; i++) {
                    EXPECT_EQ(MPIX_Layout_owner(&layout, p, i), rank);
                    EXPECT_EQ(MPIX_Layout_local(&layout, p, i), i - low);
                }
            }
        }
}

TEST(AdaptLayout, D5_local_counts_the_elements_before)
{
    for (const MPIX_Adapt_layout &layout :
         {MPIX_Layout_block_cyclic(100, 7), MPIX_Layout_grid(9, 11), MPIX_Layout_block(50)}) {
        Distribution by_position(layout, 4);
        std::map<int, int64_t> before;
        for (int64_t i = 0; i < layout.n; i++) {
            int64_t end;
            int owner = adapt_distribution_owner(&by_position.it, i, &end);
            EXPECT_EQ(MPIX_Layout_owner(&layout, 4, i), owner);
            EXPECT_EQ(MPIX_Layout_local(&layout, 4, i), before[owner]++);
        }
    }
}

TEST(AdaptLayout, D5_questions_without_sense_are_answered_so)
{
    MPIX_Adapt_layout block = MPIX_Layout_block(10), grid = MPIX_Layout_grid(3, 3), none = {};
    MPIX_Adapt_layout too_large = MPIX_Layout_grid(INT64_MAX, 3);
    int64_t first;
    EXPECT_EQ(MPIX_Layout_owner(&block, 4, 10), -1);
    EXPECT_EQ(MPIX_Layout_owner(&block, 4, -1), -1);
    EXPECT_EQ(MPIX_Layout_owner(&block, 0, 1), -1);
    EXPECT_EQ(MPIX_Layout_owner(&grid, 3, 1), -1);
    EXPECT_EQ(MPIX_Layout_owner(&none, 3, 1), -1);
    EXPECT_EQ(MPIX_Layout_range(&block, 4, 4, &first), -1);
    EXPECT_EQ(MPIX_Layout_range(&too_large, 0, 4, &first), -1);
}

TEST(AdaptLayout, D1_numbers_beyond_32_bits)
{
    const int64_t n = INT64_C(1) << 61;
    MPIX_Adapt_layout block = MPIX_Layout_block(n), cyclic = MPIX_Layout_block_cyclic(n, 1000);
    EXPECT_EQ(MPIX_Layout_owner(&block, 1 << 20, n - 1), (1 << 20) - 1);
    EXPECT_EQ(MPIX_Layout_owner(&block, 1 << 20, n / 2), 1 << 19);
    EXPECT_EQ(MPIX_Layout_local(&block, 1 << 20, n / 2), 0);
    EXPECT_EQ(MPIX_Layout_owner(&cyclic, 7, 999), 0);
    EXPECT_EQ(MPIX_Layout_owner(&cyclic, 7, n - 1), (n - 1) / 1000 % 7);
}

TEST(AdaptLayout, user_layouts_that_overlap_or_leave_gaps_are_refused)
{
    int64_t begin = 10;
    EXPECT_EQ(Distribution(MPIX_Layout_user(begins_at, &begin), 3).error, nullptr);
    begin = 9;
    EXPECT_STREQ(Distribution(MPIX_Layout_user(begins_at, &begin), 3).error,
                 "ranks 0 and 1 both own its elements [9, 10)");
    begin = 11;
    EXPECT_STREQ(Distribution(MPIX_Layout_user(begins_at, &begin), 3).error,
                 "no process owns its elements [10, 11)");
    begin = 21;
    EXPECT_NE(Distribution(MPIX_Layout_user(begins_at, &begin), 3).error, nullptr);
}

TEST(AdaptLayout, all_overlaps_and_gaps_of_a_user_layout_are_named)
{
    int64_t shift = 0;
    EXPECT_EQ(Distribution(MPIX_Layout_user(tens, &shift), 9).error, nullptr);
    shift = 2;
    EXPECT_STREQ(Distribution(MPIX_Layout_user(tens, &shift), 5).error,
                 "no process owns its elements [10, 12); "
                 "ranks 1 and 2 both own its elements [20, 22); "
                 "no process owns its elements [30, 32); "
                 "ranks 3 and 4 both own its elements [40, 42)");
    const std::string many = Distribution(MPIX_Layout_user(tens, &shift), 9).error;
    EXPECT_TRUE(many.ends_with("; no process owns its elements [50, 52); and more")) << many;
}
