/*
 * 10,000 waiting jobs and 1,000 nodes: how many events the core takes in a second of
 * processor time (`make bench`).  Without
 * optimisation or with sanitizers the wanted number means nothing, so that it is only checked with
 * ELASTIC_SCALE_EVENTS_PER_S.
 */

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "sim/simulated_cluster.h"

namespace elastic::rm {
namespace {

/* Processor time: the machine may be busy with other things. */
double seconds_now()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/* All are there at once: a machine of 1,000 nodes runs 10,000 jobs off. */
std::vector<MixJob> crowd(int jobs)
{
    std::mt19937_64 random(4);
    auto between = [&random](int low, int high) {
        return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
    };
    std::vector<MixJob> mix;
    for (int i = 0; i < jobs; i++) {
        MixJob job;
        int size = between(1, 10) == 1 ? between(16, 256) : between(1, 16);
        job.spec.minimum = size;
        job.spec.maximum = size;
        job.spec.elasticity = static_cast<Elasticity>(between(0, 2));
        if (job.spec.elasticity != Elasticity::RIGID)
            job.spec.maximum = size * between(1, 4);
        job.work_ms = int64_t{size} * between(60000, 3600000);
        job.spec.time_limit_ms = 2 * job.work_ms / size;
        mix.push_back(job);
    }
    return mix;
}

void measure(PolicyKind policy, double wanted)
{
    ClusterOptions options;
    options.config.policy = policy;
    options.nodes = 1000;
    options.cores = 4;
    options.jobs = crowd(10000);
    options.check = false;
    SimulatedCluster cluster(options);
    double start_s = seconds_now();
    cluster.run();
    double duration_s = seconds_now() - start_s;
    double events = static_cast<double>(cluster.core().state().seq);
    RunMetrics metrics = cluster.metrics();
    printf("%s: %.0f events in %.2f s, %.0f events/s; %d jobs done, %d changes of size, "
           "utilisation %.3f, the simulation itself included\n",
           to_string(policy), events, duration_s, events / duration_s, metrics.done,
           metrics.adaptations, metrics.utilisation);
    for (const std::string &what : cluster.broken())
        ADD_FAILURE() << what;
    EXPECT_EQ(metrics.done, 10000);
    EXPECT_GT(events / duration_s, wanted);
}

class ScaleTest : public testing::TestWithParam<PolicyKind> {};

TEST_P(ScaleTest, ten_thousand_jobs_on_a_thousand_nodes)
{
    const char *wanted = getenv("ELASTIC_SCALE_EVENTS_PER_S");
    if (!wanted)
        GTEST_SKIP() << "only with ELASTIC_SCALE_EVENTS_PER_S (make bench)";
    measure(GetParam(), strtod(wanted, nullptr));
}

INSTANTIATE_TEST_SUITE_P(Policies, ScaleTest,
                         testing::Values(PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL),
                         [](const auto &info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace elastic::rm
