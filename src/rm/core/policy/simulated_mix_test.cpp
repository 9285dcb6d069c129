/* Policy `fill` on mixes of elastic and rigid jobs, compared with others on a simulated machine. */

#include "core/core_driver.h"
#include "core/record.h"
#include "sim/mix.h"
#include "sim/simulated_cluster.h"

namespace elastic::rm {
namespace {

/* Elastic and rigid jobs in turn, more than fit at a time. */
std::vector<MixJob> mix()
{
    std::vector<MixJob> jobs;
    for (int i = 0; i < 30; i++) {
        MixJob job;
        job.submit_ms = i * 4000;
        if (i % 3 == 2) {
            job.spec = rigid(6, 10 * MINUTE);
            job.work_ms = 120000;
        } else {
            job.spec = malleable(2, 16, 30 * MINUTE);
            job.spec.preferred = 10;
            job.work_ms = 300000;
        }
        job.serial_permille = 20;
        jobs.push_back(job);
    }
    return jobs;
}

TEST(MixTest, filling_beats_rigid_easy_on_an_elastic_mix)
{
    RunMetrics rigid_easy = simulate_mix(mix(), 4, 4, PolicyKind::EASY, true);
    RunMetrics elastic = simulate_mix(mix(), 4, 4, PolicyKind::FILL, false);
    printf("rigid, easy: %s\nelastic, fill: %s\n", write(rigid_easy).dump().c_str(),
           write(elastic).dump().c_str());
    EXPECT_EQ(rigid_easy.done, 30);
    EXPECT_EQ(elastic.done, 30);
    EXPECT_EQ(rigid_easy.adaptations, 0);
    EXPECT_GT(elastic.adaptations, 10);
    EXPECT_LT(elastic.makespan_ms, rigid_easy.makespan_ms);
    EXPECT_LT(elastic.mean_wait_ms, rigid_easy.mean_wait_ms);
    EXPECT_GT(elastic.utilisation, rigid_easy.utilisation);
}

/* A job that needs the whole machine, in a stream of small ones that would keep it busy for ever.
 * */
TEST(MixTest, nobody_starves)
{
    constexpr int64_t SMALL_MS = 40000;
    for (PolicyKind policy : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL}) {
        for (int64_t limit_ms : {int64_t{0}, MINUTE}) {
            for (bool elastic : {false, true}) {
                ClusterOptions options;
                options.config.policy = policy;
                options.nodes = 2;
                options.check = false;
                for (int i = 0; i < 300; i++) {
                    MixJob job;
                    job.submit_ms = i * 2000;
                    job.spec = elastic ? malleable(2, 4, limit_ms) : rigid(2, limit_ms);
                    job.work_ms = 2 * SMALL_MS;
                    options.jobs.push_back(job);
                }
                options.jobs[10].spec = rigid(8, MINUTE);
                SimulatedCluster cluster(options);
                cluster.run();
                EXPECT_TRUE(cluster.broken().empty()) << cluster.broken().front();
                const Job *whole = cluster.core().state().job(11);
                ASSERT_TRUE(whole);
                ASSERT_EQ(whole->spec.minimum, 8);
                /* The jobs before it, the running ones, and those that overtook it: each at most
                 * once. */
                EXPECT_LT(whole->started_ms - whole->submitted_ms, 5 * SMALL_MS)
                    << to_string(policy) << " " << limit_ms << " " << elastic;
            }
        }
    }
}

TEST(MixTest, metrics_are_those_of_the_run)
{
    std::vector<MixJob> two(2);
    for (MixJob &job : two) {
        job.spec = rigid(4);
        job.work_ms = 40000;    /* 10 s on four */
    }
    RunMetrics metrics = simulate_mix(two, 1, 4, PolicyKind::FCFS, false);
    EXPECT_EQ(metrics.done, 2);
    EXPECT_NEAR(static_cast<double>(metrics.makespan_ms), 20000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.mean_wait_ms), 5000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.p95_wait_ms), 10000, 10);
    EXPECT_NEAR(static_cast<double>(metrics.mean_turnaround_ms), 15000, 10);
    EXPECT_NEAR(metrics.utilisation, 1, 0.001);
    two[1].spec = rigid(2);
    two[1].work_ms = 20000;
    EXPECT_NEAR(simulate_mix(two, 1, 4, PolicyKind::FCFS, false).utilisation, 0.75, 0.001);
}

}  // namespace
}  // namespace elastic::rm
