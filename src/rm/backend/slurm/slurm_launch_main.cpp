/*
 * elastic-srun: srun for mpiexec under elasticd's Slurm back end (slurm_launch.h).  mpiexec starts
 * it as its launcher's program; it becomes srun with the number of the Slurm job that has the node.
 *
 * After a restart of elasticd the file may be written a little later than mpiexec needs it:
 * elastic-srun waits for it.
 */

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "backend/slurm/slurm_launch.h"
#include "step/step_spec.h"

namespace elastic::rm {
namespace {

constexpr auto WAIT = std::chrono::seconds(30);
constexpr auto LOOK_EVERY = std::chrono::milliseconds(50);

int complain(const std::string &text)
{
    std::cerr << "elastic-srun: " << text << std::endl;
    return 1;
}

std::optional<uint64_t> wait_for(const std::string &path, const std::string &node)
{
    auto end = std::chrono::steady_clock::now() + WAIT;
    for (;;) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        auto id = find_slurm_job(text.str(), node);
        if (id || std::chrono::steady_clock::now() > end)
            return id;
        std::this_thread::sleep_for(LOOK_EVERY);
    }
}

int run(const std::vector<std::string> &words)
{
    const char *folder = getenv(STEP_FOLDER_VARIABLE);
    if (!folder)
        return complain("this is the launcher of jobs under elasticd; outside of them mpiexec uses "
                        "srun itself");
    auto node = node_of_srun(words);
    if (!node)
        return complain("a step on one node was expected (--nodelist NODE)");
    std::string path = std::string(folder) + "/" + SLURM_JOBS_FILE;
    auto id = wait_for(path, *node);
    if (!id)
        return complain("node " + *node + " belongs to no Slurm job of this step (" + path + ")");
    for (const std::string &name : misleading_variables(environ))
        unsetenv(name.c_str());
    std::vector<std::string> all = srun_options(*id);
    all.insert(all.begin(), "srun");
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char *> arguments;
    for (std::string &word : all)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp("srun", arguments.data());
    return complain("cannot run srun: " + std::string(strerror(errno)) +
                    "; are Slurm's commands on this machine?");
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    return elastic::rm::run(std::vector<std::string>(argv + 1, argv + argc));
}
