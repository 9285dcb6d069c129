/* See pset_invalidation.h. */

#include "stepmgr/psets/pset_invalidation.h"

#include <iterator>

namespace elastic {

uint64_t SetForgets::begin(const std::set<Agent> &agents)
{
    last_++;
    if (!agents.empty())
        owed_[last_] = agents;
    return last_;
}

/* Of one daemon they come in order. */
bool SetForgets::confirmed(const Agent &agent, uint64_t number)
{
    auto owed = owed_.find(number);
    if (owed == owed_.end() || owed->second.erase(agent) == 0)
        return false;
    if (owed->second.empty())
        owed_.erase(owed);
    return true;
}

void SetForgets::departed(const Agent &agent)
{
    for (auto owed = owed_.begin(); owed != owed_.end();) {
        owed->second.erase(agent);
        owed = owed->second.empty() ? owed_.erase(owed) : std::next(owed);
    }
}

std::vector<SetReply> SetForgets::take_answers()
{
    std::vector<SetReply> replies;
    while (!answers_.empty() && (owed_.empty() || answers_.front().behind < owed_.begin()->first)) {
        replies.push_back(std::move(answers_.front().reply));
        answers_.pop_front();
    }
    return replies;
}

}  // namespace elastic
