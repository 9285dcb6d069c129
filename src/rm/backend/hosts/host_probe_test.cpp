/* The output of the script on this machine, and the meaning of valid and invalid answers of
 * hosts. */

#include "backend/hosts/host_probe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace elastic::rm {
namespace {

namespace fs = std::filesystem;

class HostProbeTest : public testing::Test {
  protected:
    HostProbeTest()
    {
        char name[] = "/tmp/probe-test-XXXXXX";
        folder_ = mkdtemp(name);
        fs::create_directories(folder_ / "it's here/bin");
        fs::create_directories(folder_ / "it's here/lib");
        write(proxy(), "#!/bin/sh\n");
        write(library(), "no library, but a file");
        fs::permissions(proxy(), fs::perms::owner_all);
    }
    ~HostProbeTest() override { fs::remove_all(folder_); }

    fs::path proxy() const { return folder_ / "it's here/bin/hydra_pmi_proxy"; }
    fs::path library() const { return folder_ / "it's here/lib/libmpi.so"; }
    std::string mpiexec() const { return folder_ / "it's here/bin/mpiexec"; }
    static void write(const fs::path &path, const std::string &text)
    {
        std::ofstream(path) << text;
    }

    /* In place of ssh. */
    CommandEnd run(const std::string &script) const
    {
        write(folder_ / "script", script);
        FILE *pipe = popen(
            ("echo Welcome; echo elastic; sh -s <" + (folder_ / "script").string()).c_str(), "r");
        CommandEnd end;
        end.started = true;
        char block[4096];
        for (size_t bytes; (bytes = fread(block, 1, sizeof block, pipe)) > 0;)
            end.output.append(block, bytes);
        end.exit_code = pclose(pipe);
        return end;
    }

    HostReport poll() const
    {
        auto files = installed_;
        int64_t now_ms = unix_ms();
        CommandEnd end = run(probe_script(files));
        return judge("h1", end, files, now_ms, unix_ms(), "ssh h1");
    }

    fs::path folder_;
    std::vector<InstalledFile> installed_;
};

TEST_F(HostProbeTest, AGoodHost)
{
    installed_ = installed_files(mpiexec());
    ASSERT_EQ(installed_.size(), 2u);
    HostReport seen = poll();
    EXPECT_EQ(seen.health, HostHealth::WELL) << seen.reason;
    EXPECT_GE(seen.cores, 1);
    EXPECT_EQ(seen.clock_offset_s, 0);
    EXPECT_EQ(seen.reason, "");
}

TEST_F(HostProbeTest, WhatIsMissingIsNamed)
{
    installed_ = installed_files(mpiexec());
    write(library(), "another version");
    HostReport seen = poll();
    EXPECT_EQ(seen.health, HostHealth::UNFIT);
    EXPECT_NE(seen.reason.find("host h1"), std::string::npos);
    EXPECT_NE(seen.reason.find("libmpi.so differs"), std::string::npos) << seen.reason;
    fs::remove(proxy());
    seen = poll();
    EXPECT_EQ(seen.health, HostHealth::UNFIT);
    EXPECT_NE(seen.reason.find("hydra_pmi_proxy is missing"), std::string::npos) << seen.reason;
}

TEST_F(HostProbeTest, WithoutAnInstallationHereNothingIsCompared)
{
    EXPECT_TRUE(installed_files("/nonexistent/bin/mpiexec").empty());
    EXPECT_EQ(poll().health, HostHealth::WELL);
}

HostReport judge_text(const std::string &output, int64_t queried_ms = 1000000,
                    int64_t answered_ms = 1000100)
{
    CommandEnd end;
    end.started = true;
    end.exit_code = 0;
    end.output = output;
    return judge("h1", end, {}, queried_ms, answered_ms, "ssh h1");
}

TEST(JudgeTest, Clocks)
{
    auto offset = [](int64_t time_s) {
        return judge_text("elastic-probe 1\ncores 4\ntime " + std::to_string(time_s) +
                          "\nelastic-probe end\n")
            .clock_offset_s;
    };
    EXPECT_EQ(offset(1000), 0);
    EXPECT_EQ(offset(1010), 9);
    EXPECT_EQ(offset(900), -99);
}

TEST(JudgeTest, ACutAnswerIsNone)
{
    EXPECT_EQ(judge_text("elastic-probe 1\ncores 4\ntime 1000\n").health, HostHealth::NO_ACCESS);
    EXPECT_EQ(judge_text("cores 4\nelastic-probe end\n").health, HostHealth::NO_ACCESS);
    EXPECT_EQ(judge_text("elastic-probe 1\nelastic-probe end\n").health, HostHealth::UNFIT);
    EXPECT_EQ(judge_text("elastic-probe 1\ncores 4\nlacks libx.so.1\nelastic-probe end\n").health,
              HostHealth::UNFIT);
}

TEST(JudgeTest, MessagesOfSshBecomeAdvice)
{
    auto poll = [](const std::string &errors, bool timed_out = false) {
        CommandEnd end;
        end.started = true;
        end.timed_out = timed_out;
        end.exit_code = 255;
        end.errors = errors;
        end.problem = timed_out ? "ssh gave no answer within 10 ms" : "ssh ended with code 255";
        return judge("h1", end, {}, 0, 0, "ssh -F f h1");
    };
    HostReport seen = poll("ssh: Could not resolve hostname h1: Name or service not known\r\n");
    EXPECT_EQ(seen.health, HostHealth::NO_ACCESS);
    EXPECT_EQ(
        seen.reason,
        "host h1 cannot be used: ssh: Could not resolve hostname h1: Name or service not known "
        "(check the name in the list of hosts (backend.hosts) and the name service of this "
        "machine; try: ssh -F f h1 true)");
    EXPECT_EQ(poll("root@h1: Permission denied (publickey).").health, HostHealth::NO_ACCESS);
    EXPECT_EQ(poll("Host key verification failed.").health, HostHealth::NO_ACCESS);
    EXPECT_EQ(poll("ssh: connect to host h1 port 22: Connection refused").health,
              HostHealth::NO_ACCESS);
    EXPECT_EQ(poll("ssh: connect to host h1 port 22: No route to host").health,
              HostHealth::NO_ANSWER);
    EXPECT_EQ(poll("ssh: connect to host h1 port 22: Connection timed out").health,
              HostHealth::NO_ANSWER);
    EXPECT_EQ(poll("Connection timed out during banner exchange").health, HostHealth::NO_ACCESS);
    EXPECT_EQ(poll("", true).health, HostHealth::NO_ACCESS) << "load alone ends no job";
    EXPECT_NE(poll("", true).reason.find("no answer in time"), std::string::npos);
}

TEST(JudgeTest, AMissingSshIsNoFindingAboutTheHost)
{
    CommandEnd end;
    end.problem = "cannot run myssh: No such file or directory";
    HostReport seen = judge("h1", end, {}, 0, 0, "myssh h1");
    EXPECT_EQ(seen.health, HostHealth::NO_ACCESS);
    EXPECT_NE(seen.reason.find("cannot run myssh"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
