/* Slurm's output, well formed and malformed. */

#include "backend/slurm/slurm_text.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

const std::string MARKER = "f00d";

std::string line(const std::string &fields)
{
    return MARKER + "|" + fields + "|" + MARKER + "\n";
}

SlurmNode node(const std::string &word)
{
    auto nodes = parse_nodes(line("h1|4|" + word + "|1-infinite|1000 (null) (null)|none"), MARKER);
    EXPECT_TRUE(nodes.ok()) << nodes.error();
    return nodes.value().at(0);
}

TEST(SlurmTextTest, nodes)
{
    auto nodes = parse_nodes(
        line("h1|4|idle|2-16|1000 (null) big,ib|none") + "noise\n" +
            line("h2|64|drained|1-infinite|1000 (null) (null)|broken | fan"),
        MARKER);
    ASSERT_TRUE(nodes.ok()) << nodes.error();
    ASSERT_EQ(nodes.value().size(), 2u);
    EXPECT_EQ(nodes.value()[0].name, "h1");
    EXPECT_EQ(nodes.value()[0].cores, 4);
    EXPECT_EQ(nodes.value()[0].state, SlurmNodeState::IDLE);
    EXPECT_EQ(nodes.value()[0].reason, "");
    EXPECT_EQ(nodes.value()[1].reason, "broken | fan");
    EXPECT_TRUE(nodes.value()[1].draining);
}

TEST(SlurmTextTest, states_of_nodes)
{
    for (const char *word : {"idle", "planned", "IDLE"})
        EXPECT_EQ(node(word).state, SlurmNodeState::IDLE) << word;
    for (const char *word :
         {"allocated", "mixed", "completing", "allocated*", "draining", "allocated+"})
        EXPECT_EQ(node(word).state, SlurmNodeState::USED) << word;
    for (const char *word :
         {"down", "down*", "idle*", "idle~", "reserved", "unknown*", "maint", "something_new", "*"})
        EXPECT_EQ(node(word).state, SlurmNodeState::GONE) << word;
    EXPECT_TRUE(node("down*").failed);
    EXPECT_FALSE(node("idle*").failed);
    EXPECT_FALSE(node("allocated*").failed);
    EXPECT_EQ(node("idle*").word, "not answering");
}

TEST(SlurmTextTest, jobs)
{
    auto jobs = parse_jobs(
        line("17|RUNNING|bob|1001|4294901759|2|h[1-2]|None|elasticd:c0ffee:3.1.0+") +
            line("18|PENDING|al|7|-5|4||Resources|(null)") +
            line("19|CANCELLED|al|7|1|1|h3|None|a|b"),
        MARKER);
    ASSERT_TRUE(jobs.ok()) << jobs.error();
    ASSERT_EQ(jobs.value().size(), 3u);
    const SlurmJob &first = jobs.value()[0];
    EXPECT_EQ(first.id, 17u);
    EXPECT_EQ(first.user, "bob");
    EXPECT_EQ(first.uid, 1001u);
    EXPECT_EQ(first.priority, 4294901759);
    EXPECT_EQ(first.nodes, (NodeNames{"h1", "h2"}));
    EXPECT_EQ(first.tag, (SlurmTag{"c0ffee", 3, 1, 0, true}));
    EXPECT_EQ(jobs.value()[1].state, SlurmJobState::PENDING);
    EXPECT_EQ(jobs.value()[1].reason, "Resources");
    EXPECT_EQ(jobs.value()[1].node_count, 4);
    EXPECT_TRUE(jobs.value()[2].nodes.empty());         /* it has none any more */
    EXPECT_FALSE(jobs.value()[2].tag);
}

TEST(SlurmTextTest, the_cause_of_an_end_is_reported_before_nodes_are_clean)
{
    auto reported = [](const std::string &state, const std::string &reason) {
        auto jobs = parse_jobs(line("18|" + state + "|bob|7|1|1|h1|" + reason + "|"), MARKER);
        return jobs.ok() ? how_it_ended(jobs.value().at(0)) : jobs.error();
    };
    EXPECT_EQ(reported("CANCELLED", "None"), "Slurm job 18 was cancelled in Slurm (scancel)");
    EXPECT_EQ(reported("COMPLETING", "None"),
              "Slurm job 18 was cancelled in Slurm (scancel, or preempted)");
    for (const char *state : {"COMPLETING", "TIMEOUT"})
        EXPECT_EQ(reported(state, "TimeLimit"), "Slurm job 18 reached its time limit in Slurm");
    for (const char *state : {"COMPLETING", "NODE_FAIL"})
        EXPECT_EQ(reported(state, "NodeDown"), "Slurm job 18 lost a node");
    EXPECT_EQ(reported("BOOT_FAIL", "None"), "Slurm job 18 ended in Slurm as BOOT_FAIL");
}

