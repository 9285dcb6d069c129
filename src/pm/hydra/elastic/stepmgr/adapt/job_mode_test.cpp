/* Rigid and half-initialised jobs (job_mode.h). */

#include "stepmgr/adapt/step_fixture.h"

namespace elastic {
namespace {

TEST_F(StepTest, a_rigid_job_is_never_offered_anything)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0, false);
    mpiexec.init(0, 1, 1, true);
    EXPECT_TRUE(mpiexec.launches.empty());
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":4})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "rigid");
    EXPECT_TRUE(mpiexec.notified.empty()) << "it may become one that changes through process sets";
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 1, 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(mpiexec.notified[0],
              "the adaptation schedule was not used: rank 0 called MPI_Init, not "
              "MPI_Init_adapt, so that the job is rigid");
}

TEST_F(StepTest, a_job_without_reports_gets_no_offer)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.exited(0, 0, 0);
    mpiexec.exited(0, 1, 1);
    EXPECT_TRUE(mpiexec.launches.empty());
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_EQ(
        mpiexec.notified[0],
        "no adaptation was offered: the program ended without calling MPI_Init_adapt or querying "
        "changes through process sets");
}

TEST_F(StepTest, nothing_is_offered_before_all_processes_have_initialised)
{
    mpiexec.config.schedule = "4";
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    mpiexec.init(0, 0, 0);
    EXPECT_TRUE(mpiexec.launches.empty());
    mpiexec.init(0, 1, 1);
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(StepTest, an_early_request_waits_and_a_rigid_job_withdraws_it)
{
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, {"a", "b"});
    resize(R"("size":4,"wait":true)");
    EXPECT_TRUE(mpiexec.launches.empty());
    EXPECT_EQ(mpiexec.status().at("state"), "starting");
    mpiexec.init(0, 0, 0, false);
    EXPECT_EQ(mpiexec.replies[1].back().at("end").at("result"), "withdrawn");
}

}  // namespace
}  // namespace elastic
