/*
 * For tests of policy `efficient`: jobs of known MPI time under elasticd's core, sampled every
 * minute; changes are committed at once.
 */

#ifndef ELASTIC_RM_CORE_POLICY_EFFICIENT_FIXTURE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_EFFICIENT_FIXTURE_H_INCLUDED

#include <deque>

#include "core/policy/policies.h"
#include "core/sampled_program.h"

namespace elastic::rm {

/* MPI share of a loop whose ratio of MPI time to computing time is `mtct`. */
inline SampledProgram::Law share_of(SampledProgram::Law mtct)
{
    return [mtct = std::move(mtct)](int size) { return mtct(size) / (1 + mtct(size)); };
}

struct Efficient {
    explicit Efficient(const Config &config, int nodes, int cores) : driver(config)
    {
        for (int i = 0; i < nodes; i++)
            driver.send(NodeUp{"n" + std::to_string(i), cores});
    }
    Efficient(int nodes, int cores)
        : Efficient(CoreDriver::config_of(PolicyKind::EFFICIENT), nodes, cores)
    {
    }

    JobId start(const JobSpec &spec, SampledProgram::Law mtct)
    {
        JobId id = driver.submit(spec);
        driver.run(id);
        ids.push_back(id);
        programs.emplace_back(driver, id, amdahl(0), share_of(std::move(mtct)));
        sizes[id].push_back(driver.job(id).size());
        return id;
    }
    void go_on(int minutes, double noise = 0)
    {
        for (int i = 0; i < minutes; i++) {
            driver.wait(MINUTE);
            for (SampledProgram &program : programs) {
                program.sample(MINUTE, noise);
                commit();
            }
            commit();
        }
    }
    void commit()
    {
        for (JobId id : ids) {
            if (driver.job(id).state != JobState::ADAPTING)
                continue;
            driver.commit(id);
            sizes[id].push_back(driver.job(id).size());
        }
    }

    std::optional<HeldBecause> held(JobId id) const
    {
        return policy(PolicyKind::EFFICIENT).held_because(driver.core.state(), driver.job(id));
    }

    std::optional<SizeBounds> bounds(JobId id) const
    {
        return policy(PolicyKind::EFFICIENT).bounds(driver.core.state(), driver.job(id));
    }

    CoreDriver driver;
    std::vector<JobId> ids;
    std::deque<SampledProgram> programs;
    std::map<JobId, std::vector<int>> sizes;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_EFFICIENT_FIXTURE_H_INCLUDED */
