/* See timeline.h. */

#include "api/timeline.h"

#include <algorithm>

#include "core/record.h"

namespace elastic::rm {

void Timeline::close(Segment &segment, int64_t now_ms)
{
    segment.to_ms = now_ms;
    ended_.push_back(segment);
    if (ended_.size() > SEGMENTS_MAX) {
        dropped_until_ms_ = ended_.front().to_ms;
        ended_.pop_front();
    }
}

/* Only what changes is closed, so that a segment lasts as long as its number of cores. */
void Timeline::hold(JobId job, Held &held, const Blocks &blocks, int64_t now_ms)
{
    std::map<std::string, int> cores;
    for (const Block &block : blocks)
        cores[block.node] += block.processes * held.cores_per_process;
    for (auto entry = held.by_node.begin(); entry != held.by_node.end();) {
        auto now = cores.find(entry->first);
        bool same = now != cores.end() && now->second == entry->second.cores;
        if (!same)
            close(entry->second, now_ms);
        entry = same ? std::next(entry) : held.by_node.erase(entry);
    }
    for (const auto &[node, count] : cores)
        held.by_node.try_emplace(node, Segment{job, node, count, now_ms, NEVER});
}

void Timeline::add(const Record &record)
{
    if (record.event == record::SUBMITTED) {
        jobs_[record.job].cores_per_process = record.data.value("spec", Json::object()).value("cores_per_process", 1);
    } else if (record.event == record::PLACED || record.event == record::COMMITTED) {
        hold(record.job, jobs_[record.job], record.blocks, record.time_ms);
    } else if (record.event == record::ENDED || record.event == record::REQUEUED) {
        hold(record.job, jobs_[record.job], {}, record.time_ms);
        if (record.event == record::ENDED)
            jobs_.erase(record.job);
    }
}

std::vector<Segment> Timeline::between(int64_t from_ms, int64_t to_ms, bool &more) const
{
    std::vector<Segment> found;
    for (const Segment &segment : ended_)
        if (segment.to_ms >= from_ms && segment.from_ms <= to_ms)
            found.push_back(segment);
    for (const auto &[job, held] : jobs_)
        for (const auto &[node, segment] : held.by_node)
            if (segment.from_ms <= to_ms)
                found.push_back(segment);
    std::sort(found.begin(), found.end(), [](const Segment &x, const Segment &y) { return x.from_ms < y.from_ms; });
    more = dropped_until_ms_ > from_ms;
    return found;
}

}  // namespace elastic::rm
