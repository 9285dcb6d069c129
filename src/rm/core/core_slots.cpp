/* See core_impl.h: slots beside the worlds of running jobs, for processes that their programs
 * start one by one (clauses DA1, DA2 of the specification of dynamic processes).
 *
 * They are booked from their grant on until the step reports that it has released them, or has
 * ended.  The step reports all slots that it has; grants that are not included yet are repeated.
 *
 * World and slots together never exceed the job's maximum. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/policy/slot_requests.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

std::map<std::string, int> count_by_node(const Blocks &blocks)
{
    std::map<std::string, int> counts;
    for (const Block &block : blocks)
        counts[block.node.str()] += block.processes;
    return counts;
}

/* The important part comes first: the text is cut at REQUEST_REASON_BYTES_MAX. */
std::string describe_own_nodes(const SlotRequest &slot_request, int capacity)
{
    const std::string where = slot_request.host.empty()
                                  ? "the nodes of the job have"
                                  : "of the job's nodes " + slot_request.host + " has";
    return where + " capacity for " + std::to_string(capacity) +
           (slot_request.exclusive ? " (exclusive)" : "") +
           " beside its processes, and under Slurm it gets slots only there: request fewer, submit "
           "it with more processes, or run it in one allocation (salloc) by elastic run or mpiexec";
}

std::vector<NodeName> exclusive_nodes(const StepSlots &event)
{
    std::vector<NodeName> nodes;
    for (const StepSlots::Held &held : event.held) {
        if (held.exclusive)
            nodes.emplace_back(held.node);
    }
    return nodes;
}

/* Nodes without any process or slot of the job now. */
Blocks left_nodes(const Job &job, const Blocks &before)
{
    Blocks now = present(job), left;
    if (job.adaptation)
        now = append(std::move(now), job.adaptation->joining);
    for (const Block &block : before) {
        if (std::ranges::find(now, block.node, &Block::node) == now.end())
            append(left, block);
    }
    return left;
}

std::string describe_too_few(int extra_slots, int nodes)
{
    return std::to_string(extra_slots) + " exclusive slots need as many nodes, and there are " +
           std::to_string(nodes);
}

bool is_same(const SlotRequest &known, const SlotRequest &reported)
{
    return known.number == reported.number && known.count == reported.count;
}

}  // namespace

/* Empty, or the error: the step would hold slots that were not granted. */
std::string check(const Slots &known, const StepSlots &event)
{
    if (event.granted > known.granted)
        return "it has grants that were not given";
    std::map<std::string, int> most = count_by_node(known.held);
    for (const SlotGrant &grant : known.grants) {
        if (grant.number > event.granted)
            break;
        for (const auto &[node, extra_slots] : count_by_node(grant.blocks))
            most[node] += extra_slots;
    }
    for (const StepSlots::Held &held : event.held) {
        if (held.extra_slots < 1 || (most[held.node] -= held.extra_slots) < 0)
            return "it holds more slots on " + held.node + " than it was given";
    }
    uint64_t last = 0;
    for (const SlotRequest &slot_request : event.slot_requests) {
        if (slot_request.number <= last || slot_request.count < 1 ||
            slot_request.count > static_cast<int>(SLOTS_MAX))
            return "its slot requests are not valid";
        last = slot_request.number;
    }
    for (size_t i = 0; i < event.spawned.size(); i++) {
        const NodeProcesses &each = event.spawned[i];
        if (each.processes < 1 || each.processes > REQUEST_SIZE_MAX ||
            (i > 0 && each.node <= event.spawned[i - 1].node))
            return "its processes of MPI_Comm_spawn are not valid";
    }
    bool bounded = event.mpiexec.size() <= REQUEST_MPIEXEC_BYTES_MAX &&
                   event.spawned.size() <= SPAWNED_NODES_MAX && event.held.size() <= SLOTS_MAX &&
                   event.slot_requests.size() <= SLOTS_MAX;
    return bounded ? "" : "it is too large";
}

bool changes_slots(const Slots &known, const StepSlots &event)
{
    if (event.mpiexec == known.mpiexec && event.reported < known.reported)
        return false;
    if (event.over)
        return event.mpiexec == known.mpiexec;
    bool waits = !known.grants.empty() ||
                 std::ranges::any_of(known.slot_requests, [](const SlotRequest &slot_request) {
                     return !slot_request.refused.empty();
                 });
    std::map<std::string, int> held;
    for (const StepSlots::Held &each : event.held)
        held[each.node] += each.extra_slots;
    return waits || event.mpiexec != known.mpiexec || held != count_by_node(known.held) ||
           exclusive_nodes(event) != known.exclusive || event.spawned != known.spawned ||
           !std::ranges::equal(known.slot_requests, event.slot_requests, is_same);
}

