/*
 * Whole machines from seeds (simulated_cluster.h).  ELASTIC_SIMULATION_SEEDS is their number,
 * ELASTIC_SIMULATION_FIRST the first one, ELASTIC_SIMULATION_TRACE=1 prints all events.
 */

#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/simulated_cluster.h"

namespace elastic::rm {
namespace {

uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, nullptr, 10) : otherwise;
}

class Chance {
  public:
    explicit Chance(uint64_t seed) : random_(seed) {}
    int64_t between(int64_t low, int64_t high)
    {
        return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
    }
    bool one_in(int64_t n) { return between(1, n) == 1; }
    double up_to(int64_t permille) { return static_cast<double>(between(0, permille)) / 1000; }

  private:
    std::mt19937_64 random_;
};

/* Some jobs name nodes: one that they need, or one that they exclude. */
void name_nodes(Chance &chance, int nodes, JobSpec &spec)
{
    std::vector<std::string> node = {"n" + std::to_string(chance.between(0, nodes - 1))};
    if (chance.one_in(6))
        spec.nodelist = NodeSet(node);
    else if (nodes > 1 && chance.one_in(6))
        spec.exclude = NodeSet(node);
}

/* Some jobs need GPUs. */
void add_gpus(Chance &chance, int gpus, JobSpec &spec)
{
    bool is_elastic = spec.elasticity != Elasticity::RIGID;
    if (gpus == 0 || (is_elastic && spec.whole_nodes) || chance.one_in(2))
        return;
    int number = static_cast<int>(chance.between(1, is_elastic ? (gpus + 1) / 2 : gpus));
    (is_elastic || chance.one_in(2) ? spec.gpus_per_process : spec.gpus_per_node) = number;
}

JobSpec random_spec(Chance &chance, int cores_of_machine)
{
    JobSpec spec;
    spec.name = "simulated";
    spec.elasticity =
        chance.one_in(2) ? Elasticity::MALLEABLE : static_cast<Elasticity>(chance.between(0, 2));
    spec.cores_per_process = chance.one_in(6) ? 2 : 1;
    int most = std::max(cores_of_machine / spec.cores_per_process / (chance.one_in(3) ? 1 : 2), 1);
    int least_most = chance.one_in(4) ? most : std::max(most / 4, 1);
    spec.minimum = static_cast<int>(chance.between(1, least_most));
    spec.maximum = spec.elasticity == Elasticity::RIGID
                       ? spec.minimum
                       : static_cast<int>(chance.between(spec.minimum, most * 2));
    if (chance.one_in(4))
        spec.size_rule = static_cast<SizeRule>(chance.between(0, 4));
    spec.size_multiple = static_cast<int>(chance.between(1, 3));
    if (chance.one_in(3))
        spec.preferred =
            size_at_most(spec, static_cast<int>(chance.between(spec.minimum, spec.maximum)));
    if (chance.one_in(8))
        spec.processes_per_node = static_cast<int>(chance.between(1, 4));
    spec.whole_nodes = chance.one_in(8);
    spec.time_limit_ms = chance.one_in(3) ? 0 : chance.between(1000, 200000);
    spec.priority = static_cast<int>(chance.between(-2, 2));
    spec.requeue = chance.one_in(3);
    spec.uid = static_cast<uint32_t>(chance.between(1, 3));
    return spec;
}

/* With separate random numbers, so that a seed still gives the same machine. */
void add_nodes_and_gpus(uint64_t seed, ClusterOptions &options)
{
    Chance chance(seed * 104729 + 7);
    options.gpus = chance.one_in(3) ? static_cast<int>(chance.between(1, 4)) : 0;
    for (MixJob &job : options.jobs) {
        name_nodes(chance, options.nodes, job.spec);
        add_gpus(chance, options.gpus, job.spec);
    }
}

/* Half of the machines have nodes of several sizes. */
void add_numbers_of_nodes(uint64_t seed, ClusterOptions &options)
{
    Chance chance(seed * 49979687 + 11);
    for (int i = 0; seed % 2 == 0 && i < options.nodes; i++)
        options.other_cores.push_back(static_cast<int>(chance.between(1, options.cores)));
    for (MixJob &job : options.jobs) {
        JobSpec &spec = job.spec;
        int least = std::max(1, static_cast<int>(spec.nodelist.size()));
        int most = std::min(spec.minimum, options.nodes);
        if (spec.elasticity != Elasticity::RIGID || least > most || chance.one_in(2))
            continue;
        spec.whole_nodes = true;
        spec.nodes = static_cast<int>(chance.between(least, most));
    }
}

