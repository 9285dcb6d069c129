/* Durations of phases, in a program whose clock is ours.  SPEC-epop M2 to M4. */

extern "C" {
#include "perf_phases.h"
}

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace {

enum { SOLVE, OUTPUT, REFINE, SETUP };  /* OUTPUT and SETUP are rigid, SETUP runs once */

struct Measured {
    std::unique_ptr<perf_phases> p = std::make_unique<perf_phases>();
    uint64_t now = 1000;

    explicit Measured(uint32_t call_cost_ns = 0)
    {
        static const char *const names[] = {"solve", "output", "refine", "setup"};
        p->count = 4;
        for (int i = 0; i < p->count; i++) {
            p->phase[i].id = 100 + static_cast<uint64_t>(i);
            p->phase[i].elastic = i == SOLVE || i == REFINE;
            p->phase[i].once = i == SETUP;
            std::strcpy(p->phase[i].name, names[i]);
        }
        perf_phases_init(p.get(), call_cost_ns);
    }
    bool mark(int phase, bool measure = true)
    {
        return !perf_phases_skip(p.get(), phase) && perf_phases_mark(p.get(), phase, measure, now);
    }
    void compute(uint64_t ns) { now += ns; }
    void call(uint64_t ns)
    {
        if (p->measuring)
            perf_phases_enter(p.get(), now);
        now += ns;
        if (p->measuring)
            perf_phases_leave(p.get(), now);
    }
    void probe(uint64_t ns)
    {
        uint64_t entered = now;
        now += ns;
        if (p->measuring)
            perf_phases_leave_out(p.get(), entered, now);
    }
    const perf_times &times(int phase) const { return p->phase[phase].times; }
};

void expect_times(const perf_times &times, uint64_t iterations, uint64_t loop_ns, uint64_t mpi_ns)
{
    EXPECT_EQ(times.iterations, iterations);
    EXPECT_EQ(times.loop_ns, loop_ns);
    EXPECT_EQ(times.mpi_ns, mpi_ns);
}

TEST(PerfPhases, AnIterationLastsUntilTheNextMark)
{
    Measured program;
    EXPECT_FALSE(program.mark(SOLVE));
    program.compute(60);
    program.call(40);
    EXPECT_TRUE(program.mark(SOLVE));
    program.call(10);
    EXPECT_TRUE(program.mark(OUTPUT));  /* the last iteration of a phase, too */
    program.compute(7);
    EXPECT_TRUE(program.mark(PERF_NO_PHASE));
    program.call(1000);                 /* not counted */
    EXPECT_FALSE(program.mark(SOLVE));
    expect_times(program.times(SOLVE), 2, 110, 50);
    expect_times(program.times(OUTPUT), 1, 7, 0);
    expect_times(program.times(REFINE), 0, 0, 0);
}

/* M4: it ends the previous iteration, and its own time is not counted. */
TEST(PerfPhases, APhaseThatRunsOnceIsNotMeasured)
{
    Measured program;
    program.mark(SOLVE);
    program.compute(60);
    EXPECT_TRUE(program.mark(SETUP));
    EXPECT_FALSE(program.p->measuring);
    program.call(1000);
    EXPECT_FALSE(program.mark(SOLVE));
    program.compute(50);
    EXPECT_TRUE(program.mark(PERF_NO_PHASE));
    expect_times(program.times(SOLVE), 2, 110, 0);
    expect_times(program.times(SETUP), 0, 0, 0);
}

TEST(PerfPhases, ThePhasesThatAdaptTogether)
{
    Measured program;
    for (int phase : {int{SOLVE}, int{OUTPUT}, int{REFINE}, PERF_NO_PHASE}) {
        program.mark(phase);
        program.compute(100);
        program.call(10);
    }
    expect_times(perf_phases_elastic(program.p.get()), 2, 220, 20);
}

TEST(PerfPhases, TheWaitingInAProbeIsLeftOut)
{
    Measured program;
    program.mark(SOLVE);
    program.probe(500);
    program.compute(30);
    program.mark(SOLVE);
    expect_times(program.times(SOLVE), 1, 30, 0);
}

TEST(PerfPhases, AnotherWorldBeginsAtZero)
{
    Measured program;
    program.mark(SOLVE);
    program.compute(30);
    program.mark(SOLVE);
    program.compute(30);
    perf_phases_suspend(program.p.get());       /* the present iteration is not measured */
    program.compute(30);
    EXPECT_FALSE(program.mark(SOLVE));
    program.compute(20);
    EXPECT_TRUE(program.mark(SOLVE));
    expect_times(program.times(SOLVE), 1, 20, 0);
}

TEST(PerfPhases, TheFirstIterationOfAJoiningProcessIsNotMeasured)
{
    Measured program;
    program.mark(SOLVE, false);
    program.compute(30);
    EXPECT_FALSE(program.mark(SOLVE));
    program.compute(20);
    EXPECT_TRUE(program.mark(SOLVE));
    expect_times(program.times(SOLVE), 1, 20, 0);
}

/* An iteration of 1000 ns whose calls (one and the mark) cost 50 ns each to measure: 20 of them. */
TEST(PerfPhases, OneIterationInSoManyIsMeasured)
{
    Measured program(50);
    for (int i = 0; i < 3 + 20 * 5 + 1; i++) {
        program.mark(SOLVE);
        program.compute(900);
        program.call(100);
    }
    EXPECT_EQ(program.p->phase[SOLVE].every, 20u);
    EXPECT_EQ(program.times(SOLVE).iterations, 3 + 5u);
    EXPECT_EQ(program.times(SOLVE).loop_ns, 8 * 1000u);
    EXPECT_EQ(program.p->phase[REFINE].every, 1u);      /* each has its own */
}

TEST(PerfPhases, Packed)
{
    Measured program;
    auto packed = std::make_unique<pmi_adapt_graph>();
    program.mark(OUTPUT);
    program.call(40);
    program.mark(PERF_NO_PHASE);
    perf_phases_pack(program.p.get(), packed.get());
    EXPECT_EQ(packed->summary.nodes, 4u);
    EXPECT_EQ(packed->summary.loops, 4u);
    EXPECT_EQ(packed->node[SOLVE].kind, static_cast<uint32_t>(PERF_KIND_ELASTIC_PHASE));
    EXPECT_EQ(packed->node[OUTPUT].kind, static_cast<uint32_t>(PERF_KIND_RIGID_PHASE));
    EXPECT_EQ(packed->node[SETUP].kind, static_cast<uint32_t>(PERF_KIND_RIGID_PHASE));
    EXPECT_EQ(packed->node[OUTPUT].id, 101u);
    EXPECT_EQ(packed->loop[OUTPUT].mpi_ns, 40u);
    EXPECT_STREQ(packed->loop[OUTPUT].name, "output");
}

TEST(PerfPhases, ThePositionIsWholeOrNotKnown)
{
    pmi_adapt_position shared = {}, position;
    EXPECT_FALSE(pmi_adapt_read_position(&shared, &position));
    pmi_adapt_write_position(&shared, 100, 0, 1000, 1);
    pmi_adapt_write_position(&shared, 100, 412, 1000, 1);
    ASSERT_TRUE(pmi_adapt_read_position(&shared, &position));
    EXPECT_EQ(position.phase, 100u);
    EXPECT_EQ(position.iteration, 412u);
    EXPECT_EQ(position.total, 1000);
    EXPECT_EQ(position.element, 1u);
    pmi_adapt_write_position(&shared, 0, 0, -1, 0);
    EXPECT_FALSE(pmi_adapt_read_position(&shared, &position));
}

}  // namespace