void Core::Impl::on(const StepSlots &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty())
        return;
    bool known = job->slots && job->slots->mpiexec == event.mpiexec;
    if (event.over && known) {
        const Blocks had = present(*job);
        remove_slots(*job, "mpiexec has ended");
        release_left(*job, had);
    }
    if (event.over)
        return;
    bool has_none = event.held.empty() && event.slot_requests.empty() && event.spawned.empty();
    if (!known && has_none && !job->slots)
        return;
    if (known && !changes_slots(*job->slots, event))
        return;
    const Blocks had = present(*job);
    Slots before = known ? *job->slots : Slots();
    if (std::string why = check(before, event); !why.empty())
        return unexpected("step_slots: " + why, job->id);
    if (!known)
        remove_slots(*job, "another mpiexec of the step has begun");
    take_slots(*job, event);
    take_spawned(*job, event.spawned);
    release_left(*job, had);
    check_slots(*job);
}

/* A node that only slots occupied is released like one that processes have left. */
void Core::Impl::release_left(Job &job, const Blocks &before)
{
    Blocks left = state.config.asynchronous_nodes ? left_nodes(job, before) : Blocks();
    if (left.empty())
        return;
    uint64_t number = uint64_t{1} << 51;  /* separate from the numbers of requests, and of left() */
    while (std::ranges::find(job.departures, number, &Departure::request) != job.departures.end())
        number++;
    rebook(job, [&] {
        job.departures.push_back({number, 0, left, true});
        wait_for_departures(job);
    });
    out_.push_back(release(job, job.departures.back()));
}

void Core::Impl::take_slots(Job &job, const StepSlots &event)
{
    Slots now = job.slots.value_or(Slots());
    int had = count_processes(now.held);
    now.mpiexec = event.mpiexec;
    now.reported = event.reported;
    for (const SlotGrant &grant : now.grants) {
        if (grant.number <= event.granted)
            had += count_processes(grant.blocks);
    }
    std::erase_if(now.grants, [&](const SlotGrant &each) { return each.number <= event.granted; });
    now.held.clear();
    for (const StepSlots::Held &held : event.held)
        append(now.held, {held.node, held.extra_slots});
    now.exclusive = exclusive_nodes(event);
    std::vector<SlotRequest> slot_requests = event.slot_requests;
    for (SlotRequest &slot_request : slot_requests) {
        auto known =
            std::ranges::find(now.slot_requests, slot_request.number, &SlotRequest::number);
        bool is_new = known == now.slot_requests.end();
        slot_request.since_ms = is_new ? state.now_ms : known->since_ms;
        slot_request.refused = is_new ? "" : known->refused;
        if (is_new)
            record(record::SIZE_REQUESTED, job, {{"step", job.step},
                                         {"wish", slot_request.number},
                                         {"kind", to_string(RequestKind::SLOTS)},
                                         {"count", slot_request.count},
                                         {"hard", slot_request.hard},
                                         {"host", slot_request.host},
                                         {"exclusive", slot_request.exclusive}});
    }
    std::swap(now.slot_requests, slot_requests);
    int have = count_processes(now.held);
    rebook(job, [&] {
        count_beside(job);
        now.counted_ms = state.now_ms;
        job.slots = now;
    });
    for (const SlotRequest &slot_request : slot_requests) {
        if (std::ranges::find(now.slot_requests, slot_request.number, &SlotRequest::number) ==
            now.slot_requests.end())
            end_slot_request(job, slot_request.number,
                             slot_request.refused.empty() ? "over" : "refused",
                             slot_request.refused);
    }
    if (have < had)
        record(record::SLOTS_RELEASED, job,
               {{"step", job.step}, {"places", have}, {"released", had - have}});
}

/* Call it before their number changes. */
void Core::Impl::count_beside(Job &job)
{
    add_time_beside(job.times, job, state.now_ms);
    if (job.slots)
        job.slots->counted_ms = state.now_ms;
}

/* They run without a grant, so that waiting jobs and exclusive slots do not matter.  Cores are
 * booked as far as cores are free and the job may have slots. */
void Core::Impl::take_spawned(Job &job, const std::vector<NodeProcesses> &spawned)
{
    if (job.slots->spawned == spawned)
        return;
    rebook(job, [&] {
        count_beside(job);
        job.slots->spawned = spawned;
        job.slots->spawned_booked.clear();
        job.spawned_max = std::max(job.spawned_max, count_spawned(job));
    });
    int64_t most = cores_left(job.spec) / job.spec.cores_per_process;
    if (Blocks booked = slots_for_spawned(state, job, most); !booked.empty())
        rebook(job, [&] { job.slots->spawned_booked = booked; });
    record(record::SPAWNED, job, {{"step", job.step},
                                  {"processes", count_spawned(job)},
                                  {"without_cores", count_unbooked(job)}});
}

