/* See step_gpus.h. */

#include "slurm/step_gpus.h"

#include <algorithm>
#include <map>

#include "base/change.h"
#include "base/words.h"

namespace elastic::rm {

namespace {

constexpr int GPUS_PER_PROCESS_MAX = 1 << 10;

/* "VARIABLE,...:2:n0=0,1;n1=0,1" */
struct GpusOfJob {
    std::string head;           /* the variables, and the GPUs of each process */
    int per_process = 0;
    std::map<std::string, std::vector<std::string>> numbers;    /* by node */
};

/* per_process 0: of another form. */
GpusOfJob parse_gpus(const std::string &text)
{
    GpusOfJob gpus;
    size_t variables = text.find(':'), count = text.find(':', variables + 1);
    if (variables == std::string::npos || count == std::string::npos)
        return gpus;
    gpus.head = text.substr(0, count + 1);
    for (const std::string &node : split_list(text.substr(count + 1), ';')) {
        if (size_t sign = node.find('='); sign != std::string::npos)
            gpus.numbers[node.substr(0, sign)] = split_list(node.substr(sign + 1), ',');
    }
    auto per_process = parse_number(text.substr(variables + 1, count - variables - 1), 0,
                                    GPUS_PER_PROCESS_MAX);
    gpus.per_process = static_cast<int>(per_process.value_or(0));
    return gpus;
}

/* Of the slots from `first` on those that the step uses, as numbers on their node. */
std::vector<size_t> slots_on_node(const Layout &layout, int first, int count)
{
    std::vector<size_t> slots;
    for (int slot : layout.slots)
        if (slot >= first && slot < first + count)
            slots.push_back(static_cast<size_t>(slot - first));
    return slots;
}

}  // namespace

std::string gpus_of_step(const std::string &of_job, const JobSlots &allocated,
                         const Layout &layout)
{
    GpusOfJob gpus = parse_gpus(of_job);
    if (gpus.per_process == 0 || layout.slots.empty())
        return of_job;
    auto per_process = static_cast<size_t>(gpus.per_process);
    auto per_task = static_cast<size_t>(std::max(layout.slots_per_task, 1));
    int first = 0;
    std::vector<std::string> nodes;
    for (const ListedNode &node : allocated.nodes) {
        const std::vector<std::string> &numbers = gpus.numbers[node.name];
        std::vector<size_t> slots = slots_on_node(layout, first, std::max(node.cores, 1));
        std::vector<std::string> own;
        for (size_t i = 0; i < slots.size(); i += per_task) {
            size_t begin = slots[i] * per_process, end = begin + per_process;
            if (end > numbers.size())
                return of_job;
            for (size_t gpu = begin; gpu < end; gpu++)
                own.push_back(numbers[gpu]);
        }
        if (!own.empty())
            nodes.push_back(node.name + "=" + join_words(own, ","));
        first += std::max(node.cores, 1);
    }
    return gpus.head + join_words(nodes, ";");
}

}  // namespace elastic::rm
