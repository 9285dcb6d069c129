/* Variables and file names of steps of srun and of their processes. */

#include "slurm/step_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace elastic::rm {
namespace {

std::map<std::string, std::string> as_map(const Variables &variables)
{
    return {variables.begin(), variables.end()};
}

const FileNames NAMES{"12", "10", "3", "1", "heat", "ann", "7", "0", "n/0"};

TEST(StepEnvironmentTest, a_step_has_its_own_counts)
{
    auto variables = as_map(step_variables({{{"a", 2}, {"b", 2}, {"c", 1}}, {}}, 4));
    EXPECT_EQ(variables["SLURM_STEP_ID"], "4");
    EXPECT_EQ(variables["SLURM_NTASKS"], "5");
    EXPECT_EQ(variables["SLURM_NNODES"], "3");
    EXPECT_EQ(variables["SLURM_STEP_NODELIST"], "a,b,c");
    EXPECT_EQ(variables["SLURM_STEP_TASKS_PER_NODE"], "2(x2),1");
}

TEST(StepEnvironmentTest, a_process_that_joined_has_its_rank_alone)
{
    Layout layout{{{"a", 2}}, {}};
    auto first = as_map(task_variables(1, position_of(layout, 1)));
    EXPECT_EQ(first["SLURM_PROCID"], "1");
    EXPECT_EQ(first["SLURM_LOCALID"], "1");
    EXPECT_EQ(first["SLURM_NODEID"], "0");
    EXPECT_EQ(first["SLURMD_NODENAME"], "a");
    EXPECT_EQ(task_variables(2, position_of(layout, 2)).size(), 1u);
}

TEST(StepEnvironmentTest, patterns_of_file_names_are_replaced)
{
    EXPECT_EQ(expand_name("o.%j.%J.%A.%a.%s.%x.%u.%t.%n", NAMES), "o.12.12.1.10.3.1.heat.ann.7.0");
    EXPECT_EQ(expand_name("%4t.%%.%N.%q.%", NAMES), "0007.%.n_0.%q.%");
    EXPECT_TRUE(is_name_of_task("o.%t"));
    EXPECT_TRUE(is_name_of_task("o.%3n"));
    EXPECT_FALSE(is_name_of_task("o.%j.%%t"));
}

TEST(StepEnvironmentTest, an_export_list_keeps_what_a_step_needs)
{
    std::vector<std::string> entries = {"A=1", "B=2=3", "SLURM_JOB_ID=5", "PATH=/bin", "PATHS=x"};
    std::vector<char *> environment;
    for (std::string &entry : entries)
        environment.push_back(entry.data());
    environment.push_back(nullptr);
    SrunOptions options;
    options.exported = std::vector<std::string>{"B", "C=4"};
    auto kept = as_map(exported_environment(environment.data(), options));
    EXPECT_EQ(kept, (std::map<std::string, std::string>{
                        {"B", "2=3"}, {"C", "4"}, {"SLURM_JOB_ID", "5"}, {"PATH", "/bin"}}));
    options.export_all = true;
    EXPECT_EQ(exported_environment(environment.data(), options).size(), 6u);
}

TEST(StepEnvironmentTest, input_is_a_file_a_rank_or_that_of_the_script)
{
    SrunOptions options;
    EXPECT_EQ(input_of(options).to_rank, "all");
    options.input = "2";
    EXPECT_EQ(input_of(options).to_rank, "2");
    options.input = "none";
    EXPECT_EQ(input_of(options).path, "/dev/null");
    options.input = "in.txt";
    EXPECT_EQ(input_of(options).path, "in.txt");
}

}  // namespace
}  // namespace elastic::rm
