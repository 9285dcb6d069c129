/*
 * The jobs that the core knows, by number.
 *
 * A snapshot of all jobs can be taken in parts while they change.  change() and discard() are
 * called before a job changes: they store a copy of the job for a snapshot that is in progress.  A
 * snapshot costs copies of those jobs alone that change meanwhile.
 */

#ifndef ELASTIC_RM_CORE_JOBS_H_INCLUDED
#define ELASTIC_RM_CORE_JOBS_H_INCLUDED

#include <functional>
#include <map>

#include "core/job_map.h"

namespace elastic::rm {

class Jobs {
    using Map = std::map<JobId, Job>;

  public:
    Jobs() = default;
    Jobs(Jobs &&) = default;
    Jobs &operator=(Jobs &&) = default;

    using const_iterator = Map::const_iterator;

    const_iterator begin() const { return jobs_.begin(); }
    const_iterator end() const { return jobs_.end(); }
    auto rbegin() const { return jobs_.rbegin(); }
    auto rend() const { return jobs_.rend(); }
    const_iterator find(JobId id) const
    {
        const Map::iterator *known = by_id_.find(id);
        return known ? const_iterator(*known) : jobs_.end();
    }
    const_iterator lower_bound(JobId id) const { return jobs_.lower_bound(id); }
    /* It must exist. */
    const Job &at(JobId id) const { return (*by_id_.find(id))->second; }
    size_t size() const { return jobs_.size(); }
    bool empty() const { return jobs_.empty(); }

    /* The job for a change, valid until the end of the event; it must exist. */
    Job &change(JobId id);
    /* Adds a new job. */
    Job &add(JobId id);
    void discard(JobId id);

    /* Begins a snapshot as of now.  Only one is in progress: this drops the former one. */
    void begin_picture();
    /* Calls back for the next jobs of the snapshot, at most `jobs_max`, in the order of their
     * numbers.  False: there are no more. */
    bool next_of_picture(size_t jobs_max, const std::function<void(const Job &)> &visit);

  private:
    void keep(JobId id, const Job &job);

    Map jobs_;
    /* read much more often than all else */
    JobMap<Map::iterator> by_id_;
    JobId next_ = 1, last_ = 0;         /* numbers that the snapshot still lacks */
    Map copies_;                          /* old content of these jobs */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOBS_H_INCLUDED */
