/* Orders of positions and schedules: SPEC-epop D6, V1 to V9, F4. */

#include "schedule_fixture.h"

#include <map>
#include <numeric>
#include <random>
#include <string>

namespace {

std::vector<int> coming_positions(const adapt_distribution &old, const Window &window)
{
    std::vector<int> positions(static_cast<size_t>(window.new_size));
    EXPECT_EQ(adapt_distribution_positions(&old, window.new_rank_of.data(), window.new_size,
                                        positions.data()),
              nullptr);
    return positions;
}

/* Moves an array by the schedules of all processes; V1.  Returns the number of moved elements. */
int64_t move(const adapt_distribution &old, const adapt_distribution &coming, const Window &window)
{
    const int64_t n = old.n;
    const int processes = window.processes();
    std::vector<adapt_schedule> schedules(static_cast<size_t>(processes));
    std::vector<std::vector<int64_t>> parts(schedules.size()), fresh(schedules.size());
    std::map<std::pair<int, int>, std::vector<int64_t>> wire;
    int64_t low, high, moved = 0, received = 0;

    for (int process = 0; process < processes; process++) {
        adapt_schedule &schedule = schedules[static_cast<size_t>(process)];
        adapt_roles roles = window.roles(process);
        EXPECT_EQ(adapt_schedule_make(&schedule, &old, &coming, &roles), nullptr);
        auto &part = parts[static_cast<size_t>(process)];
        if (roles.old_rank >= 0)
            for (int64_t from = 0;
                 adapt_distribution_next(&old, roles.old_rank, from, &low, &high); from = high)
                for (int64_t i = low; i < high; i++)
                    part.push_back(i);
        EXPECT_EQ(static_cast<int64_t>(part.size()), schedule.old_part);
        EXPECT_TRUE(old.kind == ADAPT_LAYOUT_SAME || old.kind == ADAPT_LAYOUT_SHARED ||
                    schedule.stay + schedule.sent == schedule.old_part);
        int last_distance = 0;
        for (int k = 0; k < schedule.send.peer_count; k++) {
            const adapt_peer &peer = schedule.send.peers[k];
            int distance = (peer.process - process + processes) % processes;
            EXPECT_GT(distance, last_distance);         /* once each, and not to itself */
            last_distance = distance;
            for (int64_t r = 0; r < peer.runs; r++) {
                const adapt_run &run = schedule.send.runs[peer.first_run + r];
                for (int64_t i = run.first; i < run.first + run.count; i++)
                    wire[{process, peer.process}].push_back(part[static_cast<size_t>(i)]);
            }
        }
        moved += schedule.sent;
    }
    for (int process = 0; process < processes; process++) {
        adapt_schedule &schedule = schedules[static_cast<size_t>(process)];
        auto &part = fresh[static_cast<size_t>(process)];
        part.assign(static_cast<size_t>(schedule.new_part), -1);
        std::vector<int64_t> retained;
        for (int64_t r = 0; r < schedule.retained_from_runs; r++)
            for (int64_t i = 0; i < schedule.retained_from[r].count; i++)
                retained.push_back(parts[static_cast<size_t>(process)]
                                    [static_cast<size_t>(schedule.retained_from[r].first + i)]);
        size_t next = 0;
        for (int64_t r = 0; r < schedule.retained_to_runs; r++)
            for (int64_t i = 0; i < schedule.retained_to[r].count; i++)
                part[static_cast<size_t>(schedule.retained_to[r].first + i)] = retained.at(next++);
        EXPECT_EQ(next, retained.size());
        for (int k = 0; k < schedule.receive.peer_count; k++) {
            const adapt_peer &peer = schedule.receive.peers[k];
            EXPECT_LT(peer.process, old.size);          /* V8 */
            const std::vector<int64_t> &message = wire[{peer.process, process}];
            EXPECT_EQ(static_cast<int64_t>(message.size()), peer.elements);
            next = 0;
            for (int64_t r = 0; r < peer.runs; r++) {
                const adapt_run &run = schedule.receive.runs[peer.first_run + r];
                for (int64_t i = run.first; i < run.first + run.count; i++)
                    part[static_cast<size_t>(i)] = message.at(next++);
            }
        }
        received += schedule.received;
        const int new_rank = window.roles(process).new_rank;
        next = 0;
        for (int64_t from = 0; new_rank >= 0 &&
                               adapt_distribution_next(&coming, new_rank, from, &low, &high);
             from = high) {
            for (int64_t i = low; i < high; i++)
                EXPECT_EQ(part.at(next++), i) << "process " << process;
        }
        EXPECT_EQ(next, part.size());
        adapt_schedule_clear(&schedule);
    }
    EXPECT_EQ(moved, received);
    if (old.kind != ADAPT_LAYOUT_SAME && old.kind != ADAPT_LAYOUT_SHARED) {
        std::vector<int> from = owners(old), to = owners(coming);
        int64_t changed = 0;
        for (int64_t i = 0; i < n; i++)
            changed += from[static_cast<size_t>(i)] !=
                       window.process_of_new[static_cast<size_t>(to[static_cast<size_t>(i)])];
        EXPECT_EQ(moved, changed);
    }
    return moved;
}

/* From p to q processes, the highest ranks leave.  Returns the number of moved elements. */
int64_t moved(const MPIX_Adapt_layout &layout, int p, int q)
{
    Distribution old(layout, p);
    EXPECT_EQ(old.error, nullptr);
    Window window = Window::resize(p, q);
    bool has_positions = layout.kind == ADAPT_LAYOUT_BLOCK_FREE || layout.kind == ADAPT_LAYOUT_GRID;
    std::vector<int> positions;
    if (has_positions)
        positions = coming_positions(old.it, window);
    Distribution coming(layout, q, has_positions ? positions.data() : nullptr);
    EXPECT_EQ(coming.error, nullptr);
    return move(old.it, coming.it, window);
}

/* Element i belongs to rank hash(i) mod size: the max number of pieces. */
int64_t scattered(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    const int64_t n = *static_cast<int64_t *>(state);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (int(uint64_t(i) * 2654435761u % 1000003 % uint64_t(size)) == rank) {
            if (count < max) {
                low[count] = i;
                high[count] = i + 1;
            }
            count++;
        }
    return count;
}

}  // namespace

