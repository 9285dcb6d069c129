/* Arguments of srun: what each option becomes, and what is refused or reported. */

#include "slurm/srun_options.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

using Words = std::vector<std::string>;

SrunOptions parsed(const Words &words)
{
    auto options = parse_srun(words);
    EXPECT_TRUE(options) << (options ? "" : options.error());
    return options ? options.value() : SrunOptions();
}

std::string wrong(const Words &words)
{
    auto options = parse_srun(words);
    return options ? "" : options.error();
}

TEST(SrunOptionsTest, options_end_at_the_program)
{
    SrunOptions options = parsed({"-n", "4", "./app", "-n", "5", "--label"});
    EXPECT_EQ(options.tasks, 4);
    EXPECT_FALSE(options.label);
    EXPECT_EQ(options.command, (Words{"./app", "-n", "5", "--label"}));
}

TEST(SrunOptionsTest, letters_names_and_abbreviations_are_the_same)
{
    for (const Words &words : {Words{"-n4", "-N2", "-lc3", "a"},
                               Words{"--ntasks=4", "--nodes=2-8", "--label", "--cpus-per-task",
                                     "3", "a"},
                               Words{"--ntasks", "4", "--nodes=2", "--lab", "--cpus-per-t=3",
                                     "a"}}) {
        SrunOptions options = parsed(words);
        EXPECT_EQ(options.tasks, 4);
        EXPECT_EQ(options.nodes, 2);
        EXPECT_TRUE(options.label);
        EXPECT_EQ(options.cpus_per_task, 3);
    }
}

TEST(SrunOptionsTest, each_call_is_new)
{
    EXPECT_EQ(parsed({"-n", "4", "a"}).tasks, 4);
    EXPECT_EQ(parsed({"a"}).tasks, 0);
}

TEST(SrunOptionsTest, lists_of_nodes_have_ranges)
{
    SrunOptions options = parsed({"-w", "n[1-3],x", "-x", "n2", "a"});
    EXPECT_EQ(options.node_names, (Words{"n1", "n2", "n3", "x"}));
    EXPECT_EQ(options.excluded, Words{"n2"});
}

TEST(SrunOptionsTest, binding_is_that_of_mpiexec)
{
    EXPECT_EQ(parsed({"--cpu-bind=cores", "a"}).binding, "core");
    EXPECT_EQ(parsed({"--cpu-bind=verbose,sockets", "a"}).binding, "socket");
    EXPECT_EQ(parsed({"--cpu-bind=none", "a"}).binding, "none");
    EXPECT_EQ(parsed({"--cpu-bind=map_cpu:0,2", "a"}).binding, "user:0,2");
    SrunOptions masks = parsed({"--cpu-bind=mask_cpu:0x3", "a"});
    EXPECT_EQ(masks.binding, "");
    EXPECT_EQ(masks.warnings.size(), 1u);
}

TEST(SrunOptionsTest, the_environment_is_all_names_or_values)
{
    EXPECT_FALSE(parsed({"--export=ALL", "a"}).exported);
    EXPECT_EQ(parsed({"--export=NONE", "a"}).exported, Words{});
    SrunOptions more = parsed({"--export=ALL,A=1,B", "a"});
    EXPECT_TRUE(more.export_all);
    EXPECT_EQ(more.exported, (Words{"A=1", "B"}));
    SrunOptions names = parsed({"--export=B", "a"});
    EXPECT_FALSE(names.export_all);
    EXPECT_EQ(names.exported, Words{"B"});
}

TEST(SrunOptionsTest, a_time_limit_has_slurms_forms)
{
    EXPECT_EQ(parsed({"-t", "10", "a"}).time_limit_s, 600);
    EXPECT_EQ(parsed({"-t", "1:30:00", "a"}).time_limit_s, 5400);
    EXPECT_EQ(parsed({"--time=0:05", "a"}).time_limit_s, 5);
}

TEST(SrunOptionsTest, programs_may_be_in_a_file)
{
    SrunOptions options = parsed({"-n", "3", "--multi-prog", "programs"});
    EXPECT_TRUE(options.multi_prog);
    EXPECT_EQ(options.command, Words{"programs"});
    EXPECT_FALSE(parsed({"a"}).multi_prog);
}

TEST(SrunOptionsTest, options_without_effect_are_reported_if_they_ask_for_something)
{
    SrunOptions options = parsed(
        {"--mpi=pmix", "--exclusive", "-K1", "-u", "--gres=gpu:2", "--mem", "1G", "a"});
    EXPECT_EQ(options.warnings.size(), 2u);
    EXPECT_NE(options.warnings.at(0).find("--gres=gpu:2 has no effect"), std::string::npos);
    EXPECT_NE(options.warnings.at(1).find("--mem=1G"), std::string::npos);
    options = parsed({"-X", "-E", "--compress", "--nice", "--wckey=k", "--tmp", "1G", "a"});
    EXPECT_EQ(options.warnings.size(), 4u);
    EXPECT_EQ(options.command, Words{"a"});
}

TEST(SrunOptionsTest, nonsense_is_an_error_that_names_it)
{
    const std::pair<Words, const char *> cases[] = {
        {{"-n", "0", "a"}, "--ntasks=0"},
        {{"-n", "4x", "a"}, "--ntasks=4x"},
        {{"-n", "-3", "a"}, "--ntasks=-3"},
        {{"-n", "99999999999", "a"}, "--ntasks=99999999999"},
        {{"-n"}, "'-n' needs a value"},
        {{"--nonsense", "a"}, "'--nonsense'"},
        {{"-y", "a"}, "'-y'"},
        {{"-Z", "a"}, "--no-allocate: a step runs on the cores of a job"},
        {{"--het-group=1", "a"}, "--het-group=1: a job has one group of nodes"},
        {{"-w", "n[1-", "a"}, "--nodelist=n[1-"},
        {{"-m", "plane", "a"}, "--distribution=plane"},
        {{"--open-mode=x", "a"}, "--open-mode=x"},
        {{"-t", "soon", "a"}, "--time=soon"},
        {{"--export==x", "a"}, "--export==x"},
        {{"-o", "", "a"}, "--output="},
        {{}, "a program is expected"},
        {{"-n", "2"}, "a program is expected"},
        {{"a", ":", "b"}, "mpiexec"},
        {{"--multi-prog", "f", "a"}, "one file"},
        {{"--multi-prog"}, "a program is expected"},
    };
    for (const auto &[words, text] : cases)
        EXPECT_NE(wrong(words).find(text), std::string::npos) << text << ": " << wrong(words);
}

}  // namespace
}  // namespace elastic::rm
