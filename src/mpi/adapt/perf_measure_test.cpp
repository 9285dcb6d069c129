/* Durations of loops, in a program whose clock is ours. SPEC-performance V1-V7. */

extern "C" {
#include "perf_measure.h"
}

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace {

constexpr uint64_t SITES = 1000;        /* first of their keys; the probe has another one */

struct Measured {
    std::unique_ptr<perf_measure> m = std::make_unique<perf_measure>();
    uint64_t now = 1000;

    explicit Measured(uint32_t call_cost_ns = 0) { perf_measure_init(m.get(), call_cost_ns); }
    void compute(uint64_t ns) { now += ns; }
    void call(uint64_t site, uint64_t ns)
    {
        if (m->measuring)
            perf_measure_enter(m.get(), SITES + site, PERF_KIND_P2P, now);
        now += ns;
        if (m->measuring)
            perf_measure_leave(m.get(), now);
    }
    void test(uint64_t ns)
    {
        if (m->measuring)
            perf_measure_enter_aside(m.get(), now);
        now += ns;
        if (m->measuring)
            perf_measure_leave(m.get(), now);
    }
    void probe(uint64_t ns = 5)
    {
        uint64_t entered = now;
        now += ns;
        if (perf_measure_skip(m.get()))
            return;
        perf_measure_probe(m.get(), entered, now);
    }
    const perf_times &elastic() const { return m->times[perf_measure_elastic(m.get())]; }
    const perf_times *loop_of(uint64_t site) const
    {
        for (uint16_t i = 0; i < m->graph.loops; i++) {
            if (m->graph.node[m->graph.loop_head[i]].key == SITES + site)
                return &m->times[i];
        }
        return nullptr;
    }
};

/* The clock may go back between two processors. */
TEST(PerfMeasure, AClockThatGoesBackCountsAsOneThatStands)
{
    Measured program;
    program.probe();
    for (int i = 0; i < 5; i++) {
        perf_measure_enter(program.m.get(), SITES, PERF_KIND_P2P, program.now);
        perf_measure_leave(program.m.get(), program.now - 3);
        program.now -= 2;
        program.probe(0);
    }
    EXPECT_EQ(program.elastic().iterations, 4u);
    EXPECT_EQ(program.elastic().loop_ns, 0u);
    EXPECT_EQ(program.elastic().mpi_ns, 0u);
}

TEST(PerfMeasure, V2_V3_D13_ElasticLoop)
{
    Measured program;
    program.call(9, 1000);      /* before the first probe: nothing is observed */
    EXPECT_EQ(program.m->graph.nodes, 0);
    program.probe();
    for (int i = 0; i < 11; i++) {
        program.compute(70);
        program.call(1, 20);
        program.call(2, 9);
        program.test(1);
        program.probe(5);       /* its own time is not counted */
    }
    /* in the first iteration the loop was not known */
    EXPECT_EQ(program.elastic().iterations, 10u);
    EXPECT_EQ(program.elastic().loop_ns, 10u * 100);
    EXPECT_EQ(program.elastic().mpi_ns, 10u * 30);
}

TEST(PerfMeasure, V2_V3_ALoopInside)
{
    Measured program;
    program.probe();
    for (int i = 0; i < 6; i++) {
        program.compute(10);
        for (int j = 0; j < 4; j++) {
            program.call(1, 3);
            program.compute(7);
        }
        program.call(2, 10);
        program.probe();
    }
    /* 3 of the 4 visits of its head come from inside, in the first iteration, before it was known,
     * 2 */
    const perf_times *inner = program.loop_of(1);
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(inner->iterations, 2u + 5 * 3);
    EXPECT_EQ(inner->loop_ns, inner->iterations * 10);
    EXPECT_EQ(inner->mpi_ns, inner->iterations * 3);
    EXPECT_EQ(program.elastic().loop_ns, 5u * 60);
    EXPECT_EQ(program.elastic().mpi_ns, 5u * 22);
}

TEST(PerfMeasure, V5_OneIterationInAsManyAsTheCostAllows)
{
    /* 2 calls and the probe in 100 ns at 10 ns each, 1/200 allowed: one in 60 */
    Measured program(10);
    program.probe(0);
    int measured = 0;
    for (int i = 0; i < 4 + 60 * 5; i++) {
        measured += program.m->measuring;
        program.compute(80);
        program.call(1, 10);
        program.call(2, 10);
        program.probe(0);
    }
    EXPECT_EQ(program.m->every, 60u);
    EXPECT_GE(measured, 4 + 4);
    EXPECT_LE(measured, 4 + 6);
    EXPECT_EQ(program.elastic().loop_ns, program.elastic().iterations * 100);
    EXPECT_EQ(program.elastic().mpi_ns, program.elastic().iterations * 20);
    EXPECT_EQ(program.m->graph.edges_dropped, 0u);
}

TEST(PerfMeasure, V5_ProbesAloneAreSeldomMeasured)
{
    Measured program(10);
    program.probe(0);
    for (int i = 0; i < 1000; i++) {
        program.compute(20);
        program.probe(0);
    }
    EXPECT_EQ(program.m->every, 100u);
}

TEST(PerfMeasure, V5_AChangeOfTheProgramIsFollowedCallByCall)
{
    Measured program(10);
    program.probe(0);
    for (int i = 0; i < 400; i++) {
        program.compute(80);
        program.call(i < 200 ? 1 : 2, 20);
        program.probe(0);
    }
    EXPECT_EQ(program.m->graph.nodes, 3);
    EXPECT_EQ(program.m->graph.loops, 1);
    EXPECT_EQ(program.elastic().loop_ns, program.elastic().iterations * 100);
    EXPECT_GE(program.elastic().iterations, 8u);
}

TEST(PerfMeasure, V7_V4_D13_AfterACommitTheLoopsAreKnownAndTheirTimesNothing)
{
    Measured program;
    program.probe();
    for (int i = 0; i < 5; i++) {
        program.call(1, 20);
        program.probe();
    }
    uint32_t structure = program.m->graph.structure;
    perf_measure_suspend(program.m.get());
    EXPECT_FALSE(program.m->measuring);
    EXPECT_EQ(program.elastic().iterations, 0u);
    program.call(3, 10000);     /* in the window */
    program.compute(50);
    program.call(1, 20);        /* the rest of an iteration: not measured */
    program.probe();
    for (int i = 0; i < 2; i++) {
        program.compute(100);
        program.call(1, 30);
        program.probe();
    }
    EXPECT_EQ(program.elastic().iterations, 2u);
    EXPECT_EQ(program.elastic().loop_ns, 2u * 130);
    EXPECT_EQ(program.elastic().mpi_ns, 2u * 30);
    EXPECT_EQ(program.m->graph.structure, structure);
}

/* In any program: no loop takes longer than the total time, and none has more MPI time than
 * time. */
TEST(PerfMeasure, V2_V3_NoLoopTakesMoreThanThereWas)
{
    for (uint32_t seed = 1; seed <= 300; seed++) {
        std::mt19937 random(seed);
        Measured program(random() % 2 ? 0 : 20);
        program.probe(random() % 10);
        for (int i = 0; i < 400; i++) {
            for (uint64_t first = random() % 8, n = random() % 5; n > 0; n--) {
                program.compute(random() % 100);
                program.call(1 + first + (n % (1 + random() % 3)), random() % 100);
                program.test(random() % 3);
            }
            if (random() % 3 > 0)
                program.probe(random() % 10);
            if (random() % 50 == 0)
                perf_measure_suspend(program.m.get());
        }
        for (uint16_t i = 0; i < program.m->graph.loops; i++) {
            ASSERT_LE(program.m->times[i].loop_ns, program.now) << "seed " << seed;
            ASSERT_LE(program.m->times[i].mpi_ns, program.m->times[i].loop_ns) << "seed " << seed;
        }
    }
}

}  // namespace
