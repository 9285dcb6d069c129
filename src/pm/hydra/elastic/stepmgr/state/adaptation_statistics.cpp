/* See adaptation_statistics.h. */

#include "stepmgr/state/adaptation_statistics.h"

namespace elastic {

void AdaptationStatistics::add_size(int size)
{
    if (sizes_.size() < SIZES_MAX)
        sizes_.push_back(size);
}

void AdaptationStatistics::add_times(const Adaptation &adaptation, int64_t now_ms)
{
    bool agreed = adaptation.agreed_ms > 0;
    launch_ms_ += adaptation.ready_ms - adaptation.requested_ms;
    agree_ms_ += (agreed ? adaptation.agreed_ms : now_ms) - adaptation.ready_ms;
    window_ms_ += agreed ? now_ms - adaptation.agreed_ms : 0;
}

void AdaptationStatistics::add_end(AdaptState end)
{
    (end == AdaptState::COMMITTED   ? committed_
     : end == AdaptState::WITHDRAWN ? withdrawn_
                                    : failed_)++;
}

std::string AdaptationStatistics::summary(int size_now) const
{
    if (committed_ + withdrawn_ + failed_ == 0)
        return "";
    std::string text = "adaptations: " + std::to_string(committed_) + " committed, " +
                       std::to_string(withdrawn_) + " withdrawn, " + std::to_string(failed_) +
                       " failed; world size";
    for (size_t i = 0; i < sizes_.size(); i++)
        text += (i == 0 ? " " : " -> ") + std::to_string(sizes_[i]);
    if (committed_ + 1 > sizes_.size())
        text += " -> ... -> " + std::to_string(size_now);
    if (committed_ > 0) {
        auto mean = [&](int64_t sum) {
            return std::to_string(sum / static_cast<int64_t>(committed_)) + " ms";
        };
        text += "; mean time to be ready " + mean(launch_ms_) + ", to agree " + mean(agree_ms_) +
                ", from agreement to commit " + mean(window_ms_);
    }
    return text;
}

}  // namespace elastic
