/* See backfill_depth.h. */

#include "core/policy/backfill_depth.h"

namespace elastic::rm {

BackfillDepth::BackfillDepth(const State &state, const JobSpec &first)
{
    const State::Indices &indices = state.indices();
    int depth = state.config.backfill_depth, others = static_cast<int>(indices.queue.size());
    for (const auto &[name, queued] : indices.partitions) {
        parts_[name] = {depth, queued};
        others -= queued;
    }
    parts_[""] = {depth, others};
    parts_[queue_of(first)].unseen--;
    std::erase_if(parts_, [](const auto &part) { return part.second.unseen <= 0; });
    open_ = depth > 0 ? parts_.size() : 0;
}

bool BackfillDepth::takes(const JobSpec &spec)
{
    auto found = parts_.find(queue_of(spec));
    if (found == parts_.end() || found->second.left == 0 || found->second.unseen == 0)
        return false;
    Part &part = found->second;
    part.unseen--;
    part.left--;
    open_ -= part.left == 0 || part.unseen == 0;
    return true;
}

}  // namespace elastic::rm