void add_partitions(uint64_t seed, ClusterOptions &options)
{
    Chance chance(seed * 15485863 + 3);
    std::vector<Partition> &partitions = options.config.partitions;
    for (const char *name : {"all", "some", "few"}) {
        Partition partition;
        partition.name = name;
        std::vector<std::string> nodes;
        for (int i = 0; i < options.nodes; i++) {
            if (!chance.one_in(3))
                nodes.push_back("n" + std::to_string(i));
        }
        if (!partitions.empty())
            partition.nodes = NodeSet(nodes);
        partition.is_default = partitions.empty();
        partition.priority = static_cast<int>(chance.between(-2, 2));
        partition.max_cores = chance.one_in(4) ? chance.between(1, 30) : 0;
        partition.default_time_ms = chance.one_in(3) ? chance.between(1000, 200000) : 0;
        partition.max_time_ms = chance.one_in(4) ? 200000 : 0;
        partitions.push_back(partition);
    }
    for (MixJob &job : options.jobs)
        job.spec.partition = chance.one_in(3) ? "" : chance.one_in(2) ? "some" : "few";
}

/* Nodes are reserved for others for some time, which begins when some jobs wait and others run. */
void add_reservations(uint64_t seed, ClusterOptions &options)
{
    constexpr int64_t BEGIN_MS = 1000000;       /* of VirtualTime */
    Chance chance(seed * 32452843 + 5);
    int64_t from_ms = BEGIN_MS;
    for (const char *name : {"one", "two"}) {
        NodeReservation reservation;
        std::vector<std::string> nodes;
        for (int i = 0; i < options.nodes; i++) {
            if (chance.one_in(2))
                nodes.push_back("n" + std::to_string(i));
        }
        reservation.name = name;
        reservation.nodes = NodeSet(nodes);
        reservation.from_ms = from_ms + chance.between(0, 100000);
        reservation.until_ms = reservation.from_ms + chance.between(1000, 100000);
        from_ms = reservation.until_ms;
        options.config.reservations.push_back(reservation);
    }
}

