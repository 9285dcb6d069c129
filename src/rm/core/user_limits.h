/*
 * The limits of users and of their groups for jobs on nodes (Config, GroupLimit): now, or at a
 * later time, after starts and ends that are assumed (forecast.h).  Pure.
 */

#ifndef ELASTIC_RM_CORE_USER_LIMITS_H_INCLUDED
#define ELASTIC_RM_CORE_USER_LIMITS_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

class UserLimits {
  public:
    explicit UserLimits(const State &state) : state_(state), now_ms_(state.now_ms) {}

    void set_time(int64_t now_ms) { now_ms_ = now_ms; }
    /* A job with these cores starts (1) or ends (-1). */
    void count(const JobSpec &spec, int64_t cores, int sign);

    /* Number of further cores that all limits allow. */
    int64_t cores_left(const JobSpec &spec) const;
    /* Whether the user may run one more job, whatever its size. */
    bool allow_a_job_of(uint32_t uid) const;
    /* Whether the group may run one more job, with these cores. */
    bool allow_in_group(const std::string &name, int64_t cores) const;
    /* Whether all may. */
    bool allow(const JobSpec &spec, int64_t cores) const;
    /* When the first of the budgets that are used up is renewed; NEVER: none is. */
    int64_t budgets_change_ms() const;

  private:
    struct Use {
        int64_t running = 0, cores = 0;
    };
    Use of_user(uint32_t uid) const;
    Use of_group(const std::string &name) const;
    int64_t cores_left_of_user(uint32_t uid) const;
    int64_t cores_left_of_group(const std::string &name) const;
    bool is_spent(const GroupLimit &limit) const;

    const State &state_;
    int64_t now_ms_;
    /* changes that are assumed */
    std::map<uint32_t, Use> users_;
    std::map<std::string, Use> groups_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_USER_LIMITS_H_INCLUDED */
