/* See jobs.h. */

#include "core/jobs.h"

namespace elastic::rm {

Job &Jobs::change(JobId id)
{
    Job &job = by_id_.at(id)->second;
    keep(id, job);
    return job;
}

Job &Jobs::add(JobId id)
{
    auto [added, is_new] = jobs_.try_emplace(id);
    by_id_[id] = added;
    added->second.id = id;
    return added->second;
}

void Jobs::forget(JobId id)
{
    auto known = by_id_.find(id);
    if (known == by_id_.end())
        return;
    keep(id, known->second->second);
    jobs_.erase(known->second);
    by_id_.erase(known);
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