ClusterOptions random_options(uint64_t seed, bool trace)
{
    Chance chance(seed * 7919 + 1);
    ClusterOptions options;
    options.seed = seed;
    options.trace = trace;
    options.nodes = static_cast<int>(chance.between(1, 6));
    options.cores = static_cast<int>(chance.between(1, 6));
    options.delay_max_ms = chance.one_in(5) ? 0 : chance.between(1, 3000);
    Config &config = options.config;
    config.policy = static_cast<PolicyKind>(chance.one_in(4) ? chance.between(0, 1) : 2);
    config.asynchronous_nodes = chance.one_in(3);
    config.whole_nodes = chance.one_in(config.asynchronous_nodes ? 2 : 8);
    config.kill_grace_ms = chance.between(0, 5000);
    config.answer_timeout_ms = chance.between(500, 10000);
    config.answer_tries_max = static_cast<int>(chance.between(1, 6));
    config.adapt_patience_ms = chance.between(1000, 30000);
    config.offer_pause_ms = chance.between(0, 5000);
    config.refusal_pause_ms = chance.between(100, 10000);
    config.poll_interval_ms = chance.between(5000, 60000);
    config.start_pause_ms = chance.between(1, 5000);
    config.backfill_depth = static_cast<int>(chance.between(0, 20));
    config.finished_max = 100000;
    config.user_running_max = chance.one_in(4) ? static_cast<int>(chance.between(1, 4)) : 0;
    config.user_cores_max = chance.one_in(4) ? chance.between(1, options.nodes * options.cores) : 0;
    config.fair_share_ms = chance.one_in(4) ? chance.between(1000, 300000) : 0;
    config.fair_share_half_life_ms = chance.between(10000, 1000000);
    Faults &faults = options.faults;
    if (!chance.one_in(5))
        faults = {chance.up_to(100), chance.up_to(200), chance.up_to(20), chance.up_to(100),
                  chance.up_to(300), chance.up_to(200), chance.up_to(100), chance.up_to(200),
                  chance.up_to(200), static_cast<int>(chance.between(0, 4)),
                  static_cast<int>(chance.between(0, 30)), chance.up_to(100),
                  static_cast<int>(chance.between(0, 12)), chance.one_in(2) ? chance.up_to(300) : 0,
                  static_cast<int>(chance.one_in(2) ? chance.between(0, 10) : 0)};
    options.drop_redundant = chance.one_in(2);
    int64_t span_ms = chance.between(1000, 300000);
    for (int64_t i = chance.between(1, 40); i > 0; i--) {
        MixJob job;
        job.submit_ms = chance.between(0, span_ms);
        job.spec = random_spec(chance, options.nodes * options.cores);
        job.work_ms = chance.between(100, 200000);
        job.serial_permille = static_cast<int>(chance.between(0, 200));
        job.probe_ms = chance.one_in(10) ? chance.between(1000, 60000) : chance.between(1, 2000);
        job.standstill_ms = chance.between(0, 500);
        options.jobs.push_back(job);
    }
    options.sample_ms = chance.one_in(2) ? chance.between(100, 60000) : 0;
    if (options.sample_ms > 0 && config.policy == PolicyKind::FILL && chance.one_in(2)) {
        config.policy = chance.one_in(2) ? PolicyKind::EFFICIENT : PolicyKind::MEASURED;
        config.efficiency_ppm = chance.between(1, PPM - 1);
        config.efficiency_idle_ppm = chance.between(1, config.efficiency_ppm);
        config.mtct_lower_ppm = chance.between(1, 100000);
        config.mtct_upper_ppm = config.mtct_lower_ppm + chance.between(1, 100000);
        config.ceiling_hold_ms = chance.between(0, 100000);
        config.reduce_when_idle = chance.one_in(2);
        config.range = chance.one_in(2) ? RangeTarget::MODEL : RangeTarget::DOUBLE;
        for (MixJob &job : options.jobs) {
            job.spec.expect_ms = chance.one_in(2) ? chance.between(1, 200000) : 0;
            job.spec.serial_ppm = chance.one_in(3) ? chance.between(0, PPM) : NEVER;
        }
    }
    options.request_ms = chance.one_in(3) ? chance.between(1000, 60000) : 0;
    add_nodes_and_gpus(seed, options);
    add_numbers_of_nodes(seed, options);
    return options;
}

/* The same, and programs that request slots beside their worlds, or for other sizes. */
ClusterOptions demanding_options(uint64_t seed, bool trace)
{
    ClusterOptions options = random_options(seed, trace);
    Chance chance(seed * 7919 + 2);
    options.slots_ms = chance.one_in(4) ? 0 : chance.between(1000, 30000);
    options.modify_ms = chance.one_in(2) ? chance.between(1000, 60000) : 0;
    for (MixJob &job : options.jobs) {
        int slots = chance.one_in(2) ? static_cast<int>(chance.between(1, 8)) : 0;
        job.spec.extra_slots = needs_gpus(job.spec) ? 0 : slots;
    }
    return options;
}

/* The same in overlapping partitions, one of them of all nodes, and beside reservations. */
ClusterOptions divided_options(uint64_t seed, bool trace)
{
    ClusterOptions options = demanding_options(seed, trace);
    add_partitions(seed, options);
    if (seed % 3 == 0)
        add_reservations(seed, options);
    options.faults.reservations = static_cast<int>(seed % 5);
    return options;
}

/* Runs to its end; returns whether there was an error. */
bool fails(SimulatedCluster &cluster, uint64_t seed)
{
    cluster.run();
    for (const std::string &what : cluster.broken())
        ADD_FAILURE() << "seed " << seed << " " << what
                      << "\nreplay: make -f src/rm/Makefile replay SEED=" << seed;
    return !cluster.broken().empty();
}

