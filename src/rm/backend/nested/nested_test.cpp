/* The environments of batch systems, as read by a nested elasticd. */

#include "backend/nested/nested.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "backend/nested/allocation_watch.h"

namespace elastic::rm {
namespace {

Variables of(std::map<std::string, std::string> values)
{
    return [values](const char *name) {
        auto found = values.find(name);
        return found == values.end() ? "" : found->second;
    };
}

std::string show(const Result<NestedNodes> &nested)
{
    if (!nested)
        return "error: " + nested.error();
    std::string text = nested.value().name + " " + nested.value().launcher;
    for (const ListedNode &node : nested.value().nodes)
        text += " " + node.name + ":" + std::to_string(node.cores);
    return text;
}

class NestedFileTest : public testing::Test {
  protected:
    NestedFileTest()
    {
        char name[] = "/tmp/nested-test-XXXXXX";
        close(mkstemp(name));
        path_ = name;
    }
    ~NestedFileTest() override { unlink(path_.c_str()); }
    void write(const std::string &text) { std::ofstream(path_) << text; }
    std::string path_;
};

TEST(NestedTest, Slurm)
{
    EXPECT_EQ(show(nested_nodes("", of({{"SLURM_JOB_ID", "12"},
                                        {"SLURM_JOB_NODELIST", "h[1-2],x"},
                                        {"SLURM_JOB_CPUS_PER_NODE", "4(x2),8"},
                                        {"SLURM_TASKS_PER_NODE", "1(x3)"}}))),
              "slurm-12 slurm h1:4 h2:4 x:8");
    EXPECT_EQ(
        show(nested_nodes(
            "",
            of({{"SLURM_JOBID", "12"}, {"SLURM_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "3"}}))),
        "slurm-12 slurm a:3");
    EXPECT_NE(show(nested_nodes("", of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h["}})))
                  .find("the nodes of Slurm job 12: "),
              std::string::npos);
}

TEST(NestedTest, Lsf)
{
    EXPECT_EQ(
        show(nested_nodes(
            "", of({{"LSB_JOBID", "7[3]"}, {"LSB_MCPU_HOSTS", "a 4 b 2"}, {"LSB_HOSTS", "a"}}))),
        "lsf-7_3_ lsf a:4 b:2");
    EXPECT_EQ(show(nested_nodes("", of({{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a b a"}}))),
              "lsf-7 lsf a:2 b:1");
}

TEST(NestedTest, NowhereIsAnError)
{
    EXPECT_NE(show(nested_nodes("", of({}))).find("--nested=FILE"), std::string::npos);
    EXPECT_FALSE(find_allocation(of({{"SLURM_JOB_ID", "1"}}))) << "it does not name the nodes";
    EXPECT_FALSE(find_allocation(of({{"PBS_NODEFILE", "/x"}}))) << "it has no id";
}

TEST_F(NestedFileTest, Pbs)
{
    write("a\na\nb\nb\nc\n");
    EXPECT_EQ(show(nested_nodes("", of({{"PBS_JOBID", "42.server"}, {"PBS_NODEFILE", path_}}))),
              "pbs-42_server ssh a:2 b:2 c:1");
    unlink(path_.c_str());
    EXPECT_NE(show(nested_nodes("", of({{"PBS_JOBID", "42"}, {"PBS_NODEFILE", path_}})))
                  .find("cannot read"),
              std::string::npos);
}

TEST_F(NestedFileTest, AFileIsInsteadOfTheAllocation)
{
    write("b:3\n# nothing\nc\n");
    EXPECT_EQ(show(nested_nodes(path_, of({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h1"}}))),
              "slurm-12 slurm b:3 c:1");
    std::string alone = show(nested_nodes(path_, of({})));
    EXPECT_EQ(alone.substr(0, 5), "file-");
    EXPECT_NE(alone.find(" ssh b:3 c:1"), std::string::npos);
    EXPECT_EQ(alone, show(nested_nodes(path_, of({})))) << "the same name each time";
}

TEST(NestedTest, Settings)
{
    Settings settings = default_settings();
    settings.tcp = "0.0.0.0:1";
    settings.partitions.resize(1);
    settings.reservations.resize(1);
    set_nested(settings, {"slurm-12", "Slurm job 12", "slurm", "12", {{"a", 4}}});
    EXPECT_EQ(settings.backend, "nested");
    EXPECT_EQ(settings.hosts, std::vector<std::string>{"a:4"});
    EXPECT_EQ(settings.socket, nested_socket(nested_folder(runtime_directory(), "slurm-12")));
    EXPECT_EQ(settings.tcp, "");
    EXPECT_TRUE(settings.partitions.empty() && settings.reservations.empty()) << "of other nodes";
    set_nested(settings, {"pbs-1", "PBS job 1", "ssh", "", {{"a", 4}}});
    EXPECT_EQ(settings.backend, "hosts");
}

TEST(AllocationWatchTest, Judges)
{
    auto judge = [](int code, const std::string &output, const std::string &errors) {
        CommandEnd end;
        end.started = true;
        end.exit_code = code;
        end.output = output;
        end.errors = errors;
        end.problem = code ? "failed" : "";
        return AllocationWatch::judge("7", end);
    };
    EXPECT_EQ(judge(0, "RUNNING\n", ""), "");
    EXPECT_EQ(judge(0, "COMPLETING\n", ""), "Slurm job 7 is over (COMPLETING)");
    EXPECT_EQ(judge(0, "", ""), "Slurm job 7 is over");
    EXPECT_EQ(judge(1, "", "slurm_load_jobs error: Invalid job id specified"),
              "Slurm job 7 is over");
    EXPECT_EQ(judge(1, "", "slurm_load_jobs error: Unable to contact slurm controller"), "");
    EXPECT_EQ(judge(127, "", ""), "");
}

}  // namespace
}  // namespace elastic::rm
