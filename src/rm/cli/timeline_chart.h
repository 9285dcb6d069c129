/*
 * The cores of each job over time (GET /v1/timeline), laid out and drawn as text.  Pure.
 * (src/rm/web/chart.js draws the picture.)
 *
 * Every node has one row for each core.  A segment gets as many rows of its node as it has cores;
 * a job that continues after an adaptation stays in its rows, as far as possible.
 */

#ifndef ELASTIC_CLI_TIMELINE_CHART_H_INCLUDED
#define ELASTIC_CLI_TIMELINE_CHART_H_INCLUDED

#include <optional>
#include <set>

#include "cli/output.h"

namespace elastic {

struct Segment {
    std::optional<int64_t> job; /* none: a job of another user */
    std::string name;
    size_t node = 0;            /* index into Timeline::nodes */
    int64_t from_ms = 0, to_ms = 0;
    std::vector<int> row_numbers;     /* of the node, ascending */
};

struct TimelineNode {
    std::string name;
    int cores = 0;
};

struct Timeline {
    std::vector<TimelineNode> nodes;
    std::vector<Segment> segments;      /* by start time */
    int64_t from_ms = 0, to_ms = 0;     /* range of the segments */
    bool is_complete = true;

    int cores() const;
    /* Part of all cores in use at this time. */
    double utilisation_at(int64_t time_ms) const;
};

/* `jobs`: only these (empty: all).  Invalid parts are omitted. */
Timeline read_timeline(const Json &timeline, const std::set<int64_t> &jobs);

/* One line for each core, or for each node if there are many; then the utilisation, and a legend
 * of the jobs. */
std::vector<std::string> draw_text(const Timeline &timeline, size_t columns);

}  // namespace elastic

#endif /* ELASTIC_CLI_TIMELINE_CHART_H_INCLUDED */