TEST(SimulationTest, programs_request_slots_and_change_their_size)
{
    uint64_t first = from_environment("ELASTIC_SIMULATION_FIRST", 1);
    uint64_t seeds = (from_environment("ELASTIC_SIMULATION_SEEDS", 100) + 1) / 2;
    bool trace = from_environment("ELASTIC_SIMULATION_TRACE", 0) != 0, broken = false;
    SimulatedCluster::Counts counts;
    for (uint64_t seed = first; seed < first + seeds && !broken; seed++) {
        SimulatedCluster cluster(demanding_options(seed, trace));
        broken = fails(cluster, seed);
        counts.slots_wished += cluster.counts.slots_wished;
        counts.slots_granted += cluster.counts.slots_granted;
        counts.slots_refused += cluster.counts.slots_refused;
        counts.spawned += cluster.counts.spawned;
        counts.modified += cluster.counts.modified;
        counts.not_modified += cluster.counts.not_modified;
    }
    printf("%llu machines: of %d requests for slots %d were refused, %d slots granted; %d programs "
           "gave themselves another size, %d could not\n",
           static_cast<unsigned long long>(seeds), counts.slots_wished, counts.slots_refused,
           counts.slots_granted, counts.modified, counts.not_modified);
    if (seeds < 50)
        return;
    EXPECT_GT(counts.slots_granted, 100);
    EXPECT_GT(counts.slots_refused, 20);
    EXPECT_GT(counts.spawned, 50);
    EXPECT_GT(counts.modified, 50);
    EXPECT_GT(counts.not_modified, 50);
}

TEST(SimulationTest, jobs_stay_in_their_partitions)
{
    uint64_t first = from_environment("ELASTIC_SIMULATION_FIRST", 1);
    uint64_t seeds = (from_environment("ELASTIC_SIMULATION_SEEDS", 100) + 1) / 2;
    bool trace = from_environment("ELASTIC_SIMULATION_TRACE", 0) != 0, broken = false;
    int done = 0, adaptations = 0;
    for (uint64_t seed = first; seed < first + seeds && !broken; seed++) {
        SimulatedCluster cluster(divided_options(seed, trace));
        broken = fails(cluster, seed);
        done += cluster.metrics().done;
        adaptations += cluster.metrics().adaptations;
    }
    printf("%llu machines with partitions: %d jobs done, %d changes of size\n",
           static_cast<unsigned long long>(seeds), done, adaptations);
    if (seeds < 50)
        return;
    EXPECT_GT(done, 200);
    EXPECT_GT(adaptations, 50);
}

/* A short run does not reach these. */
TEST(SimulationTest, machines_that_have_found_defects)
{
    for (uint64_t seed : {12, 111}) {
        SimulatedCluster cluster(divided_options(seed, false));
        EXPECT_FALSE(fails(cluster, seed));
    }
}

