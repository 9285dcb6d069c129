/*
 * For tests: a running job whose speed follows a known model, and the reports of its step.
 */

#ifndef ELASTIC_RM_CORE_SAMPLED_PROGRAM_H_INCLUDED
#define ELASTIC_RM_CORE_SAMPLED_PROGRAM_H_INCLUDED

#include <functional>
#include <random>

#include "core/core_driver.h"

namespace elastic::rm {

class SampledProgram {
  public:
    using Law = std::function<double(int)>;

    /* `speed` of one process is 1; MPI takes the part `share` of all time at a size, by default
     * the difference to a proportional speed-up. */
    SampledProgram(CoreDriver &driver, JobId id, Law speed, Law share = nullptr)
        : driver_(driver), id_(id), speed_(std::move(speed)), share_(std::move(share))
    {
        if (!share_)
            share_ = [this](int size) { return 1 - speed_(size) / size; };
    }

    /* Simulates this time up to the driver's present time, and reports a sample; each value has
     * an error of up to `noise`. */
    void sample(int64_t ms, double noise = 0)
    {
        const Job &job = driver_.job(id_);
        if (job.epoch != epoch_) {
            epoch_ = job.epoch;
            epoch_ms_ = probes_ = 0;
            sums_ = {};
        }
        int size = job.size();
        double speed = speed_(size) * error(noise),
               share = std::clamp(share_(size) * error(noise), 0.0, 1.0);
        epoch_ms_ += ms;
        probes_ += static_cast<int64_t>(static_cast<double>(ms) * speed / ROUND_MS);
        sums_.iterations = probes_ * size;
        sums_.loop_us += ms * 1000 * size;
        sums_.mpi_us += static_cast<int64_t>(static_cast<double>(ms) * 1000 * size * share);
        driver_.send(
            StepSampled{id_,
                        job.step,
                        {epoch_, size, size, probes_, epoch_ms_, {{"probe", "", sums_, 0, PPM}},
                         position}});
    }

    /* Other errors than those of a new program. */
    void seed(uint64_t number) { random_.seed(number); }

    std::optional<PhasePosition> position;    /* the position that it reports */

  private:
    static constexpr double ROUND_MS = 100; /* of one process */
    double error(double noise)
    {
        return 1 + noise * std::uniform_real_distribution<double>(-1, 1)(random_);
    }

    CoreDriver &driver_;
    JobId id_;
    Law speed_, share_;
    uint64_t epoch_ = 0;
    int64_t epoch_ms_ = 0, probes_ = 0;
    LoopSums sums_;
    std::mt19937_64 random_{1};
};

inline SampledProgram::Law amdahl(double serial)
{
    return [serial](int size) { return 1 / (serial + (1 - serial) / size); };
}

/* Speed-up is proportional up to this number of processes, and constant beyond it. */
inline SampledProgram::Law scales_to(int most)
{
    return [most](int size) { return std::min(size, most); };
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SAMPLED_PROGRAM_H_INCLUDED */
