/* See series.h. */

#include "sim/traces/series.h"

#include <algorithm>
#include <limits>

namespace elastic::rm {

namespace {

/* Sums values over intervals of time.  A value of a whole interval is recorded only at its begin
 * and end, so that a long interval costs no more than a short one. */
class Intervals {
  public:
    Intervals(int64_t from_ms, double interval_ms, size_t count)
        : from_ms_(from_ms), interval_ms_(interval_ms), parts_(count), steps_(count + 1)
    {
    }

    void add(int64_t from_ms, int64_t to_ms, double value)
    {
        double from = position(from_ms), to = position(to_ms);
        if (from >= to)
            return;
        size_t first = whole(from), last = whole(to);
        if (first == last) {
            parts_[first] += value * (to - from);
            return;
        }
        parts_[first] += value * (static_cast<double>(first + 1) - from);
        parts_[last] += value * (to - static_cast<double>(last));
        steps_[first + 1] += value;
        steps_[last] -= value;
    }

    /* The mean of each interval. */
    std::vector<double> means() const
    {
        std::vector<double> means = parts_;
        double level = 0;
        for (size_t i = 0; i < means.size(); i++) {
            level += steps_[i];
            means[i] += level;
        }
        return means;
    }

  private:
    double position(int64_t time_ms) const
    {
        double at = static_cast<double>(time_ms - from_ms_) / interval_ms_;
        return std::clamp(at, 0.0, static_cast<double>(parts_.size()));
    }
    size_t whole(double position) const
    {
        return std::min(static_cast<size_t>(position), parts_.size() - 1);
    }

    int64_t from_ms_;
    double interval_ms_;
    std::vector<double> parts_, steps_;
};

}  // namespace

Series series_of(const Workload &workload, const Outcome &outcome, int64_t cores, size_t intervals)
{
    int64_t length_ms = makespan_ms(workload, outcome);
    if (length_ms == 0 || intervals == 0)
        return {};
    int64_t begin_ms = workload.jobs.front().submit_ms, end_ms = begin_ms + length_ms;
    double interval_ms = static_cast<double>(length_ms) / static_cast<double>(intervals);
    Intervals waiting(begin_ms, interval_ms, intervals), booked = waiting, malleable = waiting,
              sizes = waiting;
    for (size_t i = 0; i < workload.jobs.size(); i++) {
        int64_t start_ms = outcome.jobs[i].start_ms;
        waiting.add(workload.jobs[i].submit_ms, start_ms == NEVER ? end_ms : start_ms, 1);
    }
    /* Each size of a job is valid until the next one, the last until its end. */
    std::vector<const SizeChange *> last(workload.jobs.size());
    auto held = [&](const SizeChange &size, int64_t until_ms) {
        const WorkloadJob &job = workload.jobs[size.job];
        booked.add(size.time_ms, until_ms, double(size.size) * job.spec.cores_per_process);
        if (job.spec.elasticity != Elasticity::MALLEABLE)
            return;
        malleable.add(size.time_ms, until_ms, 1);
        sizes.add(size.time_ms, until_ms, double(size.size) / job.size);
    };
    for (const SizeChange &change : outcome.sizes) {
        if (const SizeChange *before = std::exchange(last[change.job], &change))
            held(*before, change.time_ms);
    }
    for (size_t i = 0; i < last.size(); i++) {
        if (last[i])
            held(*last[i], outcome.jobs[i].end_ms == NEVER ? end_ms : outcome.jobs[i].end_ms);
    }
    Series series{interval_ms, waiting.means(), booked.means(), sizes.means()};
    std::vector<double> running = malleable.means();
    for (size_t i = 0; i < intervals; i++) {
        series.utilisation[i] /= static_cast<double>(cores);
        /* Rounding errors of sums are less than a thousandth of the interval. */
        series.sizes[i] = running[i] < 1e-3 ? std::numeric_limits<double>::quiet_NaN()
                                            : series.sizes[i] / running[i];
    }
    return series;
}

}  // namespace elastic::rm