TEST(SimulationTest, seeds)
{
    uint64_t first = from_environment("ELASTIC_SIMULATION_FIRST", 1);
    uint64_t seeds = from_environment("ELASTIC_SIMULATION_SEEDS", 100);
    bool trace = from_environment("ELASTIC_SIMULATION_TRACE", 0) != 0;
    constexpr int FAILURES_MAX = 5;
    int failures = 0;
    RunMetrics sum;
    SimulatedCluster::Counts counts;
    int measured = 0;           /* jobs with measurements at their end */
    int on_number = 0;          /* jobs that started on a number of nodes */
    for (uint64_t seed = first; seed < first + seeds && failures < FAILURES_MAX; seed++) {
        SimulatedCluster cluster(random_options(seed, trace));
        failures += fails(cluster, seed);
        RunMetrics metrics = cluster.metrics();
        sum.jobs += metrics.jobs;
        sum.done += metrics.done;
        sum.failed += metrics.failed;
        sum.cancelled += metrics.cancelled;
        sum.adaptations += metrics.adaptations;
        sum.withdrawn += metrics.withdrawn;
        sum.failed_adaptations += metrics.failed_adaptations;
        counts.crashes += cluster.counts.crashes;
        counts.dropped += cluster.counts.dropped;
        counts.node_failures += cluster.counts.node_failures;
        counts.died += cluster.counts.died;
        counts.nodes_taken += cluster.counts.nodes_taken;
        counts.gave_way += cluster.counts.gave_way;
        counts.broke += cluster.counts.broke;
        counts.redundant += cluster.counts.redundant;
        counts.jumps += cluster.counts.jumps;
        counts.limits += cluster.counts.limits;
        counts.samples += cluster.counts.samples;
        counts.overdue += cluster.counts.overdue;
        counts.late += cluster.counts.late;
        counts.slot_requests += cluster.counts.slot_requests;
        counts.granted += cluster.counts.granted;
        counts.refused += cluster.counts.refused;
        counts.withdrawn += cluster.counts.withdrawn;
        for (const auto &[id, job] : cluster.core().state().jobs) {
            measured += job.performance && has_data(*job.performance);
            on_number += job.spec.nodes > 0 && job.step > 0;
        }
        counts.snapshots += cluster.counts.snapshots;
    }
    printf("%llu machines: %d jobs, %d done, %d failed, %d cancelled; %d changes of size, %d "
           "withdrawn, %d failed; %d kills of the daemon, %d messages dropped, %d nodes failed, %d "
           "programs died, %d steps whose nodes were taken, %d gave way to others, %d broke the "
           "protocol, %d reports reported nothing new; of %d requests %d were granted, %d refused, "
           "%d withdrawn; %d jobs on a number of nodes\n",
           static_cast<unsigned long long>(seeds), sum.jobs, sum.done, sum.failed, sum.cancelled,
           sum.adaptations, sum.withdrawn, sum.failed_adaptations, counts.crashes, counts.dropped,
           counts.node_failures, counts.died, counts.nodes_taken, counts.gave_way, counts.broke,
           counts.redundant, counts.slot_requests, counts.granted, counts.refused,
           counts.withdrawn, on_number);
    if (seeds < 100)
        return;
    /* The seeds cover the intended cases. */
    EXPECT_GT(sum.done, 500);
    EXPECT_GT(sum.failed, 50);
    EXPECT_GT(sum.cancelled, 20);
    EXPECT_GT(sum.adaptations, 200);
    EXPECT_GT(sum.withdrawn, 50);
    EXPECT_GT(sum.failed_adaptations, 20);
    EXPECT_GT(counts.crashes, 50);
    EXPECT_GT(counts.dropped, 100);
    EXPECT_GT(counts.node_failures, 20);
    EXPECT_GT(counts.died, 20);
    EXPECT_GT(counts.nodes_taken, 5);
    EXPECT_GT(counts.gave_way, 3);
    EXPECT_GT(counts.broke, 10);
    EXPECT_GT(counts.redundant, 1000);
    EXPECT_GT(counts.jumps, 100);
    EXPECT_GT(counts.limits, 20);
    EXPECT_GT(counts.samples, 1000);
    EXPECT_GT(counts.overdue, 5);
    EXPECT_GT(counts.late, 0);
    EXPECT_GT(measured, 50);
    EXPECT_GT(on_number, 50);
    EXPECT_GT(counts.granted, 50);
    EXPECT_GT(counts.refused, 50);
    EXPECT_GT(counts.withdrawn, 50);
    EXPECT_GT(counts.snapshots, 50);
}

TEST(SimulationTest, same_seed_gives_same_history)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        auto options = seed % 2 ? random_options(seed, false) : divided_options(seed, false);
        SimulatedCluster first(options), second(options);
        first.run();
        second.run();
        ASSERT_EQ(first.log().size(), second.log().size());
        for (size_t i = 0; i < first.log().size(); i++)
            ASSERT_EQ(to_json(first.log()[i]), to_json(second.log()[i]));
    }
}

/* A recorded log, as JSON lines, gives the same decisions again. */
TEST(SimulationTest, a_replayed_log_gives_the_same_decisions)
{
    SimulatedCluster cluster(random_options(3, false));
    cluster.run();
    Core first, second;
    for (const Event &event : cluster.log()) {
        Actions from_event = first.handle(event);
        auto stored = event_from_json(Json::parse(to_json(event).dump()));
        ASSERT_TRUE(stored.ok()) << stored.error();
        Actions from_line = second.handle(stored.value());
        ASSERT_EQ(from_event.size(), from_line.size());
        for (size_t i = 0; i < from_event.size(); i++)
            ASSERT_EQ(to_json(from_event[i]), to_json(from_line[i]));
    }
    EXPECT_EQ(second.snapshot(), cluster.core().snapshot());
}

}  // namespace
}  // namespace elastic::rm
