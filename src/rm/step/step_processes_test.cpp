/* Processes of a step whose supervisor has ended: those that are killed, and those that are not. */

#include "step/step_processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace elastic::rm {
namespace {

constexpr const char *FOLDER = "/var/lib/elasticd/steps/7.1";

/* The entry of an environment that names the step of this folder. */
std::string naming(const std::string &folder)
{
    std::string entry(STEP_FOLDER_VARIABLE);
    return entry.append("=").append(folder);
}

class StepProcessesTest : public testing::Test {
  protected:
    ~StepProcessesTest() override
    {
        for (pid_t pid : children_) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }

    /* Its environment is set as soon as this returns: exec closes the pipe. */
    pid_t run(const std::string &variable)
    {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
            char *environment[] = {const_cast<char *>(variable.c_str()), nullptr};
            execle("/bin/sleep", "sleep", "1000", nullptr, environment);
            _exit(127);
        }
        close(ends[1]);
        char byte;
        EXPECT_EQ(::read(ends[0], &byte, 1), 0);
        close(ends[0]);
        children_.push_back(pid);
        return pid;
    }
    bool is_killed(pid_t pid)
    {
        for (int i = 0; i < 200; i++) {
            int status = 0;
            if (waitpid(pid, &status, WNOHANG) == pid) {
                std::erase(children_, pid);
                return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }
    StepSpec spec(uint32_t uid = getuid())
    {
        StepSpec spec;
        spec.uid = uid;
        return spec;
    }
    static StepStartedFile started(pid_t pid) { return {1, pid, process_start(pid), boot_id()}; }

    std::vector<pid_t> children_;
};

TEST_F(StepProcessesTest, the_program_and_what_names_the_step_are_killed)
{
    pid_t program = run("A=1"), child = run(naming(FOLDER));
    EXPECT_EQ(kill_step_processes(spec(), started(program), FOLDER), 2u);
    EXPECT_TRUE(is_killed(program));
    EXPECT_TRUE(is_killed(child));
    EXPECT_EQ(kill_step_processes(spec(), started(program), FOLDER), 0u);
}

TEST_F(StepProcessesTest, a_number_that_is_another_processes_now_is_left_alone)
{
    pid_t other = run("A=1");
    setpgid(other, other);
    StepStartedFile file = started(other);
    file.pid_start--;
    EXPECT_EQ(kill_step_processes(spec(), file, FOLDER), 0u);
    EXPECT_FALSE(is_killed(other));
}

TEST_F(StepProcessesTest, other_steps_and_other_users_are_left_alone)
{
    pid_t program = run("A=1");
    StepStartedFile file = started(program);
    pid_t other_step = run(naming(FOLDER + std::string("0")));
    pid_t in_a_value = run("B=" + naming(FOLDER));
    EXPECT_EQ(kill_step_processes(spec(), file, FOLDER), 1u);
    EXPECT_TRUE(is_killed(program)) << "one that is still about to end would be counted again";
    pid_t other_user = run(naming(FOLDER));
    EXPECT_EQ(kill_step_processes(spec(getuid() + 1), file, FOLDER), 0u);
    for (pid_t pid : {other_step, in_a_value, other_user})
        EXPECT_FALSE(is_killed(pid));
}

TEST_F(StepProcessesTest, what_is_older_than_the_step_is_left_alone)
{
    pid_t older = run(naming(FOLDER));
    StepStartedFile file = started(older);
    file.pid = 1;
    file.pid_start += 1000;
    EXPECT_EQ(kill_step_processes(spec(), file, FOLDER), 0u);
    EXPECT_FALSE(is_killed(older));
}

}  // namespace
}  // namespace elastic::rm
