/* See time_balance.h. */

#include "core/policy/time_balance.h"

namespace elastic::rm {

namespace {

constexpr int64_t GAIN_PER_STANDSTILL = 10, REMAINING_PER_DURATION = 4; /* K2 */
constexpr int64_t SOONER_PERCENT = 95; /* maximum part of the time without a change (Q6c) */

Balanced balanced(const BalanceMember &member)
{
    return {member.spec, member.work, member.low, member.high, member.unit, member.unit_cores};
}

/* A node that it has in part costs as much as a whole one (R5). */
int filled(const BalanceMember &member, int size)
{
    if (size == member.size || member.unit == 1)
        return size;
    int full = (size + member.unit - 1) / member.unit * member.unit;
    return std::max(size_at_most(*member.spec, std::min(full, member.high)), size);
}

/* Cores that no job needs to end in time return to their donors, smallest donation first. */
void give_back_what_is_left(const TimeBalance &balance, std::vector<int> &sizes)
{
    int64_t left = balance.cores;
    std::vector<std::pair<int64_t, size_t>> givers;
    for (size_t i = 0; i < sizes.size(); i++) {
        Balanced member = balanced(balance.members[i]);
        int present = balance.members[i].size;
        left -= member.cores(sizes[i]);
        if (sizes[i] < present)
            givers.emplace_back(member.cores(present) - member.cores(sizes[i]), i);
    }
    std::sort(givers.begin(), givers.end());
    for (const auto &[cores, i] : givers) {
        Balanced member = balanced(balance.members[i]);
        int64_t most = member.cores(sizes[i]) + left;
        int size = balance.members[i].size;
        while (member.cores(size) > most)
            size = size_at_most(*member.spec, size - 1);
        left = most - member.cores(size);
        sizes[i] = size;
    }
}

/* Of the changes with too little gain, the one with the smallest gain; the number of members:
 * there is none. */
size_t find_poorest(const TimeBalance &balance, const Balance &found)
{
    const auto &members = balance.members;
    int64_t longest_ms = 0;
    for (size_t i = 0; i < members.size(); i++)
        if (found.sizes[i] != members[i].size)
            longest_ms = std::max(longest_ms, members[i].times.standstill_ms);
    auto poorest = std::tuple(NEVER, NEVER, members.size());
    for (size_t i = 0; i < members.size(); i++) {
        const BalanceMember &member = members[i];
        bool grows = found.sizes[i] > member.size;
        if (found.sizes[i] == member.size)
            continue;
        int64_t gain_ms =
            (grows ? member.remaining_ms() : unchanged_end_ms(balance)) - found.end_ms;
        int64_t standstill_ms = grows ? member.times.standstill_ms : longest_ms;
        bool long_enough =
            !grows ||
            member.remaining_ms() >= REMAINING_PER_DURATION * member.times.duration_ms;
        auto poor = std::tuple(gain_ms, -member.times.standstill_ms, i);
        if ((gain_ms < GAIN_PER_STANDSTILL * standstill_ms || !long_enough) &&
            (std::get<2>(poorest) == members.size() || poor < poorest))
            poorest = poor;
    }
    return std::get<2>(poorest);
}

}  // namespace

int64_t unchanged_end_ms(const TimeBalance &balance)
{
    int64_t end_ms = 0;
    for (const BalanceMember &member : balance.members)
        end_ms = std::max(end_ms, member.remaining_ms());
    return end_ms;
}

std::optional<Balance> worthwhile(TimeBalance balance)
{
    std::optional<Balance> found;
    for (size_t poorest = 0; poorest < balance.members.size();) {
        std::vector<Balanced> jobs;
        for (const BalanceMember &member : balance.members)
            jobs.push_back(balanced(member));
        found = rm::balance(jobs, balance.cores);
        if (!found)
            return std::nullopt;
        for (size_t i = 0; i < jobs.size(); i++)
            found->sizes[i] = filled(balance.members[i], found->sizes[i]);
        give_back_what_is_left(balance, found->sizes);
        poorest = find_poorest(balance, *found);
        if (poorest < balance.members.size()) {
            BalanceMember &member = balance.members[poorest];
            member.low = member.high = member.size;
        }
    }
    int64_t duration_ms = NEVER;
    for (size_t i = 0; i < balance.members.size(); i++)
        if (found->sizes[i] != balance.members[i].size)
            duration_ms = std::max(duration_ms, balance.members[i].times.duration_ms);
    bool sooner = duration_ms != NEVER && (found->end_ms + duration_ms) * 100 <
                                              unchanged_end_ms(balance) * SOONER_PERCENT;
    return sooner ? found : std::nullopt;
}

}  // namespace elastic::rm
