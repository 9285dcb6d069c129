/* See placement.h: lists of blocks. */

#include "core/placement.h"

#include <numeric>

namespace elastic::rm {

Blocks gathered(const Blocks &blocks)
{
    auto is_not_before = [](const Block &a, const Block &b) {
        return a.node.number() >= b.node.number();
    };
    bool each_once = std::ranges::adjacent_find(blocks, is_not_before) == blocks.end();
    if (each_once)              /* the usual case: they rise */
        return blocks;
    Blocks all;
    std::unordered_map<uint32_t, size_t> known;
    for (const Block &block : blocks) {
        auto [found, is_new] = known.try_emplace(block.node.number(), all.size());
        if (is_new)
            all.push_back(block);
        else
            all[found->second].processes += block.processes;
    }
    return all;
}

namespace {

/* Like append, for a call for each block of a long list. */
inline void append_block(Blocks &blocks, const Block &block)
{
    if (!blocks.empty() && blocks.back().node == block.node)
        blocks.back().processes += block.processes;
    else
        blocks.push_back(block);
}

}  // namespace

void append(Blocks &blocks, const Block &block)
{
    append_block(blocks, block);
}

Blocks append(Blocks first, const Blocks &second)
{
    first.reserve(first.size() + second.size());
    for (const Block &block : second)
        append_block(first, block);
    return first;
}

Blocks without(const Blocks &blocks, const std::vector<int> &leave, Blocks *left)
{
    Blocks staying(blocks.size());
    size_t count = 0;           /* number of them that count */
    auto stay = [&](const NodeName &node, int processes) {
        if (count > 0 && staying[count - 1].node == node)
            staying[count - 1].processes += processes;
        else
            staying[count++] = {node, processes};
    };
    auto next = leave.begin();
    bool contiguous =
        !leave.empty() && leave.back() - leave.front() + 1 == static_cast<int>(leave.size());
    auto before = [&](int end) {        /* of those from `next` on */
        return contiguous ? next + std::min<std::ptrdiff_t>(leave.end() - next, end - *next)
                          : std::lower_bound(next, leave.end(), end);
    };
    int rank = 0;
    for (const Block &block : blocks) {
        int end = rank + block.processes;
        bool stays = next == leave.end() || *next >= end;
        auto last = stays ? next : before(end);
        int leaving = static_cast<int>(last - next);
        if (leaving < block.processes)
            stay(block.node, block.processes - leaving);
        if (leaving > 0 && left)
            append_block(*left, {block.node, leaving});
        next = last;
        rank = end;
    }
    staying.resize(count);
    return staying;
}

std::vector<int> choose_leaving(const State &state, const Blocks &blocks, int count)
{
    const FreeCores &nodes = state.free_cores();
    auto is_up = [&](const Block &block) {
        uint32_t position = nodes.position(block.node);
        return position != PositionSet::NONE && nodes.usable(position);
    };
    std::vector<int> leave;
    if (std::ranges::all_of(blocks, is_up)) {
        int end = count_processes(blocks);
        leave.resize(static_cast<size_t>(std::clamp(count, 0, end)));
        std::iota(leave.begin(), leave.end(), end - static_cast<int>(leave.size()));
        return leave;
    }
    auto choose = [&](bool from_up_nodes) {
        int end = count_processes(blocks);
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            bool up = is_up(*block);
            for (int i = 1; i <= block->processes && up == from_up_nodes; i++) {
                if (static_cast<int>(leave.size()) == count)
                    return;
                leave.push_back(end - i);
            }
            end -= block->processes;
        }
    };
    choose(false);
    choose(true);
    std::reverse(leave.begin(), leave.end());
    if (!std::is_sorted(leave.begin(), leave.end()))
        std::sort(leave.begin(), leave.end());
    return leave;
}

}  // namespace elastic::rm
