#include "cli/timeline_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace elastic {
namespace {

Json segment(int job, const char *node, int cores, int from, int to)
{
    return {{"job", job}, {"name", "j" + std::to_string(job)}, {"node", node}, {"cores", cores},
            {"from_ms", from}, {"to_ms", to}};
}

Json two_nodes(Json segments)
{
    return {{"from_ms", 0}, {"to_ms", 1000}, {"more", false}, {"segments", std::move(segments)},
            {"nodes", {{{"name", "n0"}, {"cores", 4}}, {{"name", "n1"}, {"cores", 2}}}}};
}

TEST(TimelineChartTest, a_job_that_adapts_stays_in_its_rows)
{
    Timeline timeline =
        read_timeline(two_nodes({segment(1, "n0", 2, 0, 100), segment(2, "n0", 2, 0, 500),
                                 segment(1, "n0", 1, 100, 200), segment(3, "n0", 1, 100, 300),
                                 segment(1, "n0", 2, 300, 400)}),
                      {});
    ASSERT_EQ(timeline.segments.size(), 5U);
    EXPECT_EQ(timeline.segments[0].row_numbers, (std::vector<int>{0, 1}));
    EXPECT_EQ(timeline.segments[1].row_numbers, (std::vector<int>{2, 3}));
    EXPECT_EQ(timeline.segments[2].row_numbers, (std::vector<int>{0}));
    EXPECT_EQ(timeline.segments[3].row_numbers, (std::vector<int>{1}));
    EXPECT_EQ(timeline.segments[4].row_numbers, (std::vector<int>{0, 1}));
    EXPECT_DOUBLE_EQ(timeline.utilisation_at(50), 4.0 / 6);
    EXPECT_DOUBLE_EQ(timeline.utilisation_at(450), 2.0 / 6);
    EXPECT_DOUBLE_EQ(timeline.utilisation_at(500), 0);
}

/* No core is drawn for two jobs at once, and none is missing, whatever jobs start and end. */
TEST(TimelineChartTest, rows_never_overlap)
{
    std::mt19937 random(1);
    for (int round = 0; round < 50; round++) {
        Json segments = Json::array();
        std::vector<std::pair<int, int>> running;       /* end, cores */
        int used = 0;
        for (int time = 0; time < 500; time++) {
            std::erase_if(running, [&](auto &one) {
                used -= one.first == time ? one.second : 0;
                return one.first == time;
            });
            int cores = 1 + static_cast<int>(random() % 3);
            if (used + cores > 4)
                continue;
            int end = time + 1 + static_cast<int>(random() % 40);
            segments.push_back(segment(static_cast<int>(random() % 9), "n0", cores, time, end));
            running.emplace_back(end, cores);
            used += cores;
        }
        Timeline timeline = read_timeline(two_nodes(segments), {});
        for (size_t i = 0; i < timeline.segments.size(); i++) {
            const Segment &x = timeline.segments[i];
            ASSERT_EQ(static_cast<int>(x.row_numbers.size()), segments[i]["cores"].get<int>());
            for (size_t j = 0; j < i; j++) {
                const Segment &y = timeline.segments[j];
                bool at_once = x.from_ms < y.to_ms && y.from_ms < x.to_ms;
                std::vector<int> both;
                std::set_intersection(x.row_numbers.begin(), x.row_numbers.end(),
                                      y.row_numbers.begin(), y.row_numbers.end(),
                                      std::back_inserter(both));
                ASSERT_TRUE(!at_once || both.empty()) << "round " << round;
            }
        }
    }
}

TEST(TimelineChartTest, text_shows_who_was_where)
{
    Timeline timeline =
        read_timeline(two_nodes({segment(7, "n0", 4, 0, 500), segment(8, "n1", 1, 0, 1000),
                                 segment(7, "n0", 2, 500, 1000)}),
                      {});
    auto lines = draw_text(timeline, 26);
    ASSERT_EQ(lines.size(), 9U);        /* six cores, use, times, names */
    EXPECT_EQ(lines[0], "n0   |AAAAAAAAAAAAAAAAAAAA");
    EXPECT_EQ(lines[2], "     |AAAAAAAAAA..........");
    EXPECT_EQ(lines[4], "n1   |BBBBBBBBBBBBBBBBBBBB");
    EXPECT_EQ(lines[8], "A=7:j7  B=8:j8");
    EXPECT_EQ(read_timeline(two_nodes({segment(7, "n0", 4, 0, 500)}), {9}).segments.size(), 0U);
    EXPECT_EQ(draw_text(read_timeline(two_nodes(Json::array()), {}), 80).size(), 1U);
}

TEST(TimelineChartTest, nonsense_is_left_out)
{
    Json odd = two_nodes({segment(1, "n0", 1, 0, 10), segment(2, "nowhere", 1, 0, 10),
                          segment(3, "n0", 1, 10, 5), Json("text"), Json{{"node", 5}}});
    Timeline timeline = read_timeline(odd, {});
    EXPECT_EQ(timeline.segments.size(), 1U);
    EXPECT_EQ(read_timeline(Json::array(), {}).segments.size(), 0U);
}

}  // namespace
}  // namespace elastic
