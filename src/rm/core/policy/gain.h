/*
 * The gain of a job from cores.  `fill` gives idle cores to the job with the highest gain, and
 * takes cores from the job with the lowest gain; among equals the smallest job gets, and the
 * largest gives.
 *
 * Equal sharing is the constant case: all gains are equal, and sizes alone decide.
 */

#ifndef ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED

#include <functional>

#include "core/state.h"

namespace elastic::rm {

class Gain {
  public:
    virtual ~Gain() = default;
    /* Gain per core of the difference between `from` and `to` processes of the job, in either
     * order; both are possible sizes of the job.  0 or less: it should not have these cores.
     * Finite; in one unit for all jobs; depends on the state alone. */
    virtual double gain(const State &state, const Job &job, int from, int to) const = 0;
    /* The same for one job and many sizes; valid while the state does not change. */
    virtual std::function<double(int from, int to)> of(const State &state, const Job &job) const
    {
        return [&](int from, int to) { return gain(state, job, from, to); };
    }
    /* The gain is a constant, so that callers can skip it. */
    virtual bool is_constant() const { return false; }
};

const Gain &equal_gain();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED */
