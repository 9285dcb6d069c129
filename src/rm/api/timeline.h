/*
 * Who held which cores when: made of the records, for the Gantt chart.  Bounded: SEGMENTS_MAX that
 * have ended, the newest. One thread.
 */

#ifndef ELASTIC_RM_TIMELINE_H_INCLUDED
#define ELASTIC_RM_TIMELINE_H_INCLUDED

#include <deque>
#include <map>
#include <string>
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
    std::vector<Segment> between(int64_t from_ms, int64_t to_ms, bool &more) const;

  private:
    struct Held {
        int cores_per_process = 1;
        std::map<std::string, Segment> by_node;
    };
    void hold(JobId job, Held &held, const Blocks &blocks, int64_t now_ms);
    void close(Segment &segment, int64_t now_ms);

    std::map<JobId, Held> jobs_;
    std::deque<Segment> ended_;
    int64_t dropped_until_ms_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_TIMELINE_H_INCLUDED */
