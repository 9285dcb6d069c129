/*
 * See core_impl.h: nodes that are reserved for a time.
 *
 * The nodes that a job may have depend on its partition, its time limit and the reservations
 * (State::enter).  When a reservation begins or ends, and when nodes are new, all jobs enter their
 * partitions again, a bounded number in one event.  As time passes, nodes of a later reservation
 * are closed to a waiting job, too: that is checked when a policy would start it.
 *
 * The configuration contains some reservations, administrators make others by commands.  All are in
 * Config::reservations, so that they are stored; a new configuration contains the latter (Daemon).
 */

#include "core/core_impl.h"
#include "core/record.h"
#include "core/time_limit.h"

namespace elastic::rm {

void Core::Impl::enter_again()
{
    if (state.to_enter == 0)
        return;
    if (state.to_enter == 1)
        state.clear_reduced();
    auto next = state.jobs.lower_bound(state.to_enter);
    for (int left = ENTERED_MAX; left > 0 && next != state.jobs.end(); left--) {
        JobId id = next->first;
        ++next;
        if (is_end(state.jobs.at(id).state))
            continue;
        Job &job = state.jobs.change(id);
        update(job, [&] { state.enter(job, state.now_ms); });
    }
    state.to_enter = next == state.jobs.end() ? 0 : next->first;
    state.changed();
}

/* The start was decided for nodes of which the job may no longer have all. */
bool Core::Impl::has_other_nodes(Job &job)
{
    if (state.config.reservations.empty() && job.spec.reservation.empty())
        return false;
    bool has = false;
    update(job, [&] { has = state.enter(job, state.now_ms); });
    return has;
}

/* ---- commands of administrators -------------------------------------------------------------- */

namespace {

constexpr int64_t MINUTE_MS = 60000;    /* times are given in minutes */

std::string no_reservation(const std::string &name)
{
    return "there is no reservation " + name + ": 'elastic reservations' lists all";
}

}  // namespace

bool Core::Impl::is_of_configuration(const std::string &request, const NodeReservation &reservation)
{
    if (!reservation.made)
        refuse(request, AnswerCode::STATE,
               "the configuration has reservation " + reservation.name +
                   ": change it there, and restart elasticd");
    return !reservation.made;
}

/* Jobs on nodes at once, because they may grow; the others in turn. */
void Core::Impl::set_reservations(std::vector<NodeReservation> reservations)
{
    state.config.reservations = std::move(reservations);
    state.reservations_at_ms = state.reservations_change_ms(state.now_ms);
    state.clear_reduced();
    for (JobId id : std::set<JobId>(state.indices().allocated)) {
        Job &job = state.jobs.change(id);
        update(job, [&] { state.enter(job, state.now_ms); });
    }
    state.to_enter = 1;
    eased_ = true;
    state.changed();
}

void Core::Impl::on(const SetReservation &event)
{
    NodeReservation wanted = event.reservation;
    std::string name = "reservation " + wanted.name;
    const NodeReservation *known = state.reservation(wanted.name);
    if (known && is_of_configuration(event.request, *known))
        return;
    if (event.is_new && known)
        return refuse(event.request, AnswerCode::STATE,
                      "there is " + name + " already: 'elastic reservation update' changes it");
    if (!event.is_new && !known)
        return refuse(event.request, AnswerCode::UNKNOWN, no_reservation(wanted.name));
    bool begins_anew = !known || wanted.from_ms != known->from_ms;
    if (begins_anew && wanted.from_ms != 0 && wanted.from_ms < state.now_ms - MINUTE_MS)
        return refuse(event.request, AnswerCode::FIELD,
                      name + " cannot begin in the past: give a later time, or now");
    if (begins_anew)
        wanted.from_ms = std::max(wanted.from_ms, state.now_ms);
    if (wanted.until_ms <= state.now_ms)
        return refuse(event.request, AnswerCode::FIELD,
                      name + " cannot end in the past: give a later time");
    wanted.made = true;
    std::vector<NodeReservation> all;
    for (const NodeReservation &each : state.config.reservations) {
        bool is_over = each.made && each.until_ms <= state.now_ms;
        if (each.name != wanted.name && !is_over)
            all.push_back(each);
    }
    all.push_back(wanted);
    if (std::string wrong = check(all); !wrong.empty())
        return refuse(event.request, AnswerCode::STATE,
                      wrong + ": choose other nodes or another time ('elastic reservations' lists "
                              "all)");
    set_reservations(std::move(all));
    record(record::RESERVATION_SET, 0, "", {{"by", event.by}, {"reservation", write(wanted)}});
    answer(event.request, 0);
}

void Core::Impl::on(const DeleteReservation &event)
{
    const NodeReservation *known = state.reservation(event.name);
    if (!known)
        return refuse(event.request, AnswerCode::UNKNOWN, no_reservation(event.name));
    if (is_of_configuration(event.request, *known))
        return;
    auto runs_in_it = [&](JobId id) { return state.jobs.at(id).spec.reservation == event.name; };
    const auto &allocated = state.indices().allocated;
    if (auto job = std::ranges::find_if(allocated, runs_in_it); job != allocated.end())
        return refuse(event.request, AnswerCode::STATE,
                      "job " + std::to_string(*job) + " runs in reservation " + event.name +
                          ": wait for its end, or 'elastic cancel' it first");
    std::vector<NodeReservation> all = state.config.reservations;
    std::erase_if(all, [&](const NodeReservation &each) { return each.name == event.name; });
    set_reservations(std::move(all));
    record(record::RESERVATION_DELETED, 0, "", {{"by", event.by}, {"name", event.name}});
    answer(event.request, 0);
}

/* ---- submissions ----------------------------------------------------------------------------- */

/* Empty, or why a new job cannot be in its reservation. */
std::string Core::Impl::reservation_refusal(const JobSpec &spec) const
{
    if (spec.reservation.empty())
        return "";
    const NodeReservation *own = state.reservation(spec.reservation);
    std::string name = "reservation " + spec.reservation;
    if (!own)
        return no_reservation(spec.reservation);
    if (own->until_ms <= state.now_ms)
        return name + " has ended";
    JobSpec alone = state.unreserved(spec);
    auto is_outside = [&](const NodeName &node) { return !has_node(*alone.in, node); };
    if (alone.in->state == PartitionState::RESERVED)
        return name + " has no node" +
               (spec.partition.empty() ? "" : " of partition " + spec.partition);
    auto outside = std::ranges::find_if(spec.nodelist, is_outside);
    if (outside != spec.nodelist.end())
        return "node " + outside->str() + " of its node list is not in " + name;
    int64_t from_ms = std::max({own->from_ms, state.now_ms, spec.begin_ms});
    int64_t limit_ms = time_limit(state, spec);
    int64_t most_ms = std::max<int64_t>(own->until_ms - from_ms, 0);
    if (limit_ms == 0 || limit_ms > most_ms)
        return "a job of " + name + " ends with it, which leaves " +
               std::to_string(most_ms / 1000) + " s: request a time limit of that at most";
    return "";
}

}  // namespace elastic::rm
