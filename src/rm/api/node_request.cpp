/* See node_request.h. */

#include "api/node_request.h"

#include <algorithm>
#include <ranges>

namespace elastic::rm {

namespace {

/* Nodes are filled in sequence, so that some numbers of processes need fewer nodes. */
[[noreturn]] void fail_with_use(const BodyReader &body, const JobSpec &spec, int nodes, int used)
{
    std::string text = "is " + std::to_string(nodes) + ", but " + std::to_string(spec.minimum) +
                       " processes, at most " + std::to_string(spec.processes_per_node) +
                       " on each node, use " + std::to_string(used) + " nodes: give " +
                       std::to_string(used) + " nodes, or ";
    if (spec.elasticity == Elasticity::RIGID)
        body.fail("nodes", text + std::to_string(int64_t{nodes} * spec.processes_per_node) +
                               " processes at most");
    body.fail("nodes", text + "a multiple of " + std::to_string(nodes) +
                           " processes; a rigid job may have any number");
}

JobSpec on_number(JobSpec spec, int nodes)
{
    spec.whole_nodes = true;
    spec.nodes = nodes;
    return spec;
}

/* At least as many as its processes need, on the largest nodes; a node without a process is not
 * used. */
int number_for_rigid(const JobSpec &spec, NodeRange range, const CapacityOf &capacity_of)
{
    int most = std::min(range.maximum, spec.minimum);
    int needed = std::max(range.minimum, static_cast<int>(spec.nodelist.size()));
    if (needed >= most)
        return most;
    auto capacity = [&](int nodes) { return capacity_of(on_number(spec, nodes)); };
    /* it grows with the number, and is 0 if there are not so many nodes */
    auto numbers = std::views::iota(needed, most);
    int number = *std::ranges::partition_point(numbers, [&](int nodes) {
        int here = capacity(nodes);
        return here > 0 && here < spec.minimum;
    });
    return capacity(number) >= spec.minimum ? number : most;
}

}  // namespace

NodeRange read_node_range(BodyReader &body)
{
    constexpr int64_t MOST = int64_t{1} << 20;
    NodeRange range;
    range.minimum = static_cast<int>(body.number("nodes", 1, MOST, 0));
    range.maximum = static_cast<int>(body.number("nodes_max", 1, MOST, range.minimum));
    if (range.maximum < range.minimum)
        body.fail("nodes_max", "is below nodes: exchange them");
    if (range.minimum == 0 && range.maximum > 0)
        body.fail("nodes_max", "needs nodes, the smallest number");
    return range;
}

int processes_on_nodes(JobSpec spec, int nodes, const CapacityOf &capacity_of)
{
    return capacity_of(on_number(std::move(spec), nodes));
}

int put_on_nodes(const BodyReader &body, JobSpec &spec, NodeRange range,
                 const CapacityOf &capacity_of, std::vector<std::string> &notes)
{
    if (range.minimum == 0)
        return 0;
    spec.whole_nodes = true;
    if (spec.elasticity != Elasticity::RIGID) {
        if (range.maximum > range.minimum)
            body.fail("nodes_max", "is for a rigid job: an elastic one gets more nodes when it "
                                   "grows");
        if (!spec.processes_per_node)
            spec.processes_per_node = quotient_up(spec.minimum, range.minimum);
        if (int used = quotient_up(spec.minimum, spec.processes_per_node); used != range.minimum)
            fail_with_use(body, spec, range.minimum, used);
        return range.minimum;
    }
    spec.nodes = number_for_rigid(spec, range, capacity_of);
    if (spec.processes_per_node > 0 && even_share(spec) > spec.processes_per_node)
        fail_with_use(body, spec, range.maximum,
                      quotient_up(spec.minimum, spec.processes_per_node));
    if (spec.nodes < range.minimum)
        notes.push_back("the job gets " + std::to_string(spec.nodes) +
                        (spec.nodes == 1 ? " node" : " nodes") + " instead of " +
                        std::to_string(range.minimum) + ", one for each process");
    return spec.nodes;
}

}  // namespace elastic::rm
