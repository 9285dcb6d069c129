/* Gains: idle cores go to the highest, and are taken from the lowest. */

#include "core/core_driver.h"
#include "core/policy/policy_fill.h"

namespace elastic::rm {
namespace {

/* A fixed gain of cores for each user. */
class GainOfUser : public Gain {
  public:
    explicit GainOfUser(std::map<uint32_t, double> gains) : gains_(std::move(gains)) {}
    double gain(const State &, const Job &job, int from, int to) const override
    {
        EXPECT_EQ(size_at_most(job.spec, from), from);
        EXPECT_EQ(size_at_most(job.spec, to), to);
        return gains_.at(job.spec.uid) / std::max(from, to);
    }

  private:
    std::map<uint32_t, double> gains_;
};

JobSpec of_user(uint32_t uid, JobSpec spec)
{
    spec.uid = uid;
    return spec;
}

/* Sizes of the changes, by job. */
std::map<JobId, int> changes_of(const Gain &gain, const State &state)
{
    std::map<JobId, int> sizes;
    for (const Change &change : Fill(gain).decide(state).changes)
        sizes[change.job] = change.size;
    return sizes;
}

TEST(GainTest, idle_cores_go_where_they_are_worth_most)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 12);         /* which does not use them */
    for (uint32_t uid : {1, 2}) {
        JobSpec spec = of_user(uid, malleable(1, 12));
        spec.preferred = 1;
        driver.run(driver.submit(spec));
    }
    const State &state = driver.core.state();
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 6}, {2, 6}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 1}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 6}, {2, 6}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 1}, {2, 100}}), state), (std::map<JobId, int>{{2, 11}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 2}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 8}, {2, 4}}));
}

TEST(GainTest, cores_are_taken_where_they_are_worth_least)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 12);
    driver.run(driver.submit(of_user(1, malleable(1, 8))));
    driver.run(driver.submit(of_user(2, malleable(1, 4))));
    driver.submit(rigid(3));
    const State &state = driver.core.state();
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 5}}));
    EXPECT_EQ(changes_of(GainOfUser({{1, 100}, {2, 1}}), state), (std::map<JobId, int>{{1, 5}}))
        << "the other one has no more than its share";
    driver.submit(rigid(1));
    driver.submit(rigid(1));                    /* whose share is now 2 */
    EXPECT_EQ(changes_of(GainOfUser({{1, 100}, {2, 1}}), state),
              (std::map<JobId, int>{{1, 5}, {2, 2}}));
    EXPECT_EQ(changes_of(equal_gain(), state), (std::map<JobId, int>{{1, 3}}));
}

}  // namespace
}  // namespace elastic::rm
