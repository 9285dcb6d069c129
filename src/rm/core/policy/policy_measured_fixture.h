/*
 * For tests of policy `measured`: jobs of known scaling models under elasticd's core, sampled every
 * half minute; changes are committed at once.
 */

#ifndef ELASTIC_RM_CORE_POLICY_MEASURED_FIXTURE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_MEASURED_FIXTURE_H_INCLUDED

#include <deque>

#include "core/record.h"
#include "core/sampled_program.h"

namespace elastic::rm {

/* Values of Config::efficiency_idle_ppm.  NO_LOANS: no core is loaned (equal to `efficiency`).
 * LOANS: loans down to a floor.  NO_FLOOR: loans to all jobs that do not become slower, the
 * default. */
constexpr int64_t NO_LOANS = 500000, LOANS = 100000, NO_FLOOR = 0;

struct SampledMachine {
    explicit SampledMachine(int cores, PolicyKind policy = PolicyKind::MEASURED)
        : driver(policy, 1, cores)
    {
    }
    SampledMachine(int nodes, int cores) : driver(PolicyKind::MEASURED, nodes, cores) {}

    /* Cores that no other job can use are loaned down to this part of a proportional gain. */
    void loan_down_to(int64_t ppm)
    {
        Config config = driver.core.state().config;
        config.efficiency_idle_ppm = ppm;
        driver.send(Configure{config});
    }
    JobId start(JobSpec spec, SampledProgram::Law law, SampledProgram::Law share = nullptr)
    {
        JobId id = driver.submit(spec);
        ids.push_back(id);
        programs.emplace_back(driver, id, std::move(law), std::move(share));
        stabilize();
        return id;
    }
    void stabilize()
    {
        for (bool changed = true; changed;) {
            changed = false;
            for (JobId id : ids) {
                if (driver.job(id).state == JobState::STARTING) {
                    driver.run(id);
                    changed = true;
                }
                if (driver.job(id).state == JobState::ADAPTING) {
                    driver.commit(id);
                    changes++;
                    changed = true;
                }
            }
        }
    }
    void go_on(int samples, double noise = 0)
    {
        for (int i = 0; i < samples; i++) {
            driver.wait(MINUTE / 2);
            stabilize();
            for (SampledProgram &program : programs) {
                program.sample(MINUTE / 2, noise);
                note();
                stabilize();
            }
        }
    }
    void note()
    {
        for (const Action &action : driver.actions)
            if (const Record *record = std::get_if<Record>(&action);
                record && record->event == record::REQUESTED)
                requested.push_back(*record);
    }
    int size(size_t i) const { return driver.job(ids[i]).size(); }

    CoreDriver driver;
    std::vector<JobId> ids;
    std::deque<SampledProgram> programs;
    std::vector<Record> requested;
    int changes = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_MEASURED_FIXTURE_H_INCLUDED */
