/* See size_source.h. */

#include "stepmgr/requests/size_source.h"

#include <algorithm>

namespace elastic {

Result<SizeSource> SizeSource::create(const step_config &config)
{
    SizeSource offers;
    offers.interval_ms_ = std::max<int64_t>(config.interval_ms, 0);
    bool range_given = config.range_min != 0 || config.range_max != 0;
    if (config.schedule && config.policy)
        return Error{"--adapt-schedule and --adapt-policy exclude each other: give one of them"};
    if (range_given && config.schedule)
        return Error{"--adapt-range is for a policy or for requests, not for --adapt-schedule: "
                     "leave "
                     "it out"};
    if (range_given && (config.range_min < 1 || config.range_max < config.range_min))
        return Error{"--adapt-range must be MIN:MAX with 1 <= MIN <= MAX, such as 1:8"};
    if (range_given)
        offers.given_range_ = offers.range_ = Range{config.range_min, config.range_max};
    if (range_given && !config.policy)
        offers.requests_range_ = Range{config.range_min, config.range_max};
    if (config.schedule) {
        auto schedule = parse_schedule(config.schedule, config.size, config.programs);
        if (!schedule)
            return Error{schedule.error()};
        offers.schedule_ = std::move(schedule.value());
    }
    if (config.policy) {
        auto policy =
            Policy::parse(config.policy, Range{config.range_min, config.range_max}, config.seed);
        if (!policy)
            return Error{policy.error()};
        offers.policy_ = policy.value();
    }
    return offers;
}

bool SizeSource::limit(const Range &hinted)
{
    if (!given_range_)
        return false;
    Range both = {std::max(given_range_->min, hinted.min), std::min(given_range_->max, hinted.max)};
    if (both.min > both.max)
        return false;
    range_ = both;
    if (policy_)
        policy_->limit(both);
    return true;
}

void SizeSource::launched(int64_t launch_ms)
{
    launch_ms_ = launch_ms;
}

void SizeSource::adaptive(int64_t now_ms)
{
    not_before_ms_ = policy_ ? now_ms + interval_ms_ : now_ms;
}

std::optional<int64_t> SizeSource::due() const
{
    if (policy_)
        return not_before_ms_;
    if (next_entry_ == schedule_.size())
        return std::nullopt;
    const ScheduleEntry &entry = schedule_[next_entry_];
    return entry.at_ms ? std::max(launch_ms_ + *entry.at_ms, not_before_ms_) : not_before_ms_;
}

std::optional<SizeRequest> SizeSource::take(int64_t now_ms, int present, const ProgramSizes *rule)
{
    auto when = due();
    if (!when || *when > now_ms)
        return std::nullopt;
    SizeRequest request;
    if (!policy_) {
        request.origin = Origin::SCHEDULE;
        request.wanted = schedule_[next_entry_++].change;
        request.entry = next_entry_;
        return request;
    }
    if (policy_->skips()) {
        not_before_ms_ = now_ms + std::max(interval_ms_, SKIP_MS);
        return std::nullopt;
    }
    auto size = policy_->next_size(present, rule);
    if (!size) {
        policy_.reset();        /* the range contains no other size: no more offers */
        return std::nullopt;
    }
    request.origin = Origin::POLICY;
    request.wanted.size = *size;
    return request;
}

void SizeSource::postpone(int64_t now_ms)
{
    not_before_ms_ = now_ms + std::max(interval_ms_, RETRY_MS);
}

bool SizeSource::ended(int64_t now_ms, bool committed)
{
    if (!policy_) {
        not_before_ms_ = now_ms;
        return false;
    }
    failures_ = committed ? 0 : failures_ + 1;
    not_before_ms_ = now_ms + (committed ? interval_ms_ : std::max(interval_ms_, RETRY_MS));
    if (failures_ < FAILURES_MAX)
        return false;
    policy_.reset();
    return true;
}

}  // namespace elastic