/* Shared data moves only from old rank 0 to the joining processes. */
TEST(AdaptVolume, shared_comes_from_old_rank_0)
{
    MPIX_Adapt_layout layout = MPIX_Layout_same(7);
    layout.kind = ADAPT_LAYOUT_SHARED;
    EXPECT_EQ(moved(layout, 3, 5), 2 * 7);
    EXPECT_EQ(moved(layout, 5, 3), 0);
    Distribution old(layout, 2), coming(layout, 4);
    Window window(2, {0}, 3);
    EXPECT_EQ(move(old.it, coming.it, window), 3 * 7);
    adapt_schedule made;
    adapt_roles roles = window.roles(1);
    EXPECT_EQ(adapt_schedule_make(&made, &old.it, &coming.it, &roles), nullptr);
    EXPECT_EQ(made.sent, 0);
    adapt_schedule_clear(&made);
}

/* V2: retained K = n [k(k+1)/(2b) - k(k-1)/(2a)], k = min(a, ceil(a / (b - a))). */
TEST(AdaptVolume, V2_block)
{
    for (int p = 1; p <= 8; p++)
        for (int q = 1; q <= 8; q++) {
            const int64_t a = std::min(p, q), b = std::max(p, q);
            const int64_t n = 2 * 840 * 3;      /* every p and q up to 8 divides it */
            const int64_t k = a == b ? a : std::min(a, (a + (b - a) - 1) / (b - a));
            const int64_t retained =
                a == b ? n : n * k * (k + 1) / (2 * b) - n * k * (k - 1) / (2 * a);
            EXPECT_EQ(moved(MPIX_Layout_block(n), p, q), n - retained) << p << " to " << q;
        }
    EXPECT_EQ(moved(MPIX_Layout_block(1200), 2, 4), 900);
    EXPECT_EQ(moved(MPIX_Layout_block(1200), 4, 2), 900);
    EXPECT_EQ(moved(MPIX_Layout_block(1200), 3, 4), 600);
    EXPECT_EQ(moved(MPIX_Layout_block(1200), 2, 3), 600);
    EXPECT_EQ(moved(MPIX_Layout_block(1200), 1, 5), 960);
}

