/* See machine.h. */

#include "sim/traces/machine.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace elastic::rm {

namespace {

constexpr int64_t NODES_MAX = 10000000, CORES_MAX = 100000;

/* 0: not such a number. */
int64_t number(std::string_view text, int64_t most)
{
    int64_t value = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool whole = wrong == std::errc() && end == text.data() + text.size();
    return whole && value >= 1 && value <= most ? value : 0;
}

}  // namespace

int64_t Machine::nodes() const
{
    int64_t sum = 0;
    for (const NodeKind &kind : kinds)
        sum += kind.nodes;
    return sum;
}

int64_t Machine::cores() const
{
    int64_t sum = 0;
    for (const NodeKind &kind : kinds)
        sum += kind.nodes * kind.cores;
    return sum;
}

int Machine::largest_node() const
{
    int largest = 1;
    for (const NodeKind &kind : kinds)
        largest = std::max(largest, kind.cores);
    return largest;
}

std::string Machine::words() const
{
    std::string text;
    for (const NodeKind &kind : kinds) {
        const char *nodes = text.empty() ? " nodes of " : " of ";
        text += (text.empty() ? "" : ", ") + std::to_string(kind.nodes) + nodes +
            std::to_string(kind.cores) + (text.empty() ? " cores" : "");
    }
    return text;
}

Result<Machine> read_machine(const std::string &text, int cores)
{
    if (int64_t nodes = number(text, NODES_MAX); nodes > 0 && cores > 0)
        return Machine{{{nodes, cores}}};
    if (cores > 0)
        return Error{"--nodes is a number from 1 to 10000000 if --cores is given"};
    Machine machine;
    for (size_t from = 0; from <= text.size();) {
        size_t comma = std::min(text.find(',', from), text.size());
        std::string_view kind = std::string_view(text).substr(from, comma - from);
        size_t times = std::min(kind.find('x'), kind.size());
        int64_t nodes = number(kind.substr(0, times), NODES_MAX);
        int64_t each = times < kind.size() ? number(kind.substr(times + 1), CORES_MAX) : 0;
        if (nodes == 0 || each == 0)
            return Error{"give --nodes N --cores C, or of several kinds --nodes NxC,NxC,..."};
        machine.kinds.push_back({nodes, static_cast<int>(each)});
        from = comma + 1;
    }
    if (machine.nodes() > NODES_MAX)
        return Error{"--nodes: more than 10000000 nodes"};
    return machine;
}

}  // namespace elastic::rm
