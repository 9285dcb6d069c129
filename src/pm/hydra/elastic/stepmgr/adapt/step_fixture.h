/*
 * Fixture of the tests of adaptations: a job of two processes on two hosts under a fake mpiexec.
 */

#ifndef ELASTIC_STEP_FIXTURE_H_INCLUDED
#define ELASTIC_STEP_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include "stepmgr/sim/fake_mpiexec.h"

namespace elastic {

inline constexpr uint32_t KILLED = 9;  /* wait status of a process that SIGKILL ended */

class StepTest : public testing::Test {
  protected:
    /* Two processes on node a (proxy 0) and b (proxy 1), both adaptive. */
    void start(const char *schedule)
    {
        mpiexec.config.schedule = schedule;
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "b"});
        mpiexec.init(0, 0, 0);
        mpiexec.init(0, 1, 1);
    }
    void resize(const std::string &fields)
    {
        Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize",)" + fields + "}").at(0);
        ASSERT_TRUE(answer.at("ok")) << answer;
    }
    /* Starts the expansion `group` of two processes, both on node b, until both are ready. */
    void join_two(int group, uint32_t epoch)
    {
        mpiexec.start_group(group, {"b", "b"});
        for (uint32_t rank = 0; rank < 2; rank++) {
            mpiexec.init(group, 0, rank);
            mpiexec.ready(group, 0, rank, epoch);
        }
        mpiexec.prepared(group, 0, epoch);
        mpiexec.greeted(group, 0, epoch);
        mpiexec.prepared(0, 0, epoch);
        mpiexec.prepared(0, 1, epoch);
    }
    /* Processes of the launch; a second report has no effect. */
    void prepare(uint32_t epoch)
    {
        mpiexec.prepared(0, 0, epoch);
        mpiexec.prepared(0, 1, epoch);
    }
    void freeze(uint32_t epoch)
    {
        prepare(epoch);
        mpiexec.frozen(0, 0, epoch, 12);
        mpiexec.frozen(0, 1, epoch, 17);
    }

    FakeMpiexec mpiexec;
};


}  // namespace elastic

#endif /* ELASTIC_STEP_FIXTURE_H_INCLUDED */
