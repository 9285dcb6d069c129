/* See timeline_chart.h. */

#include "cli/timeline_chart.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace elastic {

namespace {

constexpr size_t TEXT_ROWS_MAX = 40;    /* more cores: a line for each node */
constexpr int CORES_MAX = 1 << 16;      /* of a node; the timeline is external input */

/* ---- layout ---------------------------------------------------------------------------------- */

/* Assigns rows to the segments of one node, in the order of their start times. */
class RowNumbers {
  public:
    explicit RowNumbers(int cores) : free_at_(static_cast<size_t>(cores), INT64_MIN) {}

    std::vector<int> take(const Segment &segment, int cores)
    {
        std::vector<int> row_numbers;
        auto is_free = [&](int row_number) {
            return free_at_[static_cast<size_t>(row_number)] <= segment.from_ms &&
                   std::find(row_numbers.begin(), row_numbers.end(), row_number) ==
                       row_numbers.end();
        };
        auto take_if = [&](int row_number) {
            if (static_cast<int>(row_numbers.size()) < cores && is_free(row_number))
                row_numbers.push_back(row_number);
        };
        for (int row_number : had_[segment.job.value_or(-1)])
            take_if(row_number);
        for (int row_number = 0; row_number < static_cast<int>(free_at_.size()); row_number++)
            take_if(row_number);
        std::sort(row_numbers.begin(), row_numbers.end());
        for (int row_number : row_numbers)
            free_at_[static_cast<size_t>(row_number)] = segment.to_ms;
        had_[segment.job.value_or(-1)] = row_numbers;
        return row_numbers;
    }

  private:
    std::vector<int64_t> free_at_;
    std::map<int64_t, std::vector<int>> had_;   /* the last rows of each job */
};

void lay_out(Timeline &timeline, const std::vector<int> &cores)
{
    std::vector<RowNumbers> row_numbers;
    for (const TimelineNode &node : timeline.nodes)
        row_numbers.emplace_back(node.cores);
    for (size_t i = 0; i < timeline.segments.size(); i++) {
        Segment &segment = timeline.segments[i];
        segment.row_numbers = row_numbers[segment.node].take(segment, cores[i]);
    }
}

}  // namespace

int Timeline::cores() const
{
    int sum = 0;
    for (const TimelineNode &node : nodes)
        sum += node.cores;
    return sum;
}

double Timeline::utilisation_at(int64_t time_ms) const
{
    size_t used = 0;
    for (const Segment &segment : segments) {
        if (segment.from_ms <= time_ms && time_ms < segment.to_ms)
            used += segment.row_numbers.size();
    }
    return cores() > 0 ? static_cast<double>(used) / cores() : 0;
}

Timeline read_timeline(const Json &json, const std::set<int64_t> &jobs)
{
    Timeline timeline;
    std::map<std::string, size_t> index;
    for (const Json &node : list_of(json, "nodes")) {
        int cores =
            static_cast<int>(std::clamp<int64_t>(integer_or(node, "cores", 0), 0, CORES_MAX));
        index[string_or(node, "name", "")] = timeline.nodes.size();
        timeline.nodes.push_back({printable(string_or(node, "name", "?")), cores});
    }
    int64_t end_ms = integer_or(json, "to_ms", 0);
    std::vector<std::pair<Segment, int>> found;
    for (const Json &entry : list_of(json, "segments")) {
        auto node = index.find(string_or(entry, "node", ""));
        Segment segment;
        if (entry.contains("job") && entry["job"].is_number())
            segment.job = integer_or(entry, "job", 0);
        segment.name = printable(string_or(entry, "name", ""));
        segment.from_ms = integer_or(entry, "from_ms", 0);
        segment.to_ms = integer_or(entry, "to_ms", end_ms);
        bool wanted = jobs.empty() || (segment.job && jobs.contains(*segment.job));
        if (node == index.end() || segment.to_ms <= segment.from_ms || !wanted)
            continue;
        segment.node = node->second;
        found.emplace_back(segment, static_cast<int>(std::clamp<int64_t>(
                                        integer_or(entry, "cores", 0), 0, CORES_MAX)));
    }
    std::stable_sort(found.begin(), found.end(), [](const auto &x, const auto &y) {
        return x.first.from_ms < y.first.from_ms;
    });
    std::vector<int> cores;
    for (auto &[segment, wanted] : found) {
        timeline.from_ms = timeline.segments.empty() ? segment.from_ms : timeline.from_ms;
        timeline.to_ms = std::max(timeline.to_ms, segment.to_ms);
        timeline.segments.push_back(segment);
        cores.push_back(wanted);
    }
    timeline.is_complete = !bool_or(json, "more", false);
    lay_out(timeline, cores);
    return timeline;
}

