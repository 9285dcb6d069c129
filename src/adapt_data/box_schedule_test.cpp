/* Boxes: even cuts, and the values that each process sends.  SPEC-epop V1. */

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

extern "C" {
#include "box_schedule.h"
}

namespace {

using Point = std::array<int64_t, 3>;

struct World {
    std::vector<adapt_box> boxes;
    std::vector<int64_t> first{0};

    void add_rank(const std::vector<adapt_box> &its)
    {
        boxes.insert(boxes.end(), its.begin(), its.end());
        first.push_back(int64_t(boxes.size()));
    }
    adapt_boxes view() { return {int(first.size()) - 1, boxes.data(), first.data()}; }
};

World even(const adapt_box &domain, int size)
{
    World world;
    for (int rank = 0; rank < size; rank++)
        world.add_rank({adapt_box_even(&domain, size, rank)});
    return world;
}

/* Tiles, distributed to the ranks at random (seed); some ranks may have none. */
World tiles(const adapt_box &domain, int count, int size, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<std::vector<adapt_box>> of(static_cast<size_t>(size));
    World world;
    for (int tile = 0; tile < count; tile++)
        of[random() % static_cast<unsigned>(size)].push_back(adapt_box_even(&domain, count, tile));
    for (auto &its : of)
        world.add_rank(its);
    return world;
}

template <class Visit> void each(const adapt_box &box, const int nodes[3], Visit &&visit)
{
    if (adapt_box_values(&box) == 0)
        return;
    for (int64_t i = box.low[0]; i < box.high[0] + nodes[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1] + nodes[1]; j++)
            for (int64_t k = box.low[2]; k < box.high[2] + nodes[2]; k++)
                visit(Point{i, j, k});
}

struct Window {
    std::vector<int> new_rank_of, process_of_new;
    int old_size, new_size = 0, staying = 0;

