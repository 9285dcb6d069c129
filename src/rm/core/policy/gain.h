/*
 * What cores are worth to a job.  `fill` gives idle cores to whom they are worth most, and takes
 * cores from whom they are worth least; among equals the smallest job gets, and the largest gives.
 *
 * Equal sharing is the constant case: a core is worth the same to everybody, and sizes alone
 * decide.
 */

#ifndef ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED

#include <functional>

#include "core/state.h"

namespace elastic::rm {

class Gain {
  public:
    virtual ~Gain() = default;
    /* What each core is worth that makes the difference between `from` and `to` processes of the
     * job, sizes that it can have, whichever is greater.  0 or less: it is to have none.  Finite;
     * in one unit for all jobs; follows from the state alone. */
    virtual double gain(const State &state, const Job &job, int from, int to) const = 0;
    /* The same of one job, for who asks about many sizes of it; while the state is as it is. */
    virtual std::function<double(int from, int to)> of(const State &state, const Job &job) const
    {
        return [&](int from, int to) { return gain(state, job, from, to); };
    }
    /* It is the same number always, so that nobody need ask. */
    virtual bool is_constant() const { return false; }
};

const Gain &equal_gain();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_GAIN_H_INCLUDED */
