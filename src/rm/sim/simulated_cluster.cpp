/* See simulated_cluster.h. */

#include "core/record.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

SimulatedCluster::SimulatedCluster(const ClusterOptions &options)
    : options_(options), time_(options.seed), samples_(options.seed + 1),
      size_requests_(options.seed + 2), slots_(options.seed + 3), trace_(options.trace)
{
}

SimulatedCluster::~SimulatedCluster() = default;

/* ---- random numbers and time ---------------------------------------------------- */

int64_t SimulatedCluster::delay()
{
    if (options_.delay_max_ms == 0)
        return 0;
    return chance(0.9) ? between(0, options_.delay_max_ms / 10) : between(0, options_.delay_max_ms);
}

void SimulatedCluster::wrong(const std::string &what)
{
    trace_.note(now_ms(), "BROKEN: " + what);
    if (broken_.size() < BROKEN_MAX)
        broken_.push_back("at " + std::to_string(now_ms()) + " ms: " + what);
}

/* Another number for some time: a restart with another configuration. */
void SimulatedCluster::configure_gpus(const std::string &node)
{
    constexpr int64_t WITHIN_MS = 100000, FOR_MS = 50000;
    auto other = static_cast<int>(between(0, options_.gpus));
    int64_t from_ms = between(1, WITHIN_MS), to_ms = from_ms + between(1, FOR_MS);
    notify(NodeGpusSet{node, options_.gpus});
    after(from_ms, [this, node, other] { notify(NodeGpusSet{node, other}); });
    after(to_ms, [this, node] { notify(NodeGpusSet{node, options_.gpus}); });
}

/* Other ones for some time: one is deleted, one is down, one has fewer nodes. */
void SimulatedCluster::configure_partitions()
{
    constexpr int64_t WITHIN_MS = 100000, FOR_MS = 50000;
    Config other = options_.config;
    std::vector<Partition> &partitions = other.partitions;
    partitions.back().state = PartitionState::DOWN;
    partitions.front().nodes = NodeSet({"n" + std::to_string(between(0, options_.nodes - 1))});
    if (between(0, 1) == 0)
        partitions.erase(partitions.begin());
    int64_t from_ms = between(1, WITHIN_MS), to_ms = from_ms + between(1, FOR_MS);
    after(from_ms, [this, other] { notify(Configure{other}); });
    after(to_ms, [this] { notify(Configure{options_.config}); });
}

/* Its name is "n0", "n1", ... */
int SimulatedCluster::cores_of(const std::string &node) const
{
    size_t number = std::stoul(node.substr(1));
    return number < options_.other_cores.size() ? options_.other_cores[number] : options_.cores;
}

void SimulatedCluster::run()
{
    clock_.start(std::nullopt, 0, "boot", now_ms(), now_ms());
    notify(Configure{options_.config});
    for (int i = 0; i < options_.nodes; i++) {
        std::string node = "n" + std::to_string(i);
        notify(NodeUp{node, cores_of(node)});
    }
    for (int i = 0; options_.gpus > 0 && i < options_.nodes; i++)
        configure_gpus("n" + std::to_string(i));
    if (!options_.config.partitions.empty())
        configure_partitions();
    plan();
    while (!time_.empty() && !all_over() && now_ms() < TIME_MAX_MS && log_.size() < EVENTS_MAX &&
           broken_.size() < BROKEN_MAX)
        time_.go_on();
    for (const std::string &open : monitor_.finish(core_.state()))
        wrong(open);
    for (const auto &[node, cores] : occupied_) {
        if (cores != 0)
            wrong("processes are left on node " + node);
    }
}

bool SimulatedCluster::all_over() const
{
    const State &state = core_.state();
    return to_submit_ == 0 && now_ms() >= people_until_ms_ &&
           state.finished.size() == state.jobs.size();
}

/* ---- the daemon ------------------------------------------------------------ */

