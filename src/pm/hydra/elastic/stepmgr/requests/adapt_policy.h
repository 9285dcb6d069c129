/*
 * --adapt-policy: sizes without end, within --adapt-range.
 *   increase-decrease   one more each time up to the maximum, then one fewer down to the minimum
 *   random[:SEED[:DEVIATION[:PROBABILITY]]]     normally distributed differences, clamped to the
 *                                               range, never zero;
 *                       each offer is made with this probability (default 1)
 * The two managers of libmpidynres (SM1).  Pure and reproducible: the same seed gives the same
 * sizes on every machine.
 */

#ifndef ELASTIC_POLICY_H_INCLUDED
#define ELASTIC_POLICY_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/program_sizes.h"
#include "base/result.h"
#include "stepmgr/common/schedule.h"

namespace elastic {

class Policy {
  public:
    static Result<Policy> parse(std::string_view text, Range range, uint64_t seed);

    /* Whether this offer is skipped; called once before each offer. */
    bool skips();

    /* The size to offer to a world of `present` processes.  Nothing: the range contains no other
     * size that the program can use. */
    std::optional<int> next_size(int present, const ProgramSizes *rule = nullptr);

    /* limit: range of later sizes.  The others set how sizes are drawn at random.  False: the
     * policy has no such parameter, or the value is invalid. */
    void limit(Range range) { range_ = range; }
    bool set_deviation(double deviation);
    bool set_probability(double probability);

  private:
    enum class Kind { INCREASE_DECREASE, RANDOM };

    Policy(Kind kind, Range range, uint64_t seed);
    static Result<Policy> parse_random(std::string_view text, Range range, uint64_t seed);

    int size_request(int present);
    std::optional<int> usable(int present, int size_request, const ProgramSizes &rule) const;
    int next_stair(int present);
    int next_random(int present);
    double uniform();           /* in (0, 1] */
    double normal();            /* mean 0, deviation 1 */

    Kind kind_;
    Range range_;
    uint64_t state_;
    bool rising_ = true;
    double deviation_, probability_ = 1;
};

}  // namespace elastic

#endif /* ELASTIC_POLICY_H_INCLUDED */
