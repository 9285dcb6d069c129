/*
 * Policy `measured` on random mixtures of programs: the sizes come near to those at which the sum
 * of the logarithms of speed is greatest, in a few changes, and stay there.
 *
 * A mixture: 2 to 8 programs on 8 to 64 cores.  The speed-up of each is linear or Amdahl's up to
 * some size between 1 and 32, and constant beyond.  A round of one process takes 10 ms to 5 s, and
 * is wrong by up to 20 %.  A third of the programs spend 2 % of their time in MPI at each size, the
 * others spend in MPI the time that they lose against a linear speed-up.
 */

#include <cmath>

#include "core/policy/policy_measured.h"
#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

constexpr int64_t SAMPLE_MS = 60000; /* the default of monitor.interval */
constexpr int CHANGES_MAX = 8;       /* of each job */

struct Program {
    double serial = 0;   /* of one process */
    int end = 1;         /* more processes give no gain */
    double round_ms = 0; /* of one process */
    bool untold = false; /* its MPI time does not show how far it scales */
};

SampledProgram::Law law_of(const Program &program)
{
    return [law = amdahl(program.serial), end = program.end](int size) {
        return law(std::min(size, end));
    };
}

using Sizes = std::vector<int>;

struct Mixture {
    int cores = 0;
    double noise = 0; /* of a round */
    std::vector<Program> programs;

    explicit Mixture(uint64_t seed)
    {
        std::mt19937_64 random(seed);
        auto upto = [&](int most) {
            return static_cast<int>(random() % static_cast<uint64_t>(most + 1));
        };
        auto real = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
        int count = 2 + upto(6);
        cores = 8 * (1 + upto(7));
        noise = 0.2 * real();
        for (int i = 0; i < count; i++) {
            Program program;
            program.serial = upto(1) ? 0 : 0.001 * std::pow(100, real());
            program.end = 1 + upto(31);
            program.round_ms = 10 * std::pow(500, real());
            program.untold = upto(2) == 0;
            programs.push_back(program);
        }
    }
    double value(const Sizes &sizes) const
    {
        double sum = 0;
        for (size_t i = 0; i < sizes.size(); i++)
            sum += std::log(law_of(programs[i])(sizes[i]));
        return sum;
    }
    /* Each step goes to the job with the highest gain: the logarithms are concave. */
    Sizes best() const
    {
        Sizes sizes(programs.size(), 1);
        for (int left = cores - static_cast<int>(sizes.size()); left > 0; left--) {
            double most = 0;
            size_t who = 0;
            for (size_t i = 0; i < sizes.size(); i++) {
                SampledProgram::Law law = law_of(programs[i]);
                double gain = std::log(law(sizes[i] + 1) / law(sizes[i]));
                if (gain > most) {
                    most = gain;
                    who = i;
                }
            }
            if (most == 0)
                break;
            sizes[who]++;
        }
        return sizes;
    }
};

class MixedMachine {
  public:
    /* `standstill_ms`: the median of the changes; 0: almost none. */
    MixedMachine(const Mixture &mixture, uint64_t seed, double standstill_ms)
        : mixture_(mixture), driver_(PolicyKind::MEASURED, 1, mixture.cores),
          standstill_ms_(standstill_ms), random_(seed)
    {
        for (const Program &program : mixture.programs) {
            ids_.push_back(driver_.submit(malleable(1, mixture.cores)));
            SampledProgram::Law share;
            if (program.untold)
                share = [](int) { return 0.02; };
            programs_.emplace_back(driver_, ids_.back(), law_of(program), share);
            programs_.back().seed(seed * 100 + ids_.size());
            changes_.push_back(0);
            stabilize();
        }
        changes_.assign(ids_.size(), 0);
    }
    void go_on(int samples)
    {
        for (int sample = 0; sample < samples; sample++) {
            driver_.wait(SAMPLE_MS);
            stabilize();
            for (size_t i = 0; i < ids_.size(); i++) {
                const Program &program = mixture_.programs[i];
                double rounds = law_of(program)(driver_.job(ids_[i]).size()) * SAMPLE_MS /
                                program.round_ms;
                programs_[i].sample(SAMPLE_MS, mixture_.noise / std::sqrt(rounds));
                stabilize();
            }
        }
    }
    Sizes sizes() const
    {
        Sizes sizes;
        for (JobId id : ids_)
            sizes.push_back(driver_.job(id).size());
        return sizes;
    }
    const std::vector<int> &changes() const { return changes_; }

