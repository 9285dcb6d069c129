#include "cli/slurm_lines.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string &lines)
{
    auto found = slurm_options("#!/bin/bash\n" + lines);
    EXPECT_TRUE(found) << found.error();
    EXPECT_TRUE(!found || found.value().notes.empty()) << found.value().notes.front();
    return found ? found.value().words : Words();
}

std::string error_of(const std::string &lines)
{
    auto found = slurm_options("#!/bin/bash\n" + lines);
    return found ? "" : found.error();
}

TEST(SlurmLinesTest, what_is_the_same_is_passed_on)
{
    EXPECT_EQ(words_of("#SBATCH -n 8 -t 1:00:00\n#SBATCH --job-name='my job'\n\n# text\n"
                       "#SBATCH -c4 --hold -o=%x.out\necho\n#SBATCH -n 99\n"),
              (Words{"--ntasks=8", "--time=1:00:00", "--job-name=my job", "--cpus-per-task=4",
                     "--hold", "--output=%x.out"}));
    EXPECT_EQ(words_of("#SBATCH -N 2 --ntasks-per-node 4 --exclusive --no-requeue\n"),
              (Words{"--nodes=2", "--ntasks-per-node=4", "--exclusive"}));
    EXPECT_EQ(words_of("#SBATCH --nodes=3\n"), (Words{"--nodes=3", "--ntasks-per-node=1"}))
        << "one process on each node, as with Slurm";
    EXPECT_EQ(words_of("#SBATCH -w n[1-2] --exclude=n3\n"),
              (Words{"--nodelist=n[1-2]", "--exclude=n3"}));
    EXPECT_EQ(words_of("#SBATCH -p batch\n#SBATCH --partition=long\n"),
              (Words{"--partition=batch", "--partition=long"}));
    EXPECT_FALSE(slurm_options("#!/bin/sh\n#ELASTIC -n 2\n#SBATCHX -n 3\n").value().any);
}

TEST(SlurmLinesTest, dependencies_are_checked)
{
    for (const char *list : {"afterok:3:4,after:5", "afternotok:3", "singleton,after:3_[1-5,7]"})
        EXPECT_EQ(words_of(std::string("#SBATCH -d ") + list + "\n"),
                  (Words{std::string("--dependency=") + list}));
    for (const char *wrong : {"afterok", "afterok:3?afterany:4", "aftercorr:3", "expand:3"})
        EXPECT_NE(error_of(std::string("#SBATCH --dependency=") + wrong + "\n"), "") << wrong;
    EXPECT_EQ(words_of("#SBATCH -a 1-9%2\n"), (Words{"--array=1-9%2"}));
}

TEST(SlurmLinesTest, mail_about_other_events_is_reported)
{
    EXPECT_EQ(words_of("#SBATCH --mail-type=END,FAIL --mail-user ann@example.org\n"),
              (Words{"--mail-type=END,FAIL", "--mail-user=ann@example.org"}));
    auto found = slurm_options("#!/bin/sh\n#SBATCH --mail-type=TIME_LIMIT_90,END\n");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found.value().words, Words{"--mail-type=END"});
    ASSERT_EQ(found.value().notes.size(), 1U);
    EXPECT_EQ(found.value().notes[0].find("line 2: --mail-type=TIME_LIMIT_90 is not honoured"), 0U);
}

TEST(SlurmLinesTest, what_is_not_honoured_is_reported)
{
    auto found = slurm_options("#!/bin/sh\n#SBATCH -n 2 --mem=4G\n#SBATCH -A long --gres fpga:2\n"
                               "#SBATCH --frobnicate 3 -J x\n");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found.value().words, (Words{"--ntasks=2", "--mem=4G", "--job-name=x"}));
    const Words &notes = found.value().notes;
    ASSERT_EQ(notes.size(), 3U);
    EXPECT_EQ(notes[0].find("line 3: -A long is not honoured"), 0U) << notes[0];
    EXPECT_EQ(notes[1].find("line 3: --gres fpga:2 is not honoured"), 0U) << notes[1];
    EXPECT_EQ(notes[2].find("line 4: --frobnicate 3 is not honoured"), 0U) << notes[2];
}

