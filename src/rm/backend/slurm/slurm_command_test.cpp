/* The commands to Slurm and the meaning of its answers; the start of processes on their nodes. */

#include "backend/slurm/slurm_command.h"

#include <gtest/gtest.h>

#include "backend/slurm/slurm_launch.h"

namespace elastic::rm {
namespace {

std::string text(const Words &words)
{
    std::string all;
    for (const std::string &word : words)
        all += (all.empty() ? "" : " ") + word;
    return all;
}

TEST(SlurmCommandTest, an_allocation)
{
    SlurmAllocation start;
    start.tag = {"c0", 17, 1, 0, false};
    start.nodes = {"h1", "h2"};
    EXPECT_EQ(text(allocate_command(start, {})),
              "salloc --quiet --no-shell --exclusive --no-kill --immediate --job-name=elastic-17 "
              "--comment=elasticd:c0:17.1.0 --nodes=2 --nodelist=h1,h2");
    SlurmAllocation growth = start;
    growth.tag = {"c0", 17, 1, 4, true};
    growth.nodes = {"h3"};
    growth.expands = 99;
    growth.wait_s = 5;
    growth.limit_ms = 90000;
    growth.for_user = true;
    growth.uid = 1001;
    growth.gid = 100;
    EXPECT_EQ(text(allocate_command(growth, {"all", "physics", "low", {"--mem=0"}})),
              "salloc --quiet --no-shell --exclusive --no-kill --immediate=5 --job-name=elastic-17 "
              "--comment=elasticd:c0:17.1.4+ --nodes=1 --nodelist=h3 --dependency=expand:99 "
              "--time=3 --uid=1001 "
              "--gid=100 --partition=all --account=physics --qos=low --mem=0");
}

CommandEnd ended(int code, const std::string &errors)
{
    CommandEnd end;
    end.started = true;
    end.exit_code = code;
    end.errors = errors;
    end.problem = code ? "it ended badly" : "";
    return end;
}

TEST(SlurmCommandTest, what_an_end_means)
{
    EXPECT_TRUE(answer_of(ended(0, "")).good());
    SlurmAnswer busy = answer_of(
        ended(1, "salloc: error: Unable to allocate resources: Requested nodes are busy\n"));
    EXPECT_EQ(busy.kind, SlurmAnswer::Kind::REFUSED);
    EXPECT_EQ(busy.problem, "Unable to allocate resources: Requested nodes are busy");
    EXPECT_TRUE(is_busy(busy));
    EXPECT_FALSE(may_be_had_by_waiting(busy, false));
    SlurmAnswer later = answer_of(ended(1,
                                        "salloc: error: Unable to allocate resources: "
                                        "Immediate execution impossible, insufficient priority\n"));
    EXPECT_TRUE(may_be_had_by_waiting(later, true));
    SlurmAnswer wrong =
        answer_of(ended(1, "salloc: error: Job submit/allocate failed: Invalid account\n"));
    EXPECT_EQ(wrong.kind, SlurmAnswer::Kind::REFUSED);
    EXPECT_FALSE(is_busy(wrong));
    EXPECT_EQ(refusal_kind(wrong), PendingKind::NEVER);
    EXPECT_EQ(refusal_kind(busy), PendingKind::BUSY);
    EXPECT_EQ(refusal_kind(later), PendingKind::BUSY);
    for (const char *unclear :
         {"salloc: error: Job submit/allocate failed: Requested partition configuration not "
          "available now",
          "salloc: error: Job submit/allocate failed: Job violates accounting/QOS policy (job "
          "submit limit, user's size and/or time limits)"}) {
        EXPECT_TRUE(may_be_had_by_waiting(answer_of(ended(1, unclear)), false)) << unclear;
        EXPECT_NE(refusal_kind(answer_of(ended(1, unclear))), PendingKind::NEVER) << unclear;
    }
    for (const char *never :
         {"salloc: error: Job submit/allocate failed: Requested time limit is invalid (missing or "
          "exceeds some limit)",
          "salloc: error: Job submit/allocate failed: Invalid qos specification",
          "salloc: error: Job submit/allocate failed: User's group not permitted to use this "
          "partition",
          "salloc: error: Job submit/allocate failed: Access denied to requested reservation"})
        EXPECT_EQ(refusal_kind(answer_of(ended(1, never))), PendingKind::NEVER) << never;
    for (const char *silent :
         {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
          "salloc: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\"",
          "error: Socket timed out on send/recv operation"})
        EXPECT_EQ(answer_of(ended(1, silent)).kind, SlurmAnswer::Kind::NONE) << silent;
}

TEST(SlurmCommandTest, an_option_that_salloc_does_not_know)
{
    SlurmAnswer answer = answer_of(ended(255, "salloc: unrecognized option '--nix'\n"
                                              "Try \"salloc --help\" for more information\n"));
    EXPECT_EQ(answer.kind, SlurmAnswer::Kind::REFUSED);
    EXPECT_EQ(refusal_kind(answer), PendingKind::WAITS);
    EXPECT_FALSE(may_be_had_by_waiting(answer, false));
    EXPECT_EQ(refusal_text(answer),
              "Slurm does not understand slurm.options (unrecognized option '--nix')");
}

/* Slurm names a dependency; the request for an expansion has one. */
TEST(SlurmCommandTest, a_reservation_that_has_not_begun)
{
    SlurmAnswer early = answer_of(
        ended(1, "salloc: error: Job submit/allocate failed: Job dependency problem\n"));
    EXPECT_TRUE(may_be_had_by_waiting(early, false));
    EXPECT_FALSE(may_be_had_by_waiting(early, true));
}

/* It is unknown whether it was performed. */
TEST(SlurmCommandTest, ends_without_a_message)
{
    CommandEnd late = ended(143, "");
    late.timed_out = true;
    EXPECT_EQ(answer_of(late).kind, SlurmAnswer::Kind::NONE);
    CommandEnd absent;
    absent.problem = "cannot run squeue: No such file or directory";
    EXPECT_EQ(answer_of(absent).kind, SlurmAnswer::Kind::NONE);
    EXPECT_EQ(answer_of(absent).problem, absent.problem);
    CommandEnd cut = ended(0, "");
    cut.truncated = true;
    EXPECT_EQ(answer_of(cut).kind, SlurmAnswer::Kind::NONE);
    EXPECT_EQ(answer_of(ended(137, "")).kind, SlurmAnswer::Kind::NONE);
}

TEST(SlurmLaunchTest, which_slurm_job_has_the_node)
{
    std::string file = format_slurm_jobs({{"h1", 17}, {"h10", 18}, {"h2", 19}});
    EXPECT_EQ(file, "h1 17\nh10 18\nh2 19\n");
    EXPECT_EQ(find_slurm_job(file, "h1"), 17u);
    EXPECT_EQ(find_slurm_job(file, "h10"), 18u);
    EXPECT_EQ(find_slurm_job(file, "h2"), 19u);
    for (const char *unknown : {"h", "h3", "", "h1 17"})
        EXPECT_FALSE(find_slurm_job(file, unknown)) << unknown;
    EXPECT_FALSE(find_slurm_job("h1 x\nh1\n\n", "h1"));
}

TEST(SlurmLaunchTest, the_words_of_mpiexec)
{
    EXPECT_EQ(node_of_srun({"-N", "1", "--nodelist", "h7", "proxy"}), "h7");
    EXPECT_FALSE(node_of_srun({"--nodelist", "h7,h8", "proxy"}));
    EXPECT_FALSE(node_of_srun({"-N", "1", "--nodelist"}));
    EXPECT_EQ(srun_options(17)[0], "--jobid=17");
}

TEST(SlurmLaunchTest, variables_that_mislead)
{
    char conf[] = "SLURM_CONF=/x", id[] = "SLURM_JOB_ID=4", format[] = "SQUEUE_FORMAT=%i",
         other[] = "MY_SLURM_X=1";
    char *environment[] = {conf, id, format, other, nullptr};
    EXPECT_EQ(misleading_variables(environment),
              (std::vector<std::string>{"SLURM_JOB_ID", "SQUEUE_FORMAT"}));
}

}  // namespace
}  // namespace elastic::rm
