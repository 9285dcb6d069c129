/* See job.h. */

#include "core/job.h"

namespace elastic::rm {

int count_processes(const Blocks &blocks)
{
    int count = 0;
    for (const Block &block : blocks)
        count += block.processes;
    return count;
}

Blocks present(const Job &job)
{
    Blocks blocks = job.blocks;
    for (const Departure &departure : job.departures)
        blocks.insert(blocks.end(), departure.blocks.begin(), departure.blocks.end());
    Blocks slots = slots_of(job);
    blocks.insert(blocks.end(), slots.begin(), slots.end());
    return blocks;
}

Blocks slots_of(const Job &job)
{
    if (!job.slots)
        return {};
    const Blocks &spawned = job.slots->spawned_booked;
    Blocks blocks = job.slots->held;
    blocks.insert(blocks.end(), spawned.begin(), spawned.end());
    for (const SlotGrant &grant : job.slots->grants)
        blocks.insert(blocks.end(), grant.blocks.begin(), grant.blocks.end());
    return blocks;
}

int count_slots(const Job &job)
{
    return count_processes(slots_of(job));
}

int count_spawned(const Job &job)
{
    int64_t count = 0;
    for (size_t i = 0; job.slots && i < job.slots->spawned.size(); i++)
        count += job.slots->spawned[i].processes;
    return static_cast<int>(std::min<int64_t>(count, REQUEST_SIZE_MAX));
}

int count_unbooked(const Job &job)
{
    return job.slots ? count_spawned(job) - count_processes(job.slots->spawned_booked) : 0;
}

/* A soft request ends with its first grant. */
int open_slots(const Job &job, const SlotRequest &size_request)
{
    int open = size_request.refused.empty() ? size_request.count : 0;
    for (const SlotGrant &grant : job.slots->grants) {
        if (grant.size_request == size_request.number)
            open = size_request.hard ? open - count_processes(grant.blocks) : 0;
    }
    return std::max(open, 0);
}

std::vector<NodeName> exclusive_slots(const Job &job)
{
    if (!job.slots)
        return {};
    std::vector<NodeName> nodes = job.slots->exclusive;
    for (const SlotGrant &grant : job.slots->grants) {
        for (size_t i = 0; grant.exclusive && i < grant.blocks.size(); i++)
            nodes.push_back(grant.blocks[i].node);
    }
    return nodes;
}

int claimed_slots(const Job &job)
{
    int claimed = count_slots(job);
    for (size_t i = 0; job.slots && i < job.slots->slot_requests.size(); i++) {
        if (job.slots->slot_requests[i].hard)
            claimed += open_slots(job, job.slots->slot_requests[i]);
    }
    return claimed;
}

int most_slots(const Job &job)
{
    if (needs_gpus(job.spec))
        return 0;
    bool shrinks = job.spec.elasticity == Elasticity::MALLEABLE && job.mode != StepMode::RIGID;
    return most_processes(job.spec) -
           (shrinks ? std::max(size_at_least(job.spec, 1), 1) : job.size());
}

bool is_allocated(JobState state)
{
    return state != JobState::PENDING && !is_end(state);
}

bool is_ready(const Job &job)
{
    bool is_open = !job.spec.in || starts_jobs(*job.spec.in);
    return job.state == JobState::PENDING && !job.held && !job.deferred &&
           job.waits_for.empty() && is_open;
}

bool is_queued(const Job &job)
{
    return is_ready(job) && !(job.task && job.task->waits);
}

/* How a dependency counts it: started or ended when all tasks are. */
JobState state_of(const JobArray &array)
{
    if (array.ended < array.tasks)
        return array.started < array.tasks ? JobState::PENDING : JobState::RUNNING;
    return array.failed > 0 ? JobState::FAILED
        : array.cancelled > 0
        ? JobState::CANCELLED
        : JobState::DONE;
}

DependencyState dependency_state(DependencyKind kind, JobState state)
{
    switch (kind) {
        case DependencyKind::AFTER:
            return state == JobState::PENDING || state == JobState::STARTING ? DependencyState::OPEN
                                                                             : DependencyState::MET;
        case DependencyKind::AFTER_ANY:
            return is_end(state) ? DependencyState::MET : DependencyState::OPEN;
        case DependencyKind::AFTER_OK:
            if (!is_end(state))
                return DependencyState::OPEN;
            return state == JobState::DONE ? DependencyState::MET : DependencyState::NEVER_MET;
        case DependencyKind::AFTER_NOT_OK:
            if (!is_end(state))
                return DependencyState::OPEN;
            return state == JobState::DONE ? DependencyState::NEVER_MET : DependencyState::MET;
    }
    return DependencyState::OPEN;
}

bool is_in_rigid_phase(const Job &job)
{
    return job.performance && job.performance->newest.position &&
           job.performance->newest.position->is_rigid;
}

bool can_take(const Job &job, const Sample &sample)
{
    bool runs = job.state == JobState::RUNNING || job.state == JobState::ADAPTING;
    if (!runs || job.mode != StepMode::ADAPTIVE || !job.broken.empty() ||
        sample.epoch != job.epoch || sample.size != job.size())
        return false;
    return job.performance ? is_change(*job.performance, sample) : check(sample).empty();
}

namespace {

int largest_beside_slots(const Job &job)
{
    int most = std::min(job.spec.maximum, most_processes(job.spec) - claimed_slots(job));
    return std::max(most, std::max(size_at_least(job.spec, 1), 1));
}

}  // namespace

void add_time_at_size(std::vector<TimeAtSize> &times, int size, int64_t ms)
{
    auto of_size = [&](int wanted) {
        return std::ranges::find(times, wanted, &TimeAtSize::size);
    };
    if (size <= 0 || ms <= 0)
        return;
    bool has_own = of_size(size) != times.end() || times.size() < TIMES_MAX;
    if (!has_own) {
        ms *= size;
        size = 0;
    }
    auto entry = of_size(size);
    if (entry == times.end())
        times.push_back({size, ms});
    else
        entry->ms += ms;
}

void add_time_beside(std::vector<TimeAtSize> &times, const Job &job, int64_t now_ms)
{
    if (!job.slots || job.slots->counted_ms == NEVER || now_ms <= job.slots->counted_ms)
        return;
    int64_t processes = count_slots(job) + count_unbooked(job);
    auto entry = std::ranges::find(times, 0, &TimeAtSize::size);
    if (entry == times.end() && processes > 0)
        entry = times.insert(times.end(), TimeAtSize{});
    if (processes > 0)
        entry->ms += processes * (now_ms - job.slots->counted_ms);
}

int largest_wanted(const Job &job)
{
    int wanted = job.wished_size > 0 ? job.wished_size
                 : job.size_request          ? job.size_request->target
                 : job.granted       ? job.granted->target
                                     : 0;
    int most = largest_beside_slots(job);
    if (job.grow_at_most > 0)
        most = std::min(most, job.grow_at_most);
    return wanted > 0 ? std::min(wanted, most) : most;
}

int size_wished(const Job &job)
{
    int size = job.size(), most = largest_beside_slots(job);
    int wanted = job.size_request && job.size_request->target > 0 ? job.size_request->target : size;
    bool fits = size + claimed_slots(job) <= most_processes(job.spec);
    if (is_modified(job) || (fits && wanted == size))
        return 0;
    int target = size_at_most(job.spec, std::min(wanted, most));
    if (target == 0)
        target = std::max(size_at_least(job.spec, 1), 1);
    bool gives_for_nothing = fits && wanted > size && target < size;
    return target == size || gives_for_nothing ? 0 : target;
}

std::string check(const SizeRequest &size_request)
{
    bool ordered = size_request.minimum >= 1 && size_request.minimum <= size_request.size &&
                   size_request.size <= size_request.maximum &&
                   size_request.maximum <= REQUEST_SIZE_MAX;
    if (size_request.number == 0 || !ordered)
        return "sizes " + std::to_string(size_request.minimum) +
               " <= " + std::to_string(size_request.size) +
               " <= " + std::to_string(size_request.maximum) +
               " are not valid, or it has no number";
    if (size_request.reason.size() > REQUEST_REASON_BYTES_MAX ||
        size_request.mpiexec.size() > REQUEST_MPIEXEC_BYTES_MAX)
        return "its reason or its mpiexec is too long";
    return "";
}

void bound_start(Job &job, int size)
{
    job.start_at_most = size;
    set_program_sizes(job.spec, size > 0 ? "1-" + std::to_string(size) : "");
}

std::string check(const PublishedName &entry)
{
    auto is_text = [](const std::string &text, size_t bytes_max) {
        return !text.empty() && text.size() <= bytes_max &&
               std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    };
    if (!is_text(entry.name, NAME_BYTES_MAX))
        return "a name has 1 to " + std::to_string(NAME_BYTES_MAX) + " printable ASCII characters";
    if (!is_text(entry.port, PORT_BYTES_MAX))
        return "a port has 1 to " + std::to_string(PORT_BYTES_MAX) + " printable ASCII characters";
    if (!entry.holder.empty() && !is_text(entry.holder, HOLDER_BYTES_MAX))
        return "a holder has up to " + std::to_string(HOLDER_BYTES_MAX) +
            " printable ASCII characters";
    return "";
}

}  // namespace elastic::rm