TEST(AdaptVolume, V4_block_free)
{
    EXPECT_EQ(moved(MPIX_Layout_block_free(1200), 2, 4), 600);
    EXPECT_EQ(moved(MPIX_Layout_block_free(1200), 3, 4), 400);
    EXPECT_EQ(moved(MPIX_Layout_block_free(1200), 5, 5), 0);
}

/* No assignment of new intervals to processes retains more elements (tests all of them). */
TEST(AdaptVolume, V4_no_order_keeps_more)
{
    std::mt19937 random(1);
    for (int round = 0; round < 60; round++) {
        const int p = 1 + int(random() % 4), joining = int(random() % 3);
        const int64_t n = 1 + int64_t(random() % 40);
        std::vector<int> leaving, positions(static_cast<size_t>(p));
        for (int rank = 0; rank < p; rank++)
            if (random() % 3 == 0 && int(leaving.size()) + 1 < p + joining)
                leaving.push_back(rank);
        std::iota(positions.begin(), positions.end(), 0);
        std::shuffle(positions.begin(), positions.end(), random);
        Distribution old(MPIX_Layout_block_free(n), p, positions.data());
        Window window(p, leaving, joining);
        std::vector<int> best = coming_positions(old.it, window), order(best.size());
        Distribution coming(MPIX_Layout_block_free(n), window.new_size, best.data());
        ASSERT_EQ(coming.error, nullptr);
        int64_t least = n;
        std::iota(order.begin(), order.end(), 0);
        do {
            Distribution tried(MPIX_Layout_block_free(n), window.new_size, order.data());
            std::vector<int> from = owners(old.it), to = owners(tried.it);
            int64_t changed = 0;
            for (size_t i = 0; i < from.size(); i++)
                changed += from[i] != window.process_of_new[static_cast<size_t>(to[i])];
            least = std::min(least, changed);
        } while (std::next_permutation(order.begin(), order.end()));
        EXPECT_EQ(move(old.it, coming.it, window), least) << "round " << round;
    }
}

TEST(AdaptVolume, V5_block_cyclic)
{
    for (int p = 1; p <= 6; p++)
        for (int q = 1; q <= 6; q++) {
            const int64_t lcm = std::lcm(p, q), block = 5, n = block * lcm * 4;
            EXPECT_EQ(moved(MPIX_Layout_block_cyclic(n, block), p, q), n - n * std::min(p, q) / lcm)
                << p << " to " << q;
        }
}

TEST(AdaptVolume, V6_grid)
{
    const int64_t side = 60, n = side * side;
    EXPECT_EQ(moved(MPIX_Layout_grid(side, side), 4, 9), n - n / 4);
    /* back again: processes without a position in the smaller grid leave */
    Distribution nine(MPIX_Layout_grid(side, side), 9);
    Window window(9, {2, 5, 6, 7, 8}, 0);
    std::vector<int> positions = coming_positions(nine.it, window);
    Distribution four(MPIX_Layout_grid(side, side), 4, positions.data());
    EXPECT_EQ(move(nine.it, four.it, window), n - n / 4);
    EXPECT_EQ(moved(MPIX_Layout_grid(side, side), 1, 4), n - n / 4);
    EXPECT_EQ(moved(MPIX_Layout_grid(side, side), 16, 16), 0);
}

TEST(AdaptVolume, V6_grid_has_square_numbers_of_processes)
{
    EXPECT_NE(Distribution(MPIX_Layout_grid(6, 6), 6).error, nullptr);
    Distribution old(MPIX_Layout_grid(6, 6), 4);
    Window window = Window::resize(4, 6);
    std::vector<int> positions(6);
    EXPECT_NE(adapt_distribution_positions(&old.it, window.new_rank_of.data(), 6, positions.data()),
              nullptr);
}