    Window(int old, const std::set<int> &leaving, int joining) : old_size(old)
    {
        for (int rank = 0; rank < old; rank++) {
            new_rank_of.push_back(leaving.count(rank) ? -1 : staying++);
            if (!leaving.count(rank))
                process_of_new.push_back(rank);
        }
        for (int j = 0; j < joining; j++)
            process_of_new.push_back(old + j);
        new_size = staying + joining;
    }
    int processes() const { return old_size + new_size - staying; }
    adapt_roles roles(int process) const
    {
        int fresh = -1;
        for (int rank = 0; rank < new_size; rank++)
            if (process_of_new[size_t(rank)] == process)
                fresh = rank;
        return {old_size, new_size, process < old_size ? process : -1, fresh, new_rank_of.data(),
                process_of_new.data()};
    }
};

const int whole[3] = {0, 0, 0};

std::set<Point> values_of(const adapt_boxes &world, int rank, const int nodes[3])
{
    std::set<Point> values;
    if (rank < 0)
        return values;
    for (int64_t k = world.first[rank]; k < world.first[rank + 1]; k++)
        each(world.boxes[k], nodes, [&](const Point &point) { values.insert(point); });
    return values;
}

/* Both ends have the same messages in the same order; each value that a process needs arrives once,
 * from a process that had it, and only if the receiver did not have it.  Returns the number of
 * values sent. */
int64_t move(World &from, World &to, const Window &window, const int nodes[3], int64_t limit)
{
    adapt_boxes old = from.view(), coming = to.view();
    const int processes = window.processes();
    std::map<std::pair<int, int>, std::vector<adapt_box_piece>> wire;
    std::vector<adapt_box_schedule> schedules(static_cast<size_t>(processes));
    int64_t moved = 0;

    for (int process = 0; process < processes; process++) {
        adapt_roles roles = window.roles(process);
        auto &made = schedules[size_t(process)];
        EXPECT_STREQ(adapt_box_schedule_make(&made, &old, &coming, &roles, nodes, limit), nullptr);
        int last = 0;
        for (int64_t k = 0; k < made.send.count; k++) {
            const adapt_box_piece &piece = made.send.pieces[k];
            int distance = (piece.process - process + processes) % processes;
            EXPECT_GE(distance, std::max(last, 1));
            last = distance;
            wire[{process, piece.process}].push_back(piece);
            moved += adapt_box_values(&piece.region);
        }
    }
    for (int process = 0; process < processes; process++) {
        const adapt_roles roles = window.roles(process);
        auto &made = schedules[size_t(process)];
        const std::set<Point> had = values_of(old, roles.old_rank, nodes);
        std::map<std::pair<int, Point>, int> got;       /* by new box and point */
        std::map<int, size_t> next;
        for (int64_t k = 0; k < made.receive.count; k++) {
            const adapt_box_piece &piece = made.receive.pieces[k];
            const auto &sent = wire[{piece.process, process}];
            const size_t at = next[piece.process]++;
            EXPECT_LT(at, sent.size());
            EXPECT_EQ(sent[at].old_box, piece.old_box);
            EXPECT_EQ(sent[at].new_box, piece.new_box);
            const std::set<Point> theirs = values_of(old, piece.process, nodes);
            each(piece.region, whole, [&](const Point &point) {
                EXPECT_TRUE(theirs.count(point));
                EXPECT_FALSE(had.count(point));
                got[{piece.new_box, point}]++;
            });
            for (int axis = 0; axis < 3; axis++) {
                EXPECT_EQ(sent[at].region.low[axis], piece.region.low[axis]);
                EXPECT_EQ(sent[at].region.high[axis], piece.region.high[axis]);
            }
        }
        for (auto &[sender, count] : next)
            EXPECT_EQ(count, (wire[{sender, process}].size()));
        for (int64_t k = 0; k < made.keep.count; k++)
            each(made.keep.pieces[k].region, whole, [&](const Point &point) {
                EXPECT_TRUE(had.count(point));
                got[{made.keep.pieces[k].new_box, point}]++;
            });
        size_t wanted = 0;
        for (int64_t k = 0; roles.new_rank >= 0 &&
                            k < coming.first[roles.new_rank + 1] - coming.first[roles.new_rank];
             k++)
            each(coming.boxes[coming.first[roles.new_rank] + k], nodes, [&](const Point &point) {
                wanted++;
                EXPECT_EQ((got[{int(k), point}]), 1);
            });
        EXPECT_EQ(wanted, got.size());
        adapt_box_schedule_clear(&made);
    }
    return moved;
}

TEST(AdaptBoxes, even_cuts_cover_the_domain)
{
    const adapt_box domain = {{-3, 5, 0}, {14, 30, 4}};
    for (int size : {1, 2, 3, 4, 6, 7, 8, 12, 30, 64}) {
        World world = even(domain, size);
        adapt_boxes view = world.view();
        EXPECT_EQ(adapt_boxes_cells(&view), 17 * 25 * 4);
        for (int rank = 0; rank < size; rank++)
            EXPECT_STREQ(adapt_boxes_check(&view, rank), nullptr) << size;
    }
    int parts[3];
    const adapt_box cube = {{0, 0, 0}, {64, 64, 64}}, plate = {{0, 0, 0}, {100, 50, 1}};
    adapt_box_parts(&cube, 8, parts);
    EXPECT_EQ(parts[0] * 100 + parts[1] * 10 + parts[2], 222);
    adapt_box_parts(&plate, 8, parts);
    EXPECT_EQ(parts[0] * 100 + parts[1] * 10 + parts[2], 421);
}

/* Cells move exactly if they change their owner. */
TEST(AdaptBoxes, V1_cells_move_once_if_their_owner_changes)
{
    const adapt_box domain = {{1, 1, 0}, {20, 14, 1}};
    for (int p : {1, 2, 3, 4, 6})
        for (int q : {1, 2, 4, 5}) {
            std::set<int> leaving;
            for (int rank = q; rank < p; rank++)
                leaving.insert(rank);
            World from = even(domain, p), to = even(domain, q);
            Window window(p, leaving, std::max(q - p, 0));
            int64_t changed = 0;
            for (int rank = 0; rank < q; rank++) {
                const std::set<Point> mine = values_of(to.view(), rank, whole);
                const int process = window.process_of_new[size_t(rank)];
                const std::set<Point> had =
                    process < p ? values_of(from.view(), process, whole) : std::set<Point>();
                for (const Point &point : mine)
                    changed += !had.count(point);
            }
            EXPECT_EQ(move(from, to, window, whole, 1000000), changed) << p << " -> " << q;
        }
}

TEST(AdaptBoxes, V1_nodes_tiles_and_chunks)
{
    const adapt_box domain = {{0, -2, 3}, {9, 6, 8}};
    std::mt19937 random(1);
    for (int round = 0; round < 40; round++) {
        const int nodes[3] = {int(random() % 2), int(random() % 2), int(random() % 2)};
        const int p = 1 + int(random() % 4), joining = int(random() % 3);
        std::set<int> leaving;
        for (int rank = 0; rank < p; rank++)
            if (random() % 3 == 0 && int(leaving.size()) < p - 1)
                leaving.insert(rank);
        Window window(p, leaving, joining);
        const unsigned seed = unsigned(random());
        World from = round % 2 ? tiles(domain, 12, p, seed) : even(domain, p);
        World to = round % 3 ? tiles(domain, 12, window.new_size, seed + 1)
                             : even(domain, window.new_size);
        SCOPED_TRACE(round);
        move(from, to, window, nodes, 1 + int64_t(random() % 60));
    }
}

TEST(AdaptBoxes, wrong_boxes_are_found)
{
    World world;
    world.add_rank({{{0, 0, 0}, {4, 4, 1}}});
    world.add_rank({{{3, 0, 0}, {8, 4, 1}}});
    adapt_boxes view = world.view();
    EXPECT_STREQ(adapt_boxes_check(&view, 0), "two boxes overlap");
    world.boxes[1] = {{4, 0, 0}, {3, 4, 1}};
    EXPECT_NE(adapt_boxes_check(&view, 1), nullptr);

    World from, to;
    from.add_rank({{{0, 0, 0}, {4, 4, 1}}});
    to.add_rank({{{0, 1, 0}, {4, 5, 1}}});
    adapt_boxes old = from.view(), coming = to.view();
    Window window(1, {}, 0);
    adapt_roles roles = window.roles(0);
    adapt_box_schedule made;
    EXPECT_STREQ(adapt_box_schedule_make(&made, &old, &coming, &roles, whole, 100),
                 "no process has some of the values of a new box");
}

TEST(AdaptBoxes, F4_empty_boxes_have_nothing)
{
    const adapt_box domain = {{0, 0, 0}, {2, 1, 1}};
    const int nodes[3] = {1, 0, 0};
    World from = even(domain, 5), to = even(domain, 2);
    EXPECT_GT(move(from, to, Window(5, {0, 1, 2}, 0), nodes, 100), 0);
}

}  // namespace
