/* See child_processes.h. */

#include "step/child_processes.h"

#include <dirent.h>

#include <fstream>
#include <memory>
#include <string>

namespace elastic::rm {

std::vector<pid_t> children_of(pid_t pid)
{
    std::vector<pid_t> found;
    std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    std::unique_ptr<DIR, int (*)(DIR *)> threads(opendir(tasks.c_str()), closedir);
    while (dirent *entry = threads ? readdir(threads.get()) : nullptr) {
        std::ifstream children(tasks + "/" + entry->d_name + "/children");
        for (pid_t child; children >> child;)
            found.push_back(child);
    }
    return found;
}

std::vector<pid_t> descendants_of(pid_t pid)
{
    constexpr size_t PROCESSES_MAX = 1 << 20;
    std::vector<pid_t> found = children_of(pid);
    for (size_t i = 0; i < found.size() && found.size() < PROCESSES_MAX; i++) {
        std::vector<pid_t> next = children_of(found[i]);
        found.insert(found.end(), next.begin(), next.end());
    }
    return found;
}

}  // namespace elastic::rm
