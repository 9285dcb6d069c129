/* See jobs.h. */

#include "core/jobs.h"

namespace elastic::rm {

Job &Jobs::change(JobId id)
{
    Job &job = (*by_id_.find(id))->second;
    keep(id, job);
    return job;
}

Job &Jobs::add(JobId id)
{
    auto [added, is_new] = jobs_.try_emplace(id);
    by_id_.add(id).first = added;
    added->second.id = id;
    return added->second;
}

void Jobs::discard(JobId id)
{
    Map::iterator *known = by_id_.find(id);
    if (!known)
        return;
    keep(id, (*known)->second);
    jobs_.erase(*known);
    by_id_.erase(id);
}

void Jobs::keep(JobId id, const Job &job)
{
    if (id >= next_ && id <= last_)
        copies_.try_emplace(id, job);
}

void Jobs::begin_picture()
{
    copies_.clear();
    next_ = 1;
    last_ = jobs_.empty() ? 0 : jobs_.rbegin()->first;
}

bool Jobs::next_of_picture(size_t jobs_max, const std::function<void(const Job &)> &visit)
{
    auto job = jobs_.lower_bound(next_);
    for (; jobs_max > 0 && next_ <= last_; jobs_max--) {
        auto copy = copies_.begin();
        bool is_there = job != jobs_.end() && job->first <= last_;
        if (copy != copies_.end() && (!is_there || copy->first <= job->first)) {
            job = is_there && job->first == copy->first ? std::next(job) : job;
            next_ = copy->first + 1;
            visit(copy->second);
            copies_.erase(copy);
        } else if (is_there) {
            next_ = job->first + 1;
            visit(job->second);
            ++job;
        } else {
            next_ = last_ + 1;
        }
    }
    return next_ <= last_;
}

}  // namespace elastic::rm
