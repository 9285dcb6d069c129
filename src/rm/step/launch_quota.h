/*
 * Bytes that the jobs of each user occupy in the store before they end (scripts, environments,
 * commands), and the number of these jobs.  Pure.
 */

#ifndef ELASTIC_RM_LAUNCH_QUOTA_H_INCLUDED
#define ELASTIC_RM_LAUNCH_QUOTA_H_INCLUDED

#include <map>

#include "core/job.h"

namespace elastic::rm {

class LaunchQuota {
  public:
    void add(JobId job, uint32_t uid, int64_t bytes)
    {
        remove(job);
        sizes_[job] = {uid, bytes};
        users_[uid].jobs++;
        users_[uid].bytes += bytes;
    }
    void remove(JobId job)
    {
        auto found = sizes_.find(job);
        if (found == sizes_.end())
            return;
        auto [uid, bytes] = found->second;
        OfUser &user = users_[uid];
        user.bytes -= bytes;
        if (--user.jobs == 0)
            users_.erase(uid);
        sizes_.erase(found);
    }
    int64_t jobs_of(uint32_t uid) const { return of(uid).jobs; }
    int64_t bytes_of(uint32_t uid) const { return of(uid).bytes; }

  private:
    struct OfUser {
        int64_t jobs = 0, bytes = 0;
    };
    OfUser of(uint32_t uid) const
    {
        auto found = users_.find(uid);
        return found == users_.end() ? OfUser() : found->second;
    }

    std::map<JobId, std::pair<uint32_t, int64_t>> sizes_;
    std::map<uint32_t, OfUser> users_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LAUNCH_QUOTA_H_INCLUDED */
