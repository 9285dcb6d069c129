/*
 * For tests of slots beside the worlds of running jobs: a machine of two nodes, under each policy.
 */

#ifndef ELASTIC_RM_CORE_SLOTS_FIXTURE_H_INCLUDED
#define ELASTIC_RM_CORE_SLOTS_FIXTURE_H_INCLUDED

#include "core/core_driver.h"
#include "core/policy/policy.h"
#include "core/record.h"

namespace elastic::rm {

inline SlotRequest slot_request_of(uint64_t number, int count, bool hard,
                                   const std::string &host = "")
{
    return {number, count, hard, host, NEVER, "", false};
}

inline SlotRequest exclusive_request(uint64_t number, int count, bool hard,
                                     const std::string &host = "")
{
    return {number, count, hard, host, NEVER, "", true};
}

class SlotsTest : public testing::TestWithParam<PolicyKind> {
  protected:
    SlotsTest() : driver(GetParam(), 2, 4) {}

    /* Runs a job that keeps `size` processes, and may have `most` with its slots. */
    JobId run(int size, int most)
    {
        JobId id = start(size, most);
        driver.send(StepRigid{{id, 1}});
        EXPECT_EQ(driver.job(id).size(), size);
        return id;
    }
    /* No policy starts the job larger, because it gets its range only afterwards. */
    JobId start(int size, int most)
    {
        JobId id = driver.submit(malleable(size, size));
        driver.send(StepStarted{{id, 1}});
        Update update;
        update.request = "most" + std::to_string(id);
        update.job = id;
        update.maximum = most;
        driver.send(update);
        return id;
    }
    /* The step's report of all its slots. */
    void report_slots(JobId id, uint64_t granted, std::vector<StepSlots::Held> held,
              std::vector<SlotRequest> slot_requests)
    {
        StepSlots slots;
        slots.job = id;
        slots.step = driver.job(id).step;
        slots.mpiexec = mpiexec;
        slots.reported = ++reported;
        slots.granted = granted;
        slots.held = std::move(held);
        slots.slot_requests = std::move(slot_requests);
        driver.send(slots);
    }
    /* Report of all processes of MPI_Comm_spawn. */
    void report_spawned(JobId id, std::vector<NodeProcesses> spawned)
    {
        StepSlots slots;
        slots.job = id;
        slots.step = driver.job(id).step;
        slots.mpiexec = mpiexec;
        slots.reported = ++reported;
        slots.spawned = std::move(spawned);
        driver.send(slots);
    }
    int free_cores() { return static_cast<int>(driver.core.state().indices().free_cores); }

    CoreDriver driver;
    std::string mpiexec = "4711";
    uint64_t reported = 0;
};

inline auto every_policy()
{
    return testing::Values(PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                           PolicyKind::EFFICIENT, PolicyKind::MEASURED);
}
inline std::string policy_name(const testing::TestParamInfo<PolicyKind> &each)
{
    return to_string(each.param);
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SLOTS_FIXTURE_H_INCLUDED */