  private:
    void stabilize()
    {
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = 0; i < ids_.size(); i++) {
                JobState state = driver_.job(ids_[i]).state;
                if (state == JobState::STARTING)
                    driver_.run(ids_[i]);
                else if (state == JobState::ADAPTING) {
                    driver_.commit(ids_[i], true, standstill_ms());
                    changes_[i]++;
                } else
                    continue;
                changed = true;
            }
        }
    }

    int64_t standstill_ms()
    {
        double factor = std::pow(4, std::uniform_real_distribution<double>(-1, 1)(random_));
        return std::max<int64_t>(std::llround(standstill_ms_ * factor), 1);
    }

    const Mixture &mixture_;
    CoreDriver driver_;
    double standstill_ms_;
    std::mt19937_64 random_;
    std::vector<JobId> ids_;
    std::deque<SampledProgram> programs_;
    std::vector<int> changes_;
};

struct Outcome {
    Sizes best, sizes;
    double loss = 0;   /* of the sum of the logarithms of speed */
    bool near = true;  /* each size is at most 1 off; cores that no job can use may be anywhere */
    bool quick = true; /* at most CHANGES_MAX changes of each job */
    bool is_stable = true; /* at most one more of each in 100 samples */
};

Outcome run(uint64_t seed, double standstill_ms)
{
    Mixture mixture(seed);
    MixedMachine machine(mixture, seed, standstill_ms);
    int jobs = static_cast<int>(mixture.programs.size());
    machine.go_on(2 * CHANGES_MAX + 4 * jobs);
    Outcome outcome{mixture.best(), machine.sizes()};
    std::vector<int> changes = machine.changes();
    machine.go_on(100);
    bool all_used =
        std::accumulate(outcome.best.begin(), outcome.best.end(), 0) == mixture.cores;
    for (size_t i = 0; i < changes.size(); i++) {
        int more = outcome.sizes[i] - outcome.best[i];
        outcome.near = outcome.near && more >= -1 && (more <= 1 || !all_used);
        outcome.quick = outcome.quick && changes[i] <= CHANGES_MAX;
        outcome.is_stable = outcome.is_stable && machine.changes()[i] - changes[i] <= 1;
    }
    outcome.loss = mixture.value(outcome.best) - mixture.value(outcome.sizes);
    return outcome;
}

/* How many of 50 mixtures keep all three conditions. */
int count_good(double standstill_ms, double loss_max)
{
    constexpr int MIXTURES = 50;
    int good = 0;
    for (uint64_t seed = 1; seed <= MIXTURES; seed++) {
        Outcome outcome = run(seed, standstill_ms);
        SCOPED_TRACE(testing::Message() << "seed " << seed << ": best "
                                        << testing::PrintToString(outcome.best) << ", found "
                                        << testing::PrintToString(outcome.sizes));
        EXPECT_LT(outcome.loss, loss_max) << "as a part of one job's speed";
        good += outcome.near && outcome.quick && outcome.is_stable;
    }
    testing::Test::RecordProperty("kept", good);
    return good;
}

/* Where a curve is flat noise decides on the last process: such a mixture may miss the best sizes
 * by 2, but loses next to nothing by that. */
TEST(MixturesTest, random_mixtures_come_near_the_best_sizes_in_few_changes_and_stay)
{
    EXPECT_GE(count_good(0, 0.07), 49) << "of 50";
}

/* Then growths pay later, and the jobs at different times: what a job releases is for another one
 * that can have it now. */
TEST(MixturesTest, long_standstills_cause_no_further_changes)
{
    EXPECT_GE(count_good(2000, 0.15), 48) << "of 50";
}

}  // namespace
}  // namespace elastic::rm
