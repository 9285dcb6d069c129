/* See plots.h. */

#include "sim/traces/plots.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "sim/traces/svg.h"

namespace elastic::rm {

namespace {

constexpr int WIDTH = 980, LEFT = 70, RIGHT = 20;
constexpr int TITLE_HEIGHT = 60, PLOT_HEIGHT = 150, PLOT_SPACE = 62, BARS_HEIGHT = 150;
constexpr const char *GRID = "#ddd", *AXIS = "#888", *BLACK = "#000";
constexpr double HOUR_MS = 36e5, DAY_MS = 24 * HOUR_MS;

std::string colour_of(const std::string &policy)
{
    static const std::map<std::string, const char *> colours = {
        {"fcfs", "#66ccee"},      {"easy", "#888888"},     {"fill", "#4477aa"},
        {"efficient", "#ccaa33"}, {"measured", "#aa3377"}, {"oracle", "#228833"}};
    auto known = colours.find(policy);
    return known == colours.end() ? "#cc6677" : known->second;
}

std::string text_of(double value)
{
    char text[32];
    snprintf(text, sizeof(text), "%.4g", value);
    return text;
}

/* From values to pixels, the origin below. */
struct Frame {
    double left, top, width, height;
    double x_most, y_most;

    Svg::Point at(double x, double y) const
    {
        return {left + width * x / x_most, top + height * (1 - y / y_most)};
    }
};

void draw_axes(Svg &svg, const Frame &frame, const std::string &title)
{
    svg.text({frame.left, frame.top - 10}, title, Svg::Anchor::START, true);
    double step = tick_width(frame.y_most, 5);
    for (double y = 0; y <= frame.y_most * 1.0001; y += step) {
        svg.line(frame.at(0, y), frame.at(frame.x_most, y), y == 0 ? AXIS : GRID);
        Svg::Point at = frame.at(0, y);
        svg.text({at.x - 6, at.y + 4}, text_of(y), Svg::Anchor::END);
    }
}

struct TimePlot {
    const char *title;
    std::vector<double> Series::*values;
    double least_top;           /* the axis ends here or above */
};

double greatest(const std::vector<PolicyPlot> &policies, const TimePlot &plot)
{
    double most = plot.least_top;
    for (const PolicyPlot &each : policies) {
        for (double value : each.series.*plot.values)
            most = std::isnan(value) ? most : std::max(most, value);
    }
    return most;
}

/* Interrupted where there is no value. */
void draw_line(Svg &svg, const Frame &frame, const PolicyPlot &policy,
               const std::vector<double> &values, double unit_ms)
{
    std::vector<Svg::Point> points;
    for (size_t i = 0; i < values.size(); i++) {
        if (std::isnan(values[i])) {
            svg.path(points, colour_of(policy.policy));
            points.clear();
            continue;
        }
        /* Each interval as a level. */
        double from = static_cast<double>(i) * policy.series.interval_ms / unit_ms;
        points.push_back(frame.at(from, values[i]));
        points.push_back(frame.at(from + policy.series.interval_ms / unit_ms, values[i]));
    }
    svg.path(points, colour_of(policy.policy));
}

void draw_over_time(Svg &svg, double top, const std::vector<PolicyPlot> &policies,
                    const TimePlot &plot)
{
    double length_ms = 1;
    for (const PolicyPlot &each : policies)
        length_ms = std::max(
            length_ms, each.series.interval_ms * static_cast<double>(each.series.waiting.size()));
    bool in_days = length_ms > 4 * DAY_MS;
    double unit_ms = in_days ? DAY_MS : HOUR_MS;
    Frame frame{LEFT, top, WIDTH - LEFT - RIGHT, PLOT_HEIGHT, length_ms / unit_ms,
                greatest(policies, plot)};
    draw_axes(svg, frame, plot.title);
    double step = tick_width(frame.x_most, 10);
    for (double x = 0; x <= frame.x_most * 1.0001; x += step) {
        Svg::Point at = frame.at(x, 0);
        svg.text({at.x, at.y + 16}, text_of(x), Svg::Anchor::MIDDLE);
    }
    svg.text({WIDTH - RIGHT, top + PLOT_HEIGHT + 32}, in_days ? "days" : "hours",
             Svg::Anchor::END);
    for (const PolicyPlot &each : policies)
        draw_line(svg, frame, each, each.series.*plot.values, unit_ms);
}

struct Metric {
    const char *title;
    std::function<double(const OutcomeSums &)> value;
};

/* A bar for each policy, with its interval. */
void draw_bars(Svg &svg, double left, double top, double width,
               const std::vector<PolicyPlot> &policies, const Metric &metric)
{
    std::vector<Mean> means;
    double most = 1e-9;
    for (const PolicyPlot &each : policies) {
        std::vector<double> values;
        for (const OutcomeSums &draw : each.draws)
            values.push_back(metric.value(draw));
        means.push_back(mean_of(values));
        most = std::max(most, means.back().mean + means.back().half);
    }
    Frame frame{left, top, width, BARS_HEIGHT, static_cast<double>(policies.size()), most};
    draw_axes(svg, frame, metric.title);
    for (size_t i = 0; i < policies.size(); i++) {
        auto [mean, half] = means[i];
        double x = static_cast<double>(i);
        Svg::Point from = frame.at(x + 0.15, mean), to = frame.at(x + 0.85, 0);
        std::string tip = policies[i].policy + ": " + text_of(mean);
        if (half > 0)
            tip += " +- " + text_of(half);
        svg.box(from, to.x - from.x, to.y - from.y, colour_of(policies[i].policy), tip);
        if (half > 0)
            svg.line(frame.at(x + 0.5, mean + half), frame.at(x + 0.5, std::max(mean - half, 0.0)),
                     BLACK);
    }
}

void draw_legend(Svg &svg, const std::vector<PolicyPlot> &policies)
{
    double x = LEFT;
    for (const PolicyPlot &each : policies) {
        svg.box({x, 32}, 12, 12, colour_of(each.policy));
        svg.text({x + 17, 42}, each.policy);
        x += 100;
    }
}

bool any_malleable(const std::vector<PolicyPlot> &policies)
{
    return std::any_of(policies.begin(), policies.end(), [](const PolicyPlot &each) {
        const std::vector<double> &sizes = each.series.sizes;
        return std::any_of(sizes.begin(), sizes.end(), [](double size) { return size > 0; });
    });
}

}  // namespace

Mean mean_of(const std::vector<double> &values)
{
    auto count = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (double value : values)
        mean += value / count;
    for (double value : values)
        squares += (value - mean) * (value - mean);
    if (values.size() < 2)
        return {mean, 0};
    return {mean, 1.96 * std::sqrt(squares / (count - 1)) / std::sqrt(count)};
}

double tick_width(double range, int most)
{
    double width = std::pow(10, std::floor(std::log10(range / most)));
    for (double factor : {1, 2, 5}) {
        if (range <= factor * width * most)
            return factor * width;
    }
    return 10 * width;
}

std::string plots(const std::string &title, const std::vector<PolicyPlot> &policies)
{
    std::vector<TimePlot> over_time = {
        {"waiting jobs", &Series::waiting, 1},
        {"utilisation", &Series::utilisation, 1},
    };
    if (any_malleable(policies))
        over_time.push_back({"mean size of malleable jobs, 1: as in the trace", &Series::sizes, 1});
    const Metric metrics[] = {
        {"mean wait, h", [](const OutcomeSums &sums) { return sums.mean_wait_ms / HOUR_MS; }},
        {"mean turnaround, h",
         [](const OutcomeSums &sums) { return sums.mean_turnaround_ms / HOUR_MS; }},
        {"bounded slowdown",
         [](const OutcomeSums &sums) { return sums.mean_bounded_slowdown; }},
    };
    double bars_top =
        TITLE_HEIGHT + 20 + static_cast<double>(over_time.size()) * (PLOT_HEIGHT + PLOT_SPACE);
    Svg svg(WIDTH, static_cast<int>(bars_top) + BARS_HEIGHT + 20);
    svg.text({LEFT, 20}, title, Svg::Anchor::START, true);
    draw_legend(svg, policies);
    double top = TITLE_HEIGHT + 20;
    for (const TimePlot &plot : over_time) {
        draw_over_time(svg, top, policies, plot);
        top += PLOT_HEIGHT + PLOT_SPACE;
    }
    double width = (WIDTH - RIGHT) / 3.0, left = LEFT;
    for (const Metric &metric : metrics) {
        draw_bars(svg, left, bars_top, width - LEFT, policies, metric);
        left += width;
    }
    return svg.str();
}

}  // namespace elastic::rm
