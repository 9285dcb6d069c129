/*
 * The cores of each job over time: computed from the records, for the Gantt chart and for the use
 * of jobs.  Bounded: the newest SEGMENTS_MAX segments that have ended.  One thread.
 */

#ifndef ELASTIC_RM_TIMELINE_H_INCLUDED
#define ELASTIC_RM_TIMELINE_H_INCLUDED

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/action.h"
#include "core/job.h"

namespace elastic::rm {

struct Segment {
    /* 1, 2, 3, ... in the order of their start times; valid only in this process */
    uint64_t number = 0;
    JobId job = 0;
    NodeName node;
    int cores = 0;
    int64_t from_ms = 0, to_ms = NEVER; /* NEVER: still in use */
    std::optional<uint32_t> uid = {};   /* user of the job, if its submission was recorded */
};

/* A value for each of some nodes, by NodeName::number. */
class NodeTable {
  public:
    static constexpr uint32_t NONE = UINT32_MAX;

    void set(const NodeName &node, uint32_t value)
    {
        values_.resize(std::max<size_t>(values_.size(), node.number() + 1), NONE);
        values_[node.number()] = value;
    }
    uint32_t of(const NodeName &node) const
    {
        return node.number() < values_.size() ? values_[node.number()] : NONE;
    }
    bool contains(const NodeName &node) const { return of(node) != NONE; }

  private:
    std::vector<uint32_t> values_;
};

class Timeline {
  public:
    static constexpr size_t SEGMENTS_MAX = 100000;

    void add(const Record &record);
    struct Query {
        int64_t from_ms = 0, to_ms = INT64_MAX;
        const NodeTable *nodes = nullptr;       /* only these nodes; null: all */
        uint64_t before = UINT64_MAX;           /* only segments with smaller numbers */
        size_t limit = SEGMENTS_MAX;
    };
    struct Found {
        std::vector<Segment> segments;          /* in the order of their numbers */
        bool older = false;                     /* there are more, with smaller numbers */
        bool discarded = false;                 /* there were more, which are no longer stored */
    };
    /* The newest ones that overlap the time. */
    Found between(const Query &query) const;

    /* For each group of nodes: the average of the used cores in each of `columns` equal parts of
     * the time.  `group_of`: the group of a node; nodes without a group do not count. */
    std::vector<std::vector<double>> use(int64_t from_ms, int64_t to_ms, size_t columns,
                                         const NodeTable &group_of, size_t groups) const;
    /* Time of the oldest one; NEVER: there is none. */
    int64_t first_ms() const;

    /* Core-milliseconds of a job that has not ended, until now. */
    int64_t core_ms(JobId job, int64_t now_ms) const;
    /* The same for an ended job, from its recorded part; can be read once. */
    int64_t take_core_ms(JobId job);

  private:
    struct Submitted {
        int cores_per_process = 1;
        std::optional<uint32_t> uid;
    };
    struct Held : Submitted {
        std::map<uint32_t, Segment> by_node;    /* by NodeName::number */
        int64_t core_ms = 0;    /* of segments that have ended */
    };
    Held &held_by(JobId job);
    void hold(JobId job, Held &held, const Blocks &blocks, int64_t now_ms);
    void close(Held &held, Segment &segment, int64_t now_ms);
    template <class Visit> void each(Visit visit) const;

    std::map<JobId, Held> jobs_; /* jobs that hold cores, or have held some and have not ended */
    std::map<JobId, Submitted> submitted_;      /* jobs that have not held any cores yet */
    std::deque<Segment> ended_;
    std::map<JobId, int64_t> core_ms_of_ended_;
    int64_t dropped_until_ms_ = 0;
    uint64_t last_number_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_TIMELINE_H_INCLUDED */
