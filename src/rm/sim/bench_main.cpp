/*
 * The speed of the core's decisions on a large machine under full load (`make bench`), compared
 * with its targets.
 *
 *   rm_bench [POLICY [SHAPE [RUNNING]]]       easy or fill; packed or slurm
 *   rm_bench long
 *   rm_bench why [WAITING]                   number of waiting jobs
 *   rm_bench decisions SEEDS
 *
 * Prints a line for each load; the exit code is 1 if a target is missed.  `long` measures only
 * single events that concern very many jobs, `why` questions of `elastic why`; a run without
 * arguments measures them as well.
 * `decisions` prints a digest of all actions on small machines instead: two versions that print the
 * same decide the same.
 */

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/forecast.h"
#include "core/shortage.h"
#include "sim/busy_machine.h"

namespace elastic::rm {
namespace {

constexpr int64_t EVENTS = 30000;
constexpr double SECONDS_MAX = 20;
constexpr double EVENT_MAX_US = 20000;
constexpr double GROWTH_MAX = 1.5;      /* of the cost of an event, from 1,000 to 10,000 nodes */

double wanted_events_per_s(PolicyKind policy)
{
    return policy == PolicyKind::FILL ? 10000 : 20000;
}

const char *shape_of(const Load &load)
{
    return load.slurm ? "slurm" : "packed";
}

double events_per_s(const Cost &cost)
{
    return 1e6 / cost.mean_us;
}

Cost run(const Load &load)
{
    BusyMachine machine(load);
    Cost cost = machine.measure(EVENTS, SECONDS_MAX);
    printf("%-5s %-7s %6d nodes x %3d, %6d waiting, %5d running: %7.0f events/s; mean %.1f us, "
           "p99 %.0f us, max %.1f ms (%s); %lld events, %lld decisions\n",
           to_string(load.policy), shape_of(load), load.nodes, load.cores, load.waiting,
           cost.running, events_per_s(cost), cost.mean_us, cost.p99_us, cost.max_us / 1000,
           cost.slowest.c_str(), static_cast<long long>(cost.events),
           static_cast<long long>(cost.decisions));
    fflush(stdout);
    return cost;
}

bool passes(const Load &load)
{
    Cost cost = run(load);
    if (events_per_s(cost) >= wanted_events_per_s(load.policy) && cost.max_us <= EVENT_MAX_US)
        return true;
    printf("      MISSED: wanted are %.0f events/s, none over %.0f ms\n",
           wanted_events_per_s(load.policy), EVENT_MAX_US / 1000);
    return false;
}

/* Jobs of the same sizes on a machine of a tenth of the size. */
bool grows_slowly(Load load)
{
    load.running = load.nodes / 10;
    double large_us = run(load).mean_us;
    load.nodes /= 10;
    load.running /= 10;
    double ratio = large_us / run(load).mean_us;
    printf("      cost of an event from 1,000 to 10,000 nodes: x %.2f%s\n", ratio,
           ratio <= GROWTH_MAX ? "" : "   MISSED: 1.5");
    return ratio <= GROWTH_MAX;
}

/* ---- events that concern very many jobs ---- */

/* A small machine, and the duration of its slowest event since discard(). */
class SlowestEvent {
  public:
    explicit SlowestEvent(const Config &config)
    {
        notify(Configure{config});
        notify(NodeUp{"node", 4});
    }
    void notify(EventContent content)
    {
        clock_t from = clock();
        core_.handle({core_.state().seq + 1, 1000, std::move(content)});
        slowest_us_ =
            std::max(slowest_us_, static_cast<double>(clock() - from) * 1e6 / CLOCKS_PER_SEC);
    }
    JobId submit(const JobSpec &spec)
    {
        notify(Submit{"s" + std::to_string(++submitted_), spec});
        return core_.state().last_job;
    }
    void discard() { slowest_us_ = 0; }
    const State &state() const { return core_.state(); }
    bool passes(const char *what) const
    {
        bool good = slowest_us_ <= EVENT_MAX_US;
        print(what, good ? "" : "   MISSED: 20 ms");
        return good;
    }
    void print(const char *what, const char *verdict) const
    {
        printf("%s: no event over %.1f ms%s\n", what, slowest_us_ / 1000, verdict);
    }