void SimulatedCluster::notify(EventContent content)
{
    Event event{core_.state().seq + 1, read_clock(), std::move(content)};
    mark_ = clock_.mark();
    trace_.event(now_ms(), event);
    if (options_.check)
        log_.push_back(event);
    Actions actions = core_.handle(event);
    for (const Action &action : actions) {
        const Record *record = std::get_if<Record>(&action);
        if (!record)
            continue;
        metrics_.see(*record);
        check_limit(*record);
        counts.overdue += record->event == record::OVERDUE;
        counts.gave_way += record->event == "requested" && core_.state().wanted_nodes > 0 &&
                           record->data["reason"] == "nodes for " + core_.state().wanted_by;
    }
    if (options_.check) {
        for (const std::string &what : monitor_.watch(event, actions, core_.state()))
            wrong(what);
        for (const std::string &what : violations(core_.state()))
            wrong(what);
    }
    if (options_.faults.crash > 0)
        take_snapshot();
    if (chance(options_.faults.crash)) {
        actions.resize(static_cast<size_t>(between(0, static_cast<int64_t>(actions.size()))));
        for (const Action &action : actions)
            carry_out(action);
        return crash();
    }
    for (const Action &action : actions)
        carry_out(action);
}

/* Sometimes, over many events. */
void SimulatedCluster::take_snapshot()
{
    constexpr size_t OBJECTS = 3;
    if (taken_.head.is_null()) {
        if (!chance(0.02))
            return;
        whole_ = core_.snapshot();
        taken_.head = core_.begin_snapshot();
    } else if (chance(0.5)) {
        Json part = core_.next_part(OBJECTS);
        if (!part.is_null())
            return taken_.parts.push_back(std::move(part));
        Result<Core> restored = Core::restore(taken_.head, taken_.parts);
        if (!restored || restored.value().snapshot() != whole_)
            wrong("a snapshot in parts is not what the core was like when it was begun");
        counts.snapshots++;
        snapshot_ = std::exchange(taken_, {});
    }
}

/* The event is stored, some of its actions were performed, and the daemon is killed and starts
 * again. */
void SimulatedCluster::crash()
{
    counts.crashes++;
    trace_.note(now_ms(), "the daemon is killed and starts again");
    Core again;
    taken_ = {};
    if (!snapshot_.head.is_null()) {
        std::vector<Json> parts;
        for (const Json &part : snapshot_.parts)
            parts.push_back(Json::parse(part.dump()));
        Result<Core> restored = Core::restore(Json::parse(snapshot_.head.dump()), parts);
        if (!restored)
            return wrong("snapshot: " + restored.error());
        again = std::move(restored.value());
    }
    for (const Event &event : log_) {
        if (event.seq <= again.state().seq)
            continue;
        Result<Event> stored = event_from_json(to_json(event));
        if (!stored)
            return wrong("event: " + stored.error());
        Actions actions = again.handle(stored.value());
        for (const std::string &what : monitor_.watch(event, actions, again.state()))
            wrong("replayed: " + what);
    }
    if (again.snapshot() != core_.snapshot())
        wrong("the replayed log gives another state");
    core_ = std::move(again);
    clock_ = SteadyClock();
    clock_.start(mark_, core_.state().now_ms, "boot", now_ms(), now_ms() + wall_offset_ms_);
    timer_++;
    for (const Action &action : core_.pending())
        carry_out(action);
}

void SimulatedCluster::carry_out(const Action &action)
{
    if (const SetTimer *timer = std::get_if<SetTimer>(&action))
        return set_timer(timer->at_ms);
    bool goes_out = !std::holds_alternative<Record>(action) &&
                    !std::holds_alternative<Answer>(action) &&
                    !std::holds_alternative<RemoveJob>(action);
    if (!goes_out)
        return;
    trace_.action(now_ms(), action);
    if (chance(options_.faults.dropped)) {
        counts.dropped++;
        return;
    }
    for (int times = chance(options_.faults.repeated) ? 2 : 1; times > 0; times--)
        after(delay(), [this, action] {
            std::visit([this](const auto &each) { perform(each); }, action);
        });
}

void SimulatedCluster::set_timer(int64_t at_ms)
{
    uint64_t number = ++timer_;
    if (at_ms == NEVER)
        return;
    after(std::max<int64_t>(at_ms - read_clock(), 0) + delay(), [this, number, at_ms] {
        if (number == timer_ && read_clock() >= at_ms)
            notify(Timer{});
        else if (number == timer_)
            set_timer(at_ms);
    });
}

}  // namespace elastic::rm