TEST(SlurmLinesTest, gpus_have_no_types)
{
    EXPECT_EQ(words_of("#SBATCH --gres=gpu:2\n"), Words{"--gres=gpu:2"});
    EXPECT_EQ(words_of("#SBATCH --gres gpu\n"), Words{"--gres=gpu:1"});
    EXPECT_EQ(words_of("#SBATCH -G 4 --gpus-per-task=2\n#SBATCH --gpus-per-node 1\n"),
              (Words{"--gpus=4", "--gpus-per-task=2", "--gpus-per-node=1"}));
    const std::tuple<const char *, const char *> typed[] = {
        {"--gres=gpu:a100:2", "--gres=gpu:2"}, {"--gres=gpu:a100", "--gres=gpu:1"},
        {"--gres=gpu:a100:2,gpu:v100", "--gres=gpu:3"}, {"--gres=gres:gpu:k80:2", "--gres=gpu:2"},
        {"--gpus=v100:3", "--gpus=3"}, {"--gpus=v100:3,a100:1", "--gpus=4"},
        {"--gpus-per-task=a100:2", "--gpus-per-task=2"}};
    for (const auto &[line, word] : typed) {
        auto found = slurm_options(std::string("#!/bin/sh\n#SBATCH ") + line + "\n");
        ASSERT_TRUE(found) << found.error();
        EXPECT_EQ(found.value().words, Words{word});
        ASSERT_EQ(found.value().notes.size(), 1U);
        EXPECT_EQ(found.value().notes[0].find(std::string("line 2: ") + line +
                                              " is not honoured: GPUs of elasticd have no types"),
                  0U);
    }
}

TEST(SlurmLinesTest, other_devices_are_reported)
{
    const std::tuple<const char *, Words> lists[] = {{"gpu:1,nvme:10", {"--gres=gpu:1"}},
                                                     {"nvme:10,gpu:2", {"--gres=gpu:2"}},
                                                     {"fpga", {}}};
    for (const auto &[list, words] : lists) {
        auto found = slurm_options(std::string("#!/bin/sh\n#SBATCH --gres=") + list + "\n");
        ASSERT_TRUE(found) << found.error();
        EXPECT_EQ(found.value().words, words) << list;
        ASSERT_EQ(found.value().notes.size(), 1U);
        EXPECT_NE(found.value().notes[0].find("no other devices"), std::string::npos);
    }
    for (const char *line :
         {"--gres=none", "--gres=gpu:0", "--gres=gpu:a100:0,gpu:v100:0", "--gpus=0"})
        EXPECT_EQ(words_of("#SBATCH " + std::string(line) + "\n"), Words{}) << line;
    EXPECT_EQ(words_of("#SBATCH --gres=gpu:\n#SBATCH --gpus=9999999999999999999\n"),
              (Words{"--gres=gpu:", "--gpus=9999999999999999999"}))
        << "elastic submit refuses it";
}

TEST(SlurmLinesTest, files_have_the_names_of_the_batch_step)
{
    EXPECT_EQ(words_of("#SBATCH -o out.%J -e %x.%4J.%t%3n --input=%s.%%J%\n"),
              (Words{"--output=out.%j", "--error=%x.%4j.0000", "--input=batch.%%J%"}));
}

TEST(SlurmLinesTest, a_range_of_nodes_is_passed_on)
{
    EXPECT_EQ(words_of("#SBATCH --nodes=2-4 -n 4\n"), (Words{"--nodes=2-4", "--ntasks=4"}));
    EXPECT_EQ(words_of("#SBATCH -N 2-4\n"), (Words{"--nodes=2-4", "--ntasks-per-node=1"}));
}

TEST(SlurmLinesTest, the_command_line_has_the_reasons_too)
{
    EXPECT_EQ(why_not_honoured("-A"), "elasticd has users, no accounts");
    EXPECT_EQ(why_not_honoured("--account"), why_not_honoured("-A"));
    for (const char *option : {"-n", "--time", "--hold", "--nonsense", "-9", "-", ""})
        EXPECT_EQ(why_not_honoured(option), "") << option;
}

TEST(SlurmLinesTest, a_broken_line_is_named)
{
    EXPECT_EQ(error_of("#SBATCH -n 2\n#SBATCH 'x\n").find("line 3: "), 0U);
    EXPECT_NE(error_of("#SBATCH -n\n").find("'-n' has no value"), std::string::npos);
    EXPECT_NE(error_of("#SBATCH stray\n").find("'stray' is not an option"), std::string::npos);
    EXPECT_NE(error_of("#SBATCH -\n"), "");
}

}  // namespace
}  // namespace elastic