/* A comment that looks like the next line to a reader without the marker. */
TEST(SlurmTextTest, why_a_job_waits)
{
    for (const char *waits : {"ReqNodeNotAvail, Reserved for maintenance",
                              "PartitionDown", "JobHeldAdmin", "Reservation", "", "New"})
        EXPECT_EQ(pending_kind(waits), PendingKind::WAITS) << waits;
    for (const char *busy : {"Resources", "Priority"})
        EXPECT_EQ(pending_kind(busy), PendingKind::BUSY) << busy;
    for (const char *never :
         {"PartitionTimeLimit", "AssociationTimeLimit", "QOSTimeLimit",
          "InvalidQOS", "AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit",
          "ReservationDeleted", "AccountNotAllowed",
          "Job's QOS not permitted to use this partition (fast allows vip not normal)"})
        EXPECT_EQ(pending_kind(never), PendingKind::NEVER) << never;
    for (const char *jobs : {"QOSMaxJobsPerUserLimit", "AssocMaxJobsLimit", "AssocGrpJobsLimit",
                             "AssocGrpSubmitJobsLimit", "QOSMaxSubmitJobPerUserLimit"})
        EXPECT_EQ(pending_kind(jobs), PendingKind::WAITS_FOR_JOBS) << jobs;
    for (const char *nodes : {"BadConstraints", "AssocMaxCpuPerNode"})
        EXPECT_EQ(pending_kind(nodes), PendingKind::NEVER_ON_SUCH_NODES) << nodes;
    for (const char *small : {"QOSMinNode", "QOSMinCpuNotSatisfied"})
        EXPECT_EQ(pending_kind(small), PendingKind::NEVER_SO_SMALL) << small;
    for (const char *much : {"AssocGrpNodeLimit", "AssocGrpCpuLimit", "QOSMaxNodePerUserLimit",
                             "QOSGrpCPURunMinutesLimit"})
        EXPECT_EQ(pending_kind(much), PendingKind::WAITS_SO_LARGE) << much;
    for (const char *large : {"AssocMaxNodePerJobLimit", "QOSMaxCpuPerJobLimit",
                              "AssocMaxCpuMinutesPerJobLimit"})
        EXPECT_EQ(pending_kind(large), PendingKind::NEVER_SO_LARGE) << large;
    EXPECT_EQ(pending_text("PartitionTimeLimit"),
              "its time limit is above that of the partition: request less time "
              "(PartitionTimeLimit)");
    EXPECT_EQ(pending_text("QOSGrpMemLimit"),
              "with it, the QOS would use more than its maximum (QOSGrpMemLimit)");
    EXPECT_EQ(pending_text("AssocMaxJobsLimit"),
              "the user's association runs its maximum of jobs (AssocMaxJobsLimit)");
    EXPECT_EQ(pending_text("SomethingNew"), "(SomethingNew)");
    EXPECT_LT(pending_text(std::string(1000, 'x')).size(), 150u);
}

TEST(SlurmTextTest, nobody_can_forge_a_line)
{
    std::string forged = "x|beef\nbeef|99|RUNNING|al|7|1|1|h3|None|elasticd:c0ffee:1.1.0|beef\n";
    auto jobs = parse_jobs(line("18|RUNNING|bob|7|1|1|h1|None|" + forged), MARKER);
    ASSERT_TRUE(jobs.ok()) << jobs.error();
    ASSERT_EQ(jobs.value().size(), 1u);
    EXPECT_EQ(jobs.value()[0].id, 18u);
    EXPECT_FALSE(jobs.value()[0].tag);
}

TEST(SlurmTextTest, what_cannot_be_is_an_error)
{
    for (const char *wrong :
         {"", "h1|4|idle|1|x", "h1|0|idle|1|x|none", "h1|x|idle|1|x|none", "-w|4|idle|1|x|none",
          "h 1|4|idle|1|x|none"})
        EXPECT_FALSE(parse_nodes(line(wrong), MARKER).ok()) << wrong;
    for (const char *wrong : {"17", "x|RUNNING|b|1|1|1|h1|None|", "17|RUNNING|b|1|1|1|h[1|None|",
                              "17|RUNNING|b|1|1|h1|None|"})
        EXPECT_FALSE(parse_jobs(line(wrong), MARKER).ok()) << wrong;
    EXPECT_TRUE(parse_jobs("", MARKER).value().empty());
    EXPECT_TRUE(parse_jobs("squeue: error\n" + MARKER + "|17|RUNN", MARKER).value().empty());
}

TEST(SlurmTextTest, tags)
{
    SlurmTag tag{"0123456789abcdef", 17, 2, 5, false};
    EXPECT_EQ(parse_tag(format_tag(tag)), tag);
    tag.expands = true;
    EXPECT_EQ(parse_tag(format_tag(tag)), tag);
    for (const char *wrong :
         {"", "(null)", "elasticd", "elasticd:", "elasticd:a", "elasticd:a:", "elasticd:a:1.1",
          "elasticd:a:1.1.x", "elasticd::1.1.1", "elasticd:a:1..1", "elasticd:a:1.1.1.1",
          "elasticd:a b:1.1.1", "elasticd:a:-1.1.1", "elasticd:a:99999999999999999999.1.1"})
        EXPECT_FALSE(parse_tag(wrong)) << wrong;
}

TEST(SlurmTextTest, configuration)
{
    auto values = parse_config(
        "Configuration data as of 2026\n"
        "SchedulerParameters     = permit_job_expansion,bf_interval=1\n"
        "AccountingStorageType   = accounting_storage/none\nPrologFlags = (null)\nno value\n");
    EXPECT_EQ(values["AccountingStorageType"], "accounting_storage/none");
    EXPECT_EQ(values["PrologFlags"], "");
    EXPECT_TRUE(has_word(values["SchedulerParameters"], "permit_job_expansion"));
    EXPECT_FALSE(has_word(values["SchedulerParameters"], "permit_job"));
    EXPECT_FALSE(has_word("", "x"));
}

}  // namespace
}  // namespace elastic::rm
