/* See timeline.h. */

#include "monitor/timeline.h"

#include <algorithm>

#include "core/record.h"

namespace elastic::rm {

void Timeline::close(Held &held, Segment &segment, int64_t now_ms)
{
    segment.to_ms = now_ms;
    held.core_ms += segment.cores * (segment.to_ms - segment.from_ms);
    ended_.push_back(segment);
    if (ended_.size() > SEGMENTS_MAX) {
        dropped_until_ms_ = ended_.front().to_ms;
        ended_.pop_front();
    }
}

/* Only changed segments are closed, so that a segment lasts as long as its number of cores. */
void Timeline::hold(JobId job, Held &held, const Blocks &blocks, int64_t now_ms)
{
    std::map<uint32_t, std::pair<NodeName, int>> cores;
    for (const Block &block : blocks) {
        auto &[node, count] = cores[block.node.number()];
        node = block.node;
        count += block.processes * held.cores_per_process;
    }
    for (auto entry = held.by_node.begin(); entry != held.by_node.end();) {
        auto now = cores.find(entry->first);
        bool same = now != cores.end() && now->second.second == entry->second.cores;
        if (!same)
            close(held, entry->second, now_ms);
        entry = same ? std::next(entry) : held.by_node.erase(entry);
    }
    for (const auto &[number, here] : cores) {
        auto [segment, is_new] = held.by_node.try_emplace(number);
        if (is_new)
            segment->second = {++last_number_, job,   here.first, here.second,
                               now_ms,         NEVER, held.uid};
    }
}

Timeline::Held &Timeline::held_by(JobId job)
{
    auto [held, is_new] = jobs_.try_emplace(job);
    auto submitted = submitted_.extract(job);
    if (is_new && !submitted.empty())
        static_cast<Submitted &>(held->second) = submitted.mapped();
    return held->second;
}

void Timeline::add(const Record &record)
{
    if (record.event == record::SUBMITTED) {
        if (record.spec)
            submitted_[record.job] = {record.spec->cores_per_process, record.spec->uid};
    } else if (record.event == record::ALLOCATED || record.event == record::COMMITTED ||
               record.event == record::LEFT) {
        hold(record.job, held_by(record.job), record.blocks, record.time_ms);
    } else if (record.event == record::ENDED || record.event == record::REQUEUED) {
        Held &held = held_by(record.job);
        hold(record.job, held, {}, record.time_ms);
        if (record.event == record::ENDED) {
            core_ms_of_ended_[record.job] = held.core_ms;
            jobs_.erase(record.job);
        }
    }
}

template <class Visit> void Timeline::each(Visit visit) const
{
    for (const Segment &segment : ended_)
        visit(segment);
    for (const auto &[job, held] : jobs_)
        for (const auto &[node, segment] : held.by_node)
            visit(segment);
}

Timeline::Found Timeline::between(const Query &query) const
{
    Found found;
    std::vector<const Segment *> touching;
    each([&](const Segment &segment) {
        bool touches = segment.from_ms <= query.to_ms &&
            (segment.to_ms == NEVER || segment.to_ms >= query.from_ms);
        if (touches && segment.number < query.before &&
            (!query.nodes || query.nodes->contains(segment.node)))
            touching.push_back(&segment);
    });
    auto newer = [](const Segment *x, const Segment *y) { return x->number > y->number; };
    found.older = touching.size() > query.limit;
    if (found.older) {
        auto end = touching.begin() + static_cast<std::ptrdiff_t>(query.limit);
        std::nth_element(touching.begin(), end, touching.end(), newer);
        touching.erase(end, touching.end());
    }
    std::sort(touching.rbegin(), touching.rend(), newer);
    for (const Segment *segment : touching)
        found.segments.push_back(*segment);
    found.discarded = dropped_until_ms_ > query.from_ms;
    return found;
}

/* A segment adds its part to the columns in which it begins and ends.  For the columns between,
 * it adds a step at the start and its reverse at the end, so that its length costs nothing. */
std::vector<std::vector<double>> Timeline::use(int64_t from_ms, int64_t to_ms, size_t columns,
                                               const NodeTable &group_of, size_t groups) const
{
    std::vector<std::vector<double>> part(groups, std::vector<double>(columns)), step = part;
    double width = static_cast<double>(std::max<int64_t>(to_ms - from_ms, 1)) /
        static_cast<double>(columns);
    each([&](const Segment &segment) {
        uint32_t group = group_of.of(segment.node);
        int64_t begin = std::max(segment.from_ms, from_ms);
        int64_t end = segment.to_ms == NEVER ? to_ms : std::min(segment.to_ms, to_ms);
        if (group == NodeTable::NONE || end <= begin)
            return;
        double left = static_cast<double>(begin - from_ms) / width,
               right = static_cast<double>(end - from_ms) / width;
        size_t first = std::min(static_cast<size_t>(left), columns - 1);
        size_t last = std::min(static_cast<size_t>(right), columns - 1);
        auto &parts = part[group], &steps = step[group];
        if (first == last) {
            parts[first] += segment.cores * (right - left);
            return;
        }
        parts[first] += segment.cores * (static_cast<double>(first + 1) - left);
        parts[last] += segment.cores * (right - static_cast<double>(last));
        steps[first + 1] += segment.cores;
        steps[last] -= segment.cores;
    });
    for (size_t group = 0; group < groups; group++) {
        double held = 0;
        for (size_t column = 0; column < columns; column++) {
            held += step[group][column];
            part[group][column] += held;
        }
    }
    return part;
}

int64_t Timeline::first_ms() const
{
    int64_t first_ms = NEVER;
    each([&](const Segment &segment) {
        first_ms = first_ms == NEVER ? segment.from_ms : std::min(first_ms, segment.from_ms);
    });
    return first_ms;
}

int64_t Timeline::core_ms(JobId job, int64_t now_ms) const
{
    auto found = jobs_.find(job);
    if (found == jobs_.end())
        return 0;
    int64_t sum = found->second.core_ms;
    for (const auto &[node, segment] : found->second.by_node)
        sum += segment.cores * std::max<int64_t>(now_ms - segment.from_ms, 0);
    return sum;
}

int64_t Timeline::take_core_ms(JobId job)
{
    auto found = core_ms_of_ended_.extract(job);
    return found.empty() ? 0 : found.mapped();
}

}  // namespace elastic::rm
