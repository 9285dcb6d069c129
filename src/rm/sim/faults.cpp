/* See simulated_cluster.h: actions of users, and accidents. */

#include "sim/simulated_step.h"

namespace elastic::rm {

void SimulatedCluster::plan()
{
    int64_t last_ms = 0;
    for (const MixJob &job : options_.jobs) {
        std::string request = "m" + std::to_string(++requests_);
        programs_[request] = job;
        to_submit_++;
        last_ms = std::max(last_ms, job.submit_ms);
        bool again = chance(options_.faults.repeated);
        after(job.submit_ms, [this, request, spec = job.spec] {
            to_submit_--;
            notify(Submit{request, spec});
        });
        if (again)
            after(job.submit_ms + delay(), [this, request, spec = job.spec] {
                notify(Submit{request, spec});
            });
    }
    for (int i = 0; i < options_.faults.people; i++)
        after(between(0, last_ms), [this] { somebody(); });
    for (int i = 0; i < options_.faults.node_failures; i++)
        after(between(0, last_ms), [this] { node_fails(); });
    for (int i = 0; i < options_.faults.others; i++)
        after(between(0, last_ms), [this] { others_want(); });
    for (int i = 0; i < options_.faults.reservations; i++)
        after(between(0, last_ms), [this] { reserves(); });
    for (int i = 0; i < options_.faults.clock_jumps; i++)
        after(between(0, last_ms), [this] { clock_jumps(); });
    people_until_ms_ = now_ms();
}

/* Held jobs are released again, and drained nodes resumed, so that all jobs can end. */
void SimulatedCluster::somebody()
{
    std::string request = "p" + std::to_string(++requests_);
    JobId job = static_cast<JobId>(between(1, static_cast<int64_t>(core_.state().last_job) + 1));
    std::string node = "n" + std::to_string(between(0, options_.nodes - 1));
    int64_t later_ms = between(1, 60000);
    auto at_last = [&](EventContent content) {
        people_until_ms_ = std::max(people_until_ms_, now_ms() + later_ms);
        after(later_ms, [this, content] { notify(content); });
    };
    switch (between(0, 10)) {
        case 0: return notify(Cancel{{request, job}});
        case 10:
            at_last(ResumeJob{{request + "r", job}, "somebody"});
            return notify(SuspendJob{{request, job}, "somebody"});
        case 1:
            at_last(Release{{request + "r", job}});
            return notify(Hold{{request, job}});
        case 2:
            at_last(Resume{request + "r", node});
            return notify(Drain{request, node, "test"});
        case 3: {
            JobSpec spec;
            spec.minimum = static_cast<int>(between(-1, 1));
            spec.maximum = static_cast<int>(between(0, 1) * options_.nodes * options_.cores + 1);
            programs_[request] = MixJob{0, spec, 1000, 0, 100, 50};
            return notify(Submit{request, spec});
        }
        case 4: {
            Update update;
            update.request = request;
            update.job = job;
            if (between(0, 1))
                update.time_limit_ms = between(1, 200000);
            if (between(0, 1))
                update.priority = static_cast<int>(between(-3, 3));
            if (between(0, 1))
                update.maximum = static_cast<int>(between(1, 12));
            if (between(0, 1))
                update.minimum = static_cast<int>(between(1, 4));
            if (const auto &all = options_.config.partitions; !all.empty() && between(0, 1))
                update.partition = all[static_cast<size_t>(job) % all.size()].name;
            update.may_extend = between(0, 1);
            return notify(update);
        }
        case 5: {
            JobSpec spec;
            spec.dependencies = {{static_cast<DependencyKind>(between(0, 3)), job}};
            spec.begin_ms = between(0, 1) ? now_ms() + between(-1000, 20000) : 0;
            programs_[request] = MixJob{0, spec, 1000, 0, 100, 50};
            return notify(Submit{request, spec});
        }
        case 6: {
            JobSpec spec;
            spec.array = "2-10:2%" + std::to_string(between(1, 3));
            JobId first = core_.state().last_job + 1;
            arrays_[first] = MixJob{0, spec, 1000, 0, 100, 50};
            notify(Submit{request, spec});
            at_last(Release{{request + "r", first, ALL_TASKS}});
            notify(Hold{{request + "h", first, between(0, 1) ? "2-6" : ALL_TASKS}});
            at_last(Requeue{{request + "q", first + 1, ""}, "somebody"});
            if (between(0, 1))
                at_last(Cancel{{request + "c", first, "4,8"}});
            JobSpec after_all;
            after_all.dependencies = {{static_cast<DependencyKind>(between(0, 3)), first, true}};
            programs_[request + "d"] = MixJob{0, after_all, 1000, 0, 100, 50};
            return notify(Submit{request + "d", after_all});
        }
        default: return notify(Resize{request, job, static_cast<int>(between(0, 12))});
    }
}

/* It is reported before or after the resulting end of the step. */
void SimulatedCluster::nodes_are_taken(Step &step)
{
    if (step.ended)
        return;
    counts.nodes_taken++;
    NodesLost event{step.job, step.number, "its nodes were taken"};
    after(delay(), [this, event] { notify(event); });
    after(delay(), [this, &step] { end(step, 137); });
}

/* Idle nodes stay reserved for them until they need no more. */
void SimulatedCluster::others_want()
{
    int nodes = static_cast<int>(between(1, options_.nodes + 1));
    int64_t waiting_ms = between(1, 30000);
    people_until_ms_ = std::max(people_until_ms_, now_ms() + waiting_ms + 1);
    notify(NodesWanted{nodes, "others"});
    after(waiting_ms, [this] { notify(NodesWanted{0, ""}); });
}

/* An administrator reserves a node for some time, changes that, and deletes it. */
void SimulatedCluster::reserves()
{
    std::string name = "made-" + std::to_string(++requests_);
    int64_t from_ms = now_ms() + between(-1, 1) * between(0, 100000);
    std::string node = "n" + std::to_string(between(0, options_.nodes - 1));
    NodeReservation reservation{name, NodeSet({node}), from_ms, from_ms + between(-1000, 100000)};
    int64_t changed_ms = between(1, 60000), deleted_ms = changed_ms + between(1, 60000);
    people_until_ms_ = std::max(people_until_ms_, now_ms() + deleted_ms + 1);
    notify(SetReservation{name, true, "test", reservation});
    after(changed_ms, [this, reservation]() mutable {
        reservation.nodes = NodeSet({"n" + std::to_string(between(0, options_.nodes - 1))});
        reservation.until_ms += between(0, 50000);
        notify(SetReservation{reservation.name + "u", false, "test", reservation});
    });
    after(deleted_ms, [this, name] { notify(DeleteReservation{name + "d", name, "test"}); });
}

/* The wall clock is set, by seconds or by years. */
void SimulatedCluster::clock_jumps()
{
    counts.jumps++;
    int64_t by_ms = int64_t{1} << between(10, 36);
    wall_offset_ms_ += between(0, 1) == 0 ? by_ms : -by_ms;
}

/* Independent of the wall clock: a job that is ended because of its time limit has run for it
 * (less a thousandth of both), not counting suspended time. */
void SimulatedCluster::check_limit(const Record &record)
{
    if (record.event == "started")
        started_ms_[record.job] = now_ms();
    if (record.event != "completing" ||
        !record.data.value("reason", "").starts_with("the time limit"))
        return;
    counts.limits++;
    const Job &job = core_.state().jobs.at(record.job);
    int64_t had_ms = now_ms() - started_ms_[record.job] - job.suspended_ms;
    int64_t limit_ms = job.spec.time_limit_ms;
    if (had_ms < limit_ms - (limit_ms + job.suspended_ms) / 900 - 2)
        wrong("job " + std::to_string(record.job) + " is ended after " + std::to_string(had_ms) +
              " ms, its limit is " + std::to_string(limit_ms));
}

void SimulatedCluster::node_fails()
{
    std::string node = "n" + std::to_string(between(0, options_.nodes - 1));
    if (!failed_nodes_.insert(node).second)
        return;
    counts.node_failures++;
    auto on_it = [&node](const Blocks &blocks) {
        return std::any_of(blocks.begin(), blocks.end(),
                           [&](const Block &block) { return block.node == node; });
    };
    for (auto &[key, each] : steps_) {
        Step *step = each.get();
        if (step->ended)
            continue;
        bool has_freed = false;
        while (drop_slots(*step, node))
            has_freed = true;
        if (has_freed)
            report_slots(*step);
        if (on_it(step->world))
            after(delay(), [this, step] { end(*step, 137); });
        else if (step->request && on_it(step->request->joining) && !step->in_window)
            end_request(*step, StepFailed{{step->job, step->number, step->request->request,
                                           "a node is down"}});
        else if (step->request && on_it(step->request->joining))
            after(delay(), [this, step] { end(*step, 137); });  /* SPEC E4 */
    }
    int64_t noticed_ms = delay(), down_ms = between(1, 60000);
    if (between(0, 1) == 0)     /* it is suspected first */
        after(between(0, static_cast<int>(noticed_ms)), [this, node] {
            notify(NodeSuspect{node, "test"});
        });
    after(noticed_ms, [this, node] { notify(NodeDown{node, "test"}); });
    people_until_ms_ = std::max(people_until_ms_, now_ms() + noticed_ms + down_ms);
    after(noticed_ms + down_ms, [this, node] {
        failed_nodes_.erase(node);
        notify(NodeUp{node, cores_of(node)});
    });
}

}  // namespace elastic::rm
