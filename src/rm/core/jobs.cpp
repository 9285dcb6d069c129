/* See jobs.h. */

#include "core/jobs.h"

namespace elastic::rm {

Job &Jobs::change(JobId id)
{
    Job &job = jobs_.at(id);
    keep(id, job);
    return job;
}

Job &Jobs::add(JobId id)
{
    Job &job = jobs_[id];
    job.id = id;
    return job;
}

void Jobs::forget(JobId id)
{
    auto found = jobs_.find(id);
    if (found == jobs_.end())
        return;
    keep(id, found->second);
    jobs_.erase(found);
}

void Jobs::keep(JobId id, const Job &job)
{
    if (id >= next_ && id <= last_)
        kept_.try_emplace(id, job);
}

void Jobs::begin_picture()
{
    kept_.clear();
    next_ = 1;
    last_ = jobs_.empty() ? 0 : jobs_.rbegin()->first;
}

bool Jobs::next_of_picture(size_t jobs_max, const std::function<void(const Job &)> &look)
{
    auto job = jobs_.lower_bound(next_);
    for (; jobs_max > 0 && next_ <= last_; jobs_max--) {
        auto kept = kept_.begin();
        bool is_there = job != jobs_.end() && job->first <= last_;
        if (kept != kept_.end() && (!is_there || kept->first <= job->first)) {
            job = is_there && job->first == kept->first ? std::next(job) : job;
            next_ = kept->first + 1;
            look(kept->second);
            kept_.erase(kept);
        } else if (is_there) {
            next_ = job->first + 1;
            look(job->second);
            ++job;
        } else {
            next_ = last_ + 1;
        }
    }
    return next_ <= last_;
}

}  // namespace elastic::rm