/* V1 for random layouts, sizes and lists of leaving ranks, over several windows each. */
TEST(AdaptVolume, V1_V7_only_what_changes_its_owner_moves)
{
    std::mt19937 random(7);
    for (int round = 0; round < 300; round++) {
        const int64_t n = int64_t(random() % 120);
        const MPIX_Adapt_layout layouts[] = {
            MPIX_Layout_block(n), MPIX_Layout_block_free(n),
            MPIX_Layout_block_cyclic(n, 1 + int64_t(random() % 9)), MPIX_Layout_same(n)};
        const MPIX_Adapt_layout &layout = layouts[random() % 4];
        int p = 1 + int(random() % 7);
        std::vector<int> positions(static_cast<size_t>(p));
        std::iota(positions.begin(), positions.end(), 0);
        for (int each = 0; each < 3; each++) {
            const bool free = layout.kind == ADAPT_LAYOUT_BLOCK_FREE;
            const int joining = int(random() % 4);
            std::vector<int> leaving;
            for (int rank = 0; rank < p; rank++)
                if (random() % 3 == 0 && int(leaving.size()) + 1 < p + joining)
                    leaving.push_back(rank);
            Distribution old(layout, p, free ? positions.data() : nullptr);
            Window window(p, leaving, joining);
            if (free)
                positions = coming_positions(old.it, window);
            Distribution coming(layout, window.new_size, free ? positions.data() : nullptr);
            ASSERT_EQ(coming.error, nullptr);
            move(old.it, coming.it, window);
            p = window.new_size;
        }
    }
}

TEST(AdaptVolume, V3_growth_keeps_no_more_than_the_bound)
{
    for (int p = 1; p <= 6; p++)
        for (int q = p; q <= 6; q++) {
            const int64_t n = 60 * 12;
            EXPECT_GE(moved(MPIX_Layout_block_free(n), p, q) * q, n * (q - p));
        }
}

/* Irregular and user layouts. */
TEST(AdaptVolume, V1_irregular)
{
    std::mt19937 random(3);
    MPIX_Split *any = [](int, const int64_t *, int, int64_t *, void *) { return 0; };
    for (int round = 0; round < 100; round++) {
        const int p = 1 + int(random() % 5), q = 1 + int(random() % 5);
        std::vector<int64_t> from(static_cast<size_t>(p)), to(static_cast<size_t>(q));
        for (int k = 0; k < 40; k++) {
            from[random() % from.size()]++;
            to[random() % to.size()]++;
        }
        MPIX_Adapt_layout layout = MPIX_Layout_irregular(from[0], any, nullptr);
        Distribution old(layout, p, nullptr, from.data()), coming(layout, q, nullptr, to.data());
        ASSERT_EQ(old.it.n, 40);
        expect_whole(old.it);
        expect_whole(coming.it);
        move(old.it, coming.it, Window::resize(p, q));
    }
}

TEST(AdaptVolume, V1_user)
{
    int64_t n = 200;
    MPIX_Adapt_layout layout = MPIX_Layout_user(scattered, &n);
    for (int p = 1; p <= 5; p++) {
        Distribution old(layout, p);
        ASSERT_EQ(old.error, nullptr);
        EXPECT_EQ(old.it.n, n);
        expect_whole(old.it);
        for (int q = 1; q <= 5; q++) {
            Distribution coming(layout, q);
            move(old.it, coming.it, Window::resize(p, q));
        }
    }
}

/* A million processes, all queries answered by formulas: a process needs only its own pieces. */
TEST(AdaptVolume, V9_pieces_of_this_process_alone)
{
    const int p = 1000000, q = 900000;
    Distribution old(MPIX_Layout_block(INT64_C(1) << 40), p);
    Distribution coming(MPIX_Layout_block(INT64_C(1) << 40), q);
    Window window = Window::resize(p, q);
    adapt_roles roles = window.roles(5000);
    adapt_schedule schedule;
    ASSERT_EQ(adapt_schedule_make(&schedule, &old.it, &coming.it, &roles), nullptr);
    EXPECT_LE(schedule.send.peer_count, 3);
    EXPECT_LE(schedule.receive.peer_count, 3);
    EXPECT_EQ(schedule.stay + schedule.sent, schedule.old_part);
    adapt_schedule_clear(&schedule);
}
