/* See measured_worth.h. */

#include "core/policy/measured_worth.h"

#include <cmath>

#include "core/policy/measured_exchange.h"

namespace elastic::rm {

namespace {

constexpr double GAIN_OF_NOTHING = 1e-12;

/* The gain of each core between two sizes. */
double gain_of(const Scaling &scaling, const Unit &unit, int from, int to)
{
    int small = std::min(from, to), large = std::max(from, to);
    double ratio = relative_speed(scaling, large) / relative_speed(scaling, small);
    /* Beyond its end a job may have cores that no other job can use. */
    double gain = std::max(std::log(ratio), GAIN_OF_NOTHING);
    return gain * unit.processes / (double(large - small) * unit.cores);
}

class MeasuredGain : public Gain {
  public:
    double gain(const State &state, const Job &job, int from, int to) const override
    {
        if (from == job.size()) {
            const SizeWorth &worth = worth_of(state, job);
            if (to == worth.more || to == worth.less)
                return to == worth.more ? worth.next : worth.last;
        }
        return gain_of(scaling_of(job), unit_of(state, job.spec, job.blocks), from, to);
    }
    std::function<double(int, int)> of(const State &state, const Job &job) const override
    {
        return [scaling = scaling_of(job), unit = unit_of(state, job.spec, job.blocks)](
                   int from, int to) { return gain_of(scaling, unit, from, to); };
    }
};

}  // namespace

SizeWorth find_worth(const State &state, const Job &job)
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    const Scaling &scaling = numbers.scaling;
    SizeWorth worth;
    worth.is_measured = numbers.is_measured;
    worth.most = measured_most(numbers, Floor::IDLE);
    worth.most_efficient = measured_most(numbers, Floor::EFFICIENT);
    worth.exchanged = most_exchanged(job.spec, numbers);
    int64_t least = measured_least(numbers, Floor::IDLE);
    int64_t own = measured_least(numbers, Floor::EFFICIENT);
    worth.reduced = least == 0 ? 0 : size_at_least(job.spec, static_cast<int>(least));
    worth.own = own == 0 ? scaling.size
                         : std::min(size_at_least(job.spec, static_cast<int>(own)), scaling.size);
    int size = scaling.size;
    worth.more = one_unit_more(job.spec, numbers.unit, size);
    worth.less = one_unit_less(job.spec, numbers.unit, size);
    worth.doubtful = is_doubtful(numbers) && worth.less > 0;
    if (worth.more > 0)
        worth.next = gain_of(scaling, numbers.unit, size, worth.more);
    if (worth.less > 0)
        worth.last = gain_of(scaling, numbers.unit, size, worth.less);
    return worth;
}

const SizeWorth &worth_of(const State &state, const Job &job)
{
    if (!job.worth)
        job.worth = find_worth(state, job);
    return *job.worth;
}

const Gain &measured_gain()
{
    static const MeasuredGain gain;
    return gain;
}

}  // namespace elastic::rm