/* `over`: it has received its slots, or no longer needs them. */
void Core::Impl::end_slot_request(const Job &job, uint64_t number, const std::string &result,
                               const std::string &reason)
{
    record(record::REQUEST_ENDED, job, {{"step", job.step},
                                     {"wish", number},
                                     {"kind", to_string(RequestKind::SLOTS)},
                                     {"result", result},
                                     {"reason", reason}});
}

/* Empty: the request may wait. */
std::string Core::Impl::why_never(const Job &job, const SlotRequest &slot_request) const
{
    const int most = most_slots(job),
              nodes = slot_request.host.empty() ? static_cast<int>(state.nodes.size()) : 1;
    if (!slot_request.host.empty() && !state.node(slot_request.host))
        return "there is no node " + slot_request.host;
    if (slot_request.hard && needs_gpus(job.spec))
        return "a job with GPUs has no slots beside its processes";
    if (slot_request.hard && slot_request.count > most)
        return "the job " + describe_sizes(job.spec) + ": beside its processes there is "
               "capacity for " + std::to_string(most) + "; submit it with --places " +
               std::to_string(slot_request.count);
    if (slot_request.hard && slot_request.exclusive && slot_request.count > nodes)
        return describe_too_few(slot_request.count, nodes);
    if (slot_request.hard && state.config.asynchronous_nodes) {
        int capacity = capacity_on_own_nodes(state, job, slot_request);
        return slot_request.count > capacity ? describe_own_nodes(slot_request, capacity) : "";
    }
    return "";
}

/* Impossible requests are refused, also after a change of the job's limits; and actions that the
 * step has not received are repeated. */
void Core::Impl::check_slots(Job &job)
{
    if (!job.slots)
        return;
    for (const SlotRequest &slot_request : std::vector<SlotRequest>(job.slots->slot_requests)) {
        if (!slot_request.refused.empty())
            out_.push_back(RefuseSizeRequest{job.id, job.step, job.slots->mpiexec,
                                             slot_request.number, slot_request.refused});
        else if (std::string why = why_never(job, slot_request); !why.empty())
            refuse_slots(job, slot_request.number, why);
    }
    for (const SlotGrant &grant : job.slots->grants)
        out_.push_back(grant_slots(job, grant));
}

void Core::Impl::refuse_slots(Job &job, uint64_t number, const std::string &why)
{
    update(job, [&] {
        std::ranges::find(job.slots->slot_requests, number, &SlotRequest::number)->refused = why;
    });
    out_.push_back(RefuseSizeRequest{job.id, job.step, job.slots->mpiexec, number, why});
}

GrantSlots Core::Impl::grant_slots(const Job &job, const SlotGrant &grant)
{
    return {job.id, job.step, job.slots->mpiexec, grant.size_request, grant.number, grant.blocks};
}

/* In the order of the requests; a soft request gets the available slots. */
void Core::Impl::give_slots()
{
    for (const SlotTurn &turn : slot_turns(state)) {
        Job &job = state.jobs.change(turn.job);
        const SlotRequest &slot_request =
            *std::ranges::find(job.slots->slot_requests, turn.size_request, &SlotRequest::number);
        int64_t most = cores_left(job.spec) / job.spec.cores_per_process;
        Blocks blocks = slots_for(state, job, slot_request, most);
        if (!blocks.empty()) {
            rebook(job, [&] {
                count_beside(job);
                job.slots->grants.push_back(
                    {++job.slots->granted, turn.size_request, blocks, slot_request.exclusive});
            });
            const SlotGrant &grant = job.slots->grants.back();
            auto data = [&]() -> Json {
                return {{"step", job.step}, {"wish", grant.size_request}, {"grant", grant.number}};
            };
            record(record::SLOTS_GRANTED, job, data, "blocks", grant.blocks);
            out_.push_back(grant_slots(job, grant));
        } else if (!slot_request.hard) {
            refuse_slots(job, turn.size_request, "no more slots are available now");
        }
    }
}

/* The step has ended, or another mpiexec has begun: nothing of it runs any more. */
void Core::Impl::remove_slots(Job &job, const std::string &reason)
{
    if (!job.slots)
        return;
    for (const SlotRequest &slot_request : job.slots->slot_requests)
        end_slot_request(job, slot_request.number, "withdrawn", reason);
    rebook(job, [&] {
        count_beside(job);
        job.slots.reset();
    });
}

/* The job keeps all slots that it may have until it ends. */
void Core::Impl::remove_slot_requests(Job &job, const std::string &reason)
{
    if (!job.slots)
        return;
    for (const SlotRequest &slot_request : job.slots->slot_requests)
        end_slot_request(job, slot_request.number, "withdrawn", reason);
    update(job, [&] { job.slots->slot_requests.clear(); });
}

}  // namespace elastic::rm