  private:
    Core core_;
    double slowest_us_ = 0;
    uint64_t submitted_ = 0;
};

/* After each end of a job the user may have another one, and then is at the limit again. */
bool one_user_fills_the_queue()
{
    Config config;
    config.policy = PolicyKind::EASY;
    config.user_running_max = 1;
    SlowestEvent machine(config);
    for (int i = 0; i < config.jobs_max; i++)
        machine.submit(JobSpec());
    machine.discard();
    for (JobId job = 1; job <= 20; job++) {
        machine.notify(StepStarted{{job, 1}});
        machine.notify(StepEnded{job, 1, 0, ""});
    }
    return machine.passes("100000 jobs of one user, who is at the limit of running jobs");
}

bool many_wait_for_one()
{
    constexpr int WAITING = 50000;
    SlowestEvent machine((Config()));
    JobSpec held;
    held.held = true;
    JobId first = machine.submit(held);
    JobSpec after;
    after.dependencies = {{DependencyKind::AFTER_OK, first}};
    for (int i = 0; i < WAITING; i++)
        machine.submit(after);
    machine.discard();
    machine.notify(Cancel{{"cancel", first}});
    while (!machine.state().indices().dependents.empty())
        machine.notify(Timer{});
    return machine.passes("a job is cancelled that 50000 others wait for (after_ok)");
}

/* As after a restart of elasticd with other settings.  This is its first event and delays no
 * other: only the part that concerns no job has a target.  A tenth of the jobs has a priority. */
bool another_configuration()
{
    Config config;
    config.policy = PolicyKind::EASY;
    SlowestEvent machine(config);
    for (int i = 0; i < config.jobs_max; i++) {
        JobSpec spec;
        spec.priority = i % 10 == 0 ? i % 7 - 3 : 0;
        machine.submit(spec);
    }
    machine.discard();
    config.kill_grace_ms++;
    machine.notify(Configure{config});
    bool good = machine.passes("100000 jobs, another configuration that concerns none of them");
    machine.discard();
    config.priority_weight_ms++;
    machine.notify(Configure{config});
    machine.print("100000 jobs, another weight of priorities, which a tenth has", "");
    return good;
}

bool no_long_events()
{
    bool good = one_user_fills_the_queue();
    good = many_wait_for_one() && good;
    return another_configuration() && good;
}

/* ---- questions ---- */

/* The longest of these calls, in microseconds. */
template <class Call> double longest_us(const std::vector<const Job *> &jobs, Call call)
{
    double longest = 0;
    for (const Job *job : jobs) {
        clock_t from = clock();
        call(*job);
        longest = std::max(longest, static_cast<double>(clock() - from) * 1e6 / CLOCKS_PER_SEC);
    }
    return longest;
}

/* About each of the first jobs of the queue: elasticd answers between two events. */
bool explains_quickly(PolicyKind policy, int waiting)
{
    constexpr size_t JOBS = 50;
    Load load;
    load.policy = policy;
    load.waiting = waiting;
    load.running = 5000;
    BusyMachine machine(load);
    const State &state = machine.core().state();
    std::vector<const Job *> jobs;
    const auto &queue = state.indices().queue;
    for (auto next = queue.begin(); next != queue.end() && jobs.size() < JOBS; ++next)
        jobs.push_back(&state.jobs.at(next->job));
    double start_us = longest_us(jobs, [&](const Job &job) { forecast(state, job.id); }),
           shortage_us = longest_us(jobs, [&](const Job &job) { shortage(state, job); }),
           helpers_us = longest_us(jobs, [&](const Job &job) { helpers_of(state, job.id); }),
           reason_us = longest_us(jobs, [&](const Job &job) { why_waiting(state, job); });
    bool good = start_us + shortage_us + helpers_us + reason_us <= EVENT_MAX_US;
    printf("%-5s why, %d nodes, %d waiting: at most %.1f ms (start %.0f us, shortage %.0f us, "
           "helpers %.0f us, reason %.0f us)%s\n",
           to_string(policy), load.nodes, load.waiting,
           (start_us + shortage_us + helpers_us + reason_us) / 1000, start_us, shortage_us,
           helpers_us, reason_us, good ? "" : "   MISSED: 20 ms");
    return good;
}

bool explains_quickly(int waiting = Load().waiting)
{
    bool good = explains_quickly(PolicyKind::EASY, waiting);
    return explains_quickly(PolicyKind::FILL, waiting) && good;
}

void print_decisions(uint64_t seeds)
{
    constexpr int64_t FEW_EVENTS = 2000;
    for (PolicyKind policy : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL}) {
        for (bool slurm : {false, true}) {
            for (uint64_t seed = 1; seed <= seeds; seed++) {
                BusyMachine machine({policy, 60, 4, slurm, 20, 150, seed, true});
                Cost cost = machine.measure(FEW_EVENTS, SECONDS_MAX);
                printf("%-5s %-7s seed %3llu: %lld events, %lld decisions: %016llx\n",
                       to_string(policy), slurm ? "slurm" : "packed",
                       static_cast<unsigned long long>(seed), static_cast<long long>(cost.events),
                       static_cast<long long>(cost.decisions),
                       static_cast<unsigned long long>(machine.digest()));
            }
        }
    }
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    using namespace elastic::rm;
    auto chosen = [&](int number, const char *name) {
        return argc <= number || strcmp(argv[number], name) == 0;
    };
    if (argc == 3 && strcmp(argv[1], "decisions") == 0) {
        print_decisions(strtoull(argv[2], nullptr, 10));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "long") == 0)
        return no_long_events() ? 0 : 1;
    if (argc == 2 && strcmp(argv[1], "why") == 0)
        return explains_quickly() ? 0 : 1;
    if (argc == 3 && strcmp(argv[1], "why") == 0)
        return explains_quickly(static_cast<int>(strtol(argv[2], nullptr, 10))) ? 0 : 1;
    bool good = argc > 1 || (no_long_events() && explains_quickly());
    for (PolicyKind policy : {PolicyKind::EASY, PolicyKind::FILL}) {
        for (bool slurm : {false, true}) {
            if (!chosen(1, to_string(policy)) || !chosen(2, slurm ? "slurm" : "packed"))
                continue;
            Load load;
            load.policy = policy;
            load.slurm = slurm;
            load.cores = slurm ? 128 : 4;
            for (int running : {100, 1000, 5000}) {
                load.running = running;
                if (chosen(3, std::to_string(running).c_str()))
                    good = passes(load) && good;
            }
            if (argc <= 3)
                good = grows_slowly(load) && good;
        }
    }
    return good ? 0 : 1;
}
