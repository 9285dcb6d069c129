/* For tests of layouts and schedules: a distribution and its owners, and a window without its
 * communication. */

#ifndef ADAPT_SCHEDULE_FIXTURE_H_INCLUDED
#define ADAPT_SCHEDULE_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" {
#include "schedule.h"
}

struct Distribution {
    adapt_distribution it = {};
    const char *error;
    Distribution(const MPIX_Adapt_layout &layout, int size, const int *positions = nullptr,
                 const int64_t *lengths = nullptr)
        : error(adapt_distribution_make(&it, &layout, size, positions, lengths))
    {
    }
    ~Distribution() { adapt_distribution_clear(&it); }
    Distribution(const Distribution &) = delete;
};

/* The owner of each element, by calls of adapt_distribution_next. */
inline std::vector<int> owners(const adapt_distribution &distribution)
{
    std::vector<int> owner(static_cast<size_t>(distribution.n), -1);
    int64_t low, high;
    for (int rank = 0; rank < distribution.size; rank++) {
        int64_t part = 0;
        for (int64_t from = 0; adapt_distribution_next(&distribution, rank, from, &low, &high);
             from = high) {
            EXPECT_LE(from, low);
            EXPECT_LT(low, high);
            for (int64_t i = low; i < high; i++) {
                EXPECT_EQ(owner[static_cast<size_t>(i)], -1) << i;
                owner[static_cast<size_t>(i)] = rank;
            }
            part += high - low;
        }
        EXPECT_EQ(part, adapt_distribution_part(&distribution, rank)) << rank;
    }
    return owner;
}

inline void expect_whole(const adapt_distribution &distribution)
{
    std::vector<int> owner = owners(distribution);
    for (int64_t i = 0; i < distribution.n;) {
        int64_t end;
        int rank = adapt_distribution_owner(&distribution, i, &end);
        ASSERT_GT(end, i);
        ASSERT_LE(end, distribution.n);
        for (; i < end; i++)
            ASSERT_EQ(owner[static_cast<size_t>(i)], rank) << i;
    }
}

/* A window without its communication: the staying processes and their new ranks. */
struct Window {
    std::vector<int> new_rank_of, process_of_new;
    int old_size, new_size, staying = 0;

    Window(int old, const std::vector<int> &leaving, int joining) : new_rank_of(old), old_size(old)
    {
        for (int rank : leaving)
            new_rank_of[rank] = -1;
        for (int rank = 0; rank < old; rank++)
            if (new_rank_of[rank] == 0) {
                new_rank_of[rank] = staying++;
                process_of_new.push_back(rank);
            }
        for (int j = 0; j < joining; j++)
            process_of_new.push_back(old + j);
        new_size = staying + joining;
    }

    /* The highest ranks leave, as without a list. */
    static Window resize(int p, int q)
    {
        std::vector<int> leaving;
        for (int rank = q; rank < p; rank++)
            leaving.push_back(rank);
        return Window(p, leaving, std::max(q - p, 0));
    }

    int processes() const { return old_size + new_size - staying; }
    adapt_roles roles(int process) const
    {
        auto fresh = std::find(process_of_new.begin(), process_of_new.end(), process);
        return {old_size,
                new_size,
                process < old_size ? process : -1,
                fresh == process_of_new.end() ? -1 : int(fresh - process_of_new.begin()),
                new_rank_of.data(),
                process_of_new.data()};
    }
};

#endif /* ADAPT_SCHEDULE_FIXTURE_H_INCLUDED */
