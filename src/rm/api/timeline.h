/*
 * Who held which cores when: made of the records, for the Gantt chart and for what jobs have used.  Bounded:
 * SEGMENTS_MAX that have ended, the newest.  One thread.
 */

#ifndef ELASTIC_RM_TIMELINE_H_INCLUDED
#define ELASTIC_RM_TIMELINE_H_INCLUDED

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/action.h"
#include "core/job.h"

namespace elastic::rm {

struct Segment {
    JobId job = 0;
    std::string node;
    int cores = 0;
    int64_t from_ms = 0, to_ms = NEVER; /* NEVER: still so */
};

class Timeline {
  public:
    static constexpr size_t SEGMENTS_MAX = 100000;

    void add(const Record &record);
    /* Those that touch the time, oldest first; `more`: there were older ones that are no longer kept. */
    using Wanted = std::function<bool(const Segment &)>;
    std::vector<Segment> between(int64_t from_ms, int64_t to_ms, bool &more,
                                 const Wanted &wanted = nullptr) const;

    /* For each of so many groups of nodes: the cores that were held, on average over each of `columns` equal parts of
     * the time.  `group_of`: the group of a node; nodes that are not in it do not count. */
    using GroupOf = std::unordered_map<std::string, size_t>;
    std::vector<std::vector<double>> use(int64_t from_ms, int64_t to_ms, size_t columns, const GroupOf &group_of,
                                         size_t groups) const;
    /* Of the oldest that is kept; NEVER: there is none. */
    int64_t first_ms() const;

    /* Core-milliseconds of a job that has not ended, until now. */
    int64_t core_ms(JobId job, int64_t now_ms) const;
    /* Of one that has ended, as far as its records were seen; once. */
    int64_t take_core_ms(JobId job);

  private:
    struct Held {
        int cores_per_process = 1;
        std::map<std::string, Segment> by_node;
        int64_t core_ms = 0;    /* of segments that have ended */
    };
    void hold(JobId job, Held &held, const Blocks &blocks, int64_t now_ms);
    void close(Held &held, Segment &segment, int64_t now_ms);
    void each(const std::function<void(const Segment &)> &visit) const;

    std::map<JobId, Held> jobs_;
    std::deque<Segment> ended_;
    std::unordered_map<JobId, int64_t> core_ms_of_ended_;
    int64_t dropped_until_ms_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_TIMELINE_H_INCLUDED */
