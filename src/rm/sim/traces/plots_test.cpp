/* The page with plots: its content, and that it is well-formed SVG. */

#include "sim/traces/plots.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/traces/svg.h"

namespace elastic::rm {
namespace {

size_t count(const std::string &text, const std::string &what)
{
    size_t found = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
        found++;
    return found;
}

/* Whether each element that begins also ends, in the right order, and special characters are
 * escaped. */
testing::AssertionResult well_formed(const std::string &xml)
{
    std::vector<std::string> open;
    for (size_t at = 0; at < xml.size(); at++) {
        if (xml[at] == '&' && xml.find(';', at) > at + 5)
            return testing::AssertionFailure() << "a bare &, " << xml.substr(at, 20);
        if (xml[at] != '<')
            continue;
        size_t end = xml.find('>', at);
        if (end == xml.npos)
            return testing::AssertionFailure() << "no end of " << xml.substr(at, 20);
        std::string tag = xml.substr(at + 1, end - at - 1);
        if (tag.find('<') != tag.npos || count(tag, "\"") % 2 != 0)
            return testing::AssertionFailure() << "not an element: " << tag;
        std::string name = tag.substr(0, tag.find_first_of(" /", 1));
        if (name[0] == '/') {
            if (open.empty() || "/" + open.back() != name)
                return testing::AssertionFailure() << "not open: " << tag;
            open.pop_back();
        } else if (tag.back() != '/') {
            open.push_back(name);
        }
        at = end;
    }
    return open.empty() ? testing::AssertionSuccess()
                        : testing::AssertionFailure() << "still open: " << open.back();
}

TEST(SvgTest, TextIsNoMarkup)
{
    Svg svg(100, 50);
    svg.text({1, 2}, "a<b & \"c\">\n", Svg::Anchor::MIDDLE, true);
    svg.box({0, 0}, 10, 20, "#fff", "</title>");
    svg.path({{1, 1}}, "#000");
    EXPECT_TRUE(well_formed(svg.str())) << svg.str();
    EXPECT_NE(svg.str().find(">a&lt;b &amp; &quot;c&quot;&gt;</text>"), std::string::npos);
    EXPECT_EQ(count(svg.str(), "<polyline"), 0u) << "one point is no line";
    svg.path({{1, 1}, {2.25, -3}}, "#000");
    EXPECT_NE(svg.str().find("points=\"1.0,1.0 2.2,-3.0\""), std::string::npos) << svg.str();
}

TEST(PlotsTest, TicksAreRoundAndFew)
{
    for (double range : {1e-9, 0.3, 1.0, 7.0, 50.0, 99.0, 1e6}) {
        for (int most : {5, 10}) {
            double width = tick_width(range, most);
            EXPECT_LE(range / width, most + 1e-6) << range;
            EXPECT_GT(range / width, most / 2.6) << range;
        }
    }
    EXPECT_DOUBLE_EQ(tick_width(1, 5), 0.2);
    EXPECT_DOUBLE_EQ(tick_width(99, 10), 10);
}

TEST(PlotsTest, Means)
{
    EXPECT_DOUBLE_EQ(mean_of({4}).mean, 4);
    EXPECT_DOUBLE_EQ(mean_of({4}).half, 0);
    EXPECT_DOUBLE_EQ(mean_of({1, 2, 3}).mean, 2);
    EXPECT_NEAR(mean_of({1, 2, 3}).half, 1.96 / std::sqrt(3), 1e-12);
}

PolicyPlot policy(const std::string &name, double waiting, double size)
{
    double nan = std::numeric_limits<double>::quiet_NaN();
    PolicyPlot plot{name, {3600000, {waiting, 0, 1}, {1, 0.5, 0}, {size, nan, size}}, {}};
    OutcomeSums sums;
    sums.mean_wait_ms = 3600000;
    sums.mean_turnaround_ms = 7200000;
    sums.mean_bounded_slowdown = 1.5;
    plot.draws = {sums, sums};
    plot.draws[1].mean_wait_ms *= 3;
    return plot;
}

TEST(PlotsTest, ALineAndThreeBarsForEachPolicy)
{
    double nan = std::numeric_limits<double>::quiet_NaN();
    std::string page = plots("a & b.swf", {policy("easy", 3, nan), policy("measured", 2, 1.5)});
    EXPECT_TRUE(well_formed(page)) << page;
    EXPECT_NE(page.find("a &amp; b.swf"), std::string::npos);
    /* Two lines of each; and of the second one sizes, interrupted in the middle. */
    EXPECT_EQ(count(page, "<polyline"), 2u + 2 + 2) << page;
    EXPECT_EQ(count(page, "<title>"), 6u);
    EXPECT_NE(page.find("<title>easy: 2 +- 1.96</title>"), std::string::npos) << page;
    EXPECT_NE(page.find(">hours<"), std::string::npos);
    std::string rigid = plots("x", {policy("easy", 3, nan)});
    EXPECT_EQ(rigid.find("malleable"), std::string::npos);
    EXPECT_TRUE(well_formed(plots("nothing", {{"easy", {}, {}}})));
}

}  // namespace
}  // namespace elastic::rm