/* ---- text ------------------------------------------------------------------------------------ */

namespace {

/* A sign for each job, in the order of first occurrence. */
std::map<int64_t, char> signs_of(const Timeline &timeline)
{
    static const std::string SIGNS =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    std::map<int64_t, char> signs;
    for (const Segment &segment : timeline.segments) {
        if (segment.job && !signs.contains(*segment.job))
            signs.emplace(*segment.job, SIGNS[signs.size() % SIGNS.size()]);
    }
    return signs;
}

/* The time at the middle of a column. */
int64_t time_of(const Timeline &timeline, size_t column, size_t columns)
{
    double part = (static_cast<double>(column) + 0.5) / static_cast<double>(columns);
    return timeline.from_ms +
           static_cast<int64_t>(part * static_cast<double>(timeline.to_ms - timeline.from_ms));
}

size_t column_of(const Timeline &timeline, int64_t time_ms, size_t columns)
{
    double span = std::max<double>(1, static_cast<double>(timeline.to_ms - timeline.from_ms));
    double part = static_cast<double>(time_ms - timeline.from_ms) / span;
    return static_cast<size_t>(
        std::llround(std::clamp(part, 0.0, 1.0) * static_cast<double>(columns)));
}

std::string utilisation_line(const Timeline &timeline, size_t columns)
{
    static const char *const LEVELS[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string line;
    for (size_t column = 0; column < columns; column++) {
        double part = timeline.utilisation_at(time_of(timeline, column, columns));
        line += LEVELS[static_cast<size_t>(std::clamp(std::lround(part * 8), 0L, 8L))];
    }
    return line;
}

/* The rows of one node: one for each core, or a single one that shows the segment that began
 * last. */
std::vector<std::string> node_rows(const Timeline &timeline, size_t node, size_t columns,
                                   bool by_core, const std::map<int64_t, char> &signs)
{
    size_t cores = static_cast<size_t>(timeline.nodes[node].cores);
    std::vector<std::string> rows(by_core ? cores : 1, std::string(columns, '.'));
    for (const Segment &segment : timeline.segments) {
        if (segment.node != node)
            continue;
        size_t from = column_of(timeline, segment.from_ms, columns),
               to = column_of(timeline, segment.to_ms, columns);
        char sign = segment.job ? signs.at(*segment.job) : '#';
        for (int row_number : segment.row_numbers) {
            std::string &row = rows[by_core ? static_cast<size_t>(row_number) : 0];
            std::fill(row.begin() + static_cast<long>(from), row.begin() + static_cast<long>(to),
                      sign);
        }
    }
    return rows;
}

}  // namespace

std::vector<std::string> draw_text(const Timeline &timeline, size_t columns)
{
    if (timeline.segments.empty())
        return {"(nothing has run)"};
    size_t label = 4;
    for (const TimelineNode &node : timeline.nodes)
        label = std::max(label, columns_of(node.name));
    columns = std::max<size_t>(columns, label + 20) - label - 2;
    auto signs = signs_of(timeline);
    bool by_core = static_cast<size_t>(timeline.cores()) <= TEXT_ROWS_MAX;
    std::vector<std::string> lines;
    auto add = [&](const std::string &head, const std::string &row) {
        lines.push_back(head + std::string(label - columns_of(head), ' ') + " |" + row);
    };
    for (size_t node = 0; node < timeline.nodes.size(); node++) {
        std::string head = timeline.nodes[node].name;
        for (const std::string &row : node_rows(timeline, node, columns, by_core, signs))
            add(std::exchange(head, ""), row);
    }
    add("used", utilisation_line(timeline, columns));
    add("", "0:00" +
                std::string(columns - 4 - format_duration(timeline.to_ms - timeline.from_ms).size(),
                            ' ') +
                format_duration(timeline.to_ms - timeline.from_ms));
    std::string legend;
    std::set<int64_t> reported;
    for (const Segment &segment : timeline.segments) {
        if (segment.job && reported.insert(*segment.job).second)
            legend += std::string(legend.empty() ? "" : "  ") + signs.at(*segment.job) + "=" +
                      std::to_string(*segment.job) + ":" + segment.name;
    }
    lines.push_back(legend);
    return lines;
}

}  // namespace elastic
