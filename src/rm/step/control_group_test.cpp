/* Control groups of the kernel: tests whose requirements are missing on this machine are skipped,
 * and name them. */

#include "step/control_group.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "step/confinement.h"

namespace elastic::rm {
namespace {

constexpr auto PATIENCE = std::chrono::seconds(60);

/* The mount point of a cgroup v2 file system; empty: none. */
std::string cgroup2_mount()
{
    std::ifstream mounts("/proc/self/mounts");
    std::string device, folder, type, rest;
    while (mounts >> device >> folder >> type && std::getline(mounts, rest))
        if (type == "cgroup2")
            return folder;
    return "";
}

std::string text_of(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

bool wait_until(const std::function<bool()> &condition)
{
    auto deadline = std::chrono::steady_clock::now() + PATIENCE;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

/* Starts a child in the group; its exit code is that of the function. */
pid_t start_in(const std::string &group, const std::function<int()> &task)
{
    pid_t child = fork();
    if (child == 0)
        _exit(enter_control_group(group) ? task() : 99);
    return child;
}

int status_of(pid_t child)
{
    int status = 0;
    return waitpid(child, &status, 0) == child ? status : -1;
}

class ControlGroupTest : public testing::Test {
  protected:
    void SetUp() override
    {
        std::string mount = cgroup2_mount();
        if (mount.empty())
            GTEST_SKIP() << "no cgroup v2 file system is mounted";
        base_ = mount + "/elastic-test-" + std::to_string(getpid());
        if (std::string error = make_control_group(base_); !error.empty()) {
            base_.clear();
            GTEST_SKIP() << error;
        }
        group_ = step_group(base_, 7, 2);
        ASSERT_EQ(make_control_group(group_), "");
    }
    void TearDown() override
    {
        if (base_.empty())
            return;
        kill_control_group(base_);
        wait_until([this] { return !is_populated(base_); });
        for (const std::string &each : {group_, base_ + "/steps", base_})
            remove_control_group(each);
        EXPECT_NE(access(base_.c_str(), F_OK), 0) << base_ << " is left";
    }
    std::string base_, group_;
};

TEST_F(ControlGroupTest, nothing_leaves_it_and_all_of_it_is_killed)
{
    EXPECT_FALSE(is_populated(group_));
    pid_t child = start_in(group_, [] {
        setsid();
        pid_t hidden = fork();
        if (hidden == 0) {
            setsid();
            clearenv();
        }
        pause();
        return 0;
    });
    auto members = [this] {
        std::istringstream lines(text_of(group_ + "/cgroup.procs"));
        int count = 0;
        for (std::string line; std::getline(lines, line);)
            count++;
        return count;
    };
    ASSERT_TRUE(wait_until([&] { return members() == 2; }));
    EXPECT_TRUE(is_populated(group_));
    remove_control_group(group_);
    EXPECT_EQ(access(group_.c_str(), F_OK), 0) << "one with members stays";
    kill_control_group(group_);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    EXPECT_TRUE(wait_until([this] { return !is_populated(group_); }));
    remove_control_group(group_);
    EXPECT_NE(access(group_.c_str(), F_OK), 0);
}

TEST_F(ControlGroupTest, made_twice_is_made_once)
{
    EXPECT_EQ(make_control_group(group_), "");
    EXPECT_NE(make_control_group(base_ + "/is/not/there"), "");
    EXPECT_FALSE(enter_control_group(base_ + "/not/there"));
    EXPECT_FALSE(is_populated(base_ + "/not/there"));
}

TEST_F(ControlGroupTest, the_folder_of_the_setting_must_be_cgroup2)
{
    auto made = steps_control_group(base_);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made.value(), base_);
    char name[] = "/tmp/no-control-group-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    auto refused = steps_control_group(name);
    rmdir(name);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().find("is not in a cgroup v2"), std::string::npos);
    EXPECT_EQ(steps_control_group("off").value(), "");
}

/* The group that systemd has marked as delegated, and no other. */
TEST_F(ControlGroupTest, by_itself_where_systemd_has_delegated)
{
    auto own = [this] {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        Descriptor from(ends[0]), to(ends[1]);
        pid_t child = start_in(group_, [&] {
            auto found = steps_control_group("auto");
            std::string text = found ? found.value() : "error " + found.error();
            return ::write(to.get(), text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1;
        });
        EXPECT_EQ(status_of(child), 0);
        to.reset();
        char text[512];
        ssize_t bytes = ::read(from.get(), text, sizeof text);
        return std::string(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
    };
    EXPECT_EQ(own(), "");
    if (setxattr(group_.c_str(), "trusted.delegate", "1", 1, 0) != 0)
        GTEST_SKIP() << "cannot mark a group as delegated: " << strerror(errno);
    if (base_.rfind("/sys/fs/cgroup/", 0) != 0)
        GTEST_SKIP() << "cgroup v2 is mounted at an unusual place";
    EXPECT_EQ(own(), group_ + "/steps");
    rmdir((group_ + "/steps").c_str());
}

/* ---- confinement by the kernel ---- */

class KernelConfinementTest : public ControlGroupTest {
  protected:
    void SetUp() override
    {
        ControlGroupTest::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        if (geteuid() != 0)
            GTEST_SKIP() << "only root locks as much memory as this takes";
        std::string missing = confinement_.open(base_);
        if (!missing.empty())
            GTEST_SKIP() << missing;
        cpu_set_t usable;
        ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
        processors_ = CPU_COUNT(&usable);
        ASSERT_EQ(confinement_.add_node("n0", processors_, processors_), "");
    }
    static constexpr int64_t MEMORY = 32 << 20;
    Confinement confinement_{{true, MEMORY}};
    int processors_ = 0;
};

TEST_F(KernelConfinementTest, a_step_has_only_its_processors)
{
    ASSERT_EQ(confinement_.apply(7, {{"n0", 1}}, group_), "");
    pid_t child = start_in(group_, [] {
        cpu_set_t mine;
        return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 98;
    });
    int status = status_of(child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(KernelConfinementTest, a_step_that_wants_more_memory_is_killed)
{
    ASSERT_EQ(confinement_.apply(7, {{"n0", 1}}, group_), "");
    auto use = [](size_t bytes) {
        return [bytes] {
            void *memory =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED || mlock(memory, bytes) != 0)
                return 98;
            memset(memory, 1, bytes);
            return 0;
        };
    };
    int small = status_of(start_in(group_, use(MEMORY / 4)));
    EXPECT_TRUE(WIFEXITED(small) && WEXITSTATUS(small) == 0);
    int large = status_of(start_in(group_, use(MEMORY * 2)));
    EXPECT_TRUE(WIFSIGNALED(large) && WTERMSIG(large) == SIGKILL);
}

/* Without the controllers elasticd reports at its start which one is missing, and where. */
TEST_F(ControlGroupTest, missing_features_of_the_kernel_are_reported)
{
    std::string offered = " " + text_of(base_ + "/cgroup.controllers") + " ";
    for (char &each : offered)
        each = each == '\n' ? ' ' : each;
    struct Case {
        const char *name;
        ConfinementConfig config;
    } cases[] = {{"cpuset", {true, 0}}, {"memory", {false, 1 << 20}}};
    for (const Case &each : cases) {
        bool is_there = offered.find(std::string(" ") + each.name + " ") != std::string::npos;
        std::string error = Confinement(each.config).open(base_);
        if (is_there)
            EXPECT_EQ(error, "");
        else
            EXPECT_NE(error.find(std::string("no controller ") + each.name), std::string::npos);
    }
}

}  // namespace
}  // namespace elastic::rm
