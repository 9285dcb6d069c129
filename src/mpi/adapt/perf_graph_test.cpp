/* Detection of loops: the example of the paper, two more, limits and costs.  SPEC-performance
 * D1-D12, D14. */

#include "perf_graph_fixture.h"

#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

namespace {

struct Walk {
    Graph graph;
    std::map<int, std::string> events;
    std::vector<std::string> labels;

    explicit Walk(const std::string &sequence)
    {
        std::istringstream ids(sequence);
        uint64_t id;
        for (int n = 0; ids >> id; n++) {
            perf_step step = graph.visit(id);
            if (!name_of(step.event).empty())
                events[n] = name_of(step.event);
            static const char *const LABELS[] = {"", "", "head re-entry; ", "body re-entry; "};
            labels.push_back(step.label == PERF_LABEL_OUTSIDE
                                 ? "outside"
                                 : LABELS[step.label] +
                                       graph.id(perf_graph_head(graph.g.get(), step.node)));
        }
    }
};

using Events = std::map<int, std::string>;

TEST(PerfGraph, D9_ThePublishedExample)
{
    Walk walk("2 0 6 3 1 6 3 1 6 3 1 9 7 9 7 3 1 6 3 1 6 3 1 9 7 9 7");

    EXPECT_EQ(walk.events,
              (Events{{5, "DETECTED"}, {11, "EXIT"}, {13, "DETECTED"}, {15, "REENTRY"}}));
    for (int n : {0, 1, 2, 3, 4, 11, 12})
        EXPECT_EQ(walk.labels[n], "outside") << n;
    for (int n : {5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20, 21, 22})
        EXPECT_EQ(walk.labels[n], "6") << n;
    for (int n : {13, 14, 24, 25, 26})
        EXPECT_EQ(walk.labels[n], "9") << n;
    EXPECT_EQ(walk.labels[15], "body re-entry; 6");
    EXPECT_EQ(walk.labels[23], "head re-entry; 9");

    EXPECT_EQ(walk.graph.describe(2), "2: Rv 0");
    EXPECT_EQ(walk.graph.describe(0), "0: Rv 0");
    EXPECT_EQ(walk.graph.describe(6), "6: H Rv 4 tail 1");
    EXPECT_EQ(walk.graph.describe(3), "3: B Re 1 Rv 5 tail 7 head 6");
    EXPECT_EQ(walk.graph.describe(1), "1: B Rv 5 head 6");
    EXPECT_EQ(walk.graph.describe(9), "9: H Rv 3 tail 7 outer 6");
    EXPECT_EQ(walk.graph.describe(7), "7: B Rv 3 head 9");
}

TEST(PerfGraph, D10_AnExcursionThatReturnsBelongsToTheLoop)
{
    Walk walk("5 5 5 8 5 5 8 5");
    EXPECT_EQ(walk.events, (Events{{1, "DETECTED"}, {3, "EXIT"}, {4, "REENTRY"}}));
    EXPECT_EQ(walk.graph.describe(5), "5: H Rv 5 tail 5");
    EXPECT_EQ(walk.graph.describe(8), "8: B Rv 1 head 5");
}

TEST(PerfGraph, D10_ALoopInALoop)
{
    Walk walk("1 2 3 1 2 2 3 1 2 2 3");
    EXPECT_EQ(walk.events, (Events{{3, "DETECTED"}, {5, "DETECTED"}}));
    EXPECT_EQ(walk.labels[6], "body re-entry; 1");
    EXPECT_EQ(walk.labels[8], "head re-entry; 2");
    EXPECT_EQ(walk.labels[10], "body re-entry; 1");
    EXPECT_EQ(walk.graph.describe(1), "1: H Rv 2 tail 3");
    EXPECT_EQ(walk.graph.describe(2), "2: H B Rv 4 tail 2 head 1");
    EXPECT_EQ(walk.graph.describe(3), "3: B Re 2 Rv 2 tail 2 head 1");
}

/* Back to the head along a new edge, to a later node, and to an earlier one: no other event. */
TEST(PerfGraph, D6_AnotherWayInALoopIsNoLoop)
{
    Walk walk("1 2 3 1 2 1 3 2 3 1");
    EXPECT_EQ(walk.events,
              (Events{{3, "DETECTED"}, {5, "CHANGED"}, {6, "CHANGED"}, {7, "CHANGED"}}));
    EXPECT_EQ(walk.labels[5], "1");
    EXPECT_EQ(walk.labels[6], "1");
}

TEST(PerfGraph, D14_ListingsAsPublished)
{
    Graph graph;
    char text[128];
    auto print = [&](uint64_t key, size_t size = sizeof(text)) {
        perf_step step = perf_graph_visit(graph.g.get(), key, PERF_KIND_P2P);
        perf_graph_print_step(graph.g.get(), &step, 42, text, size);
        return std::string(text);
    };
    EXPECT_EQ(print(2), "0: root id: 2");
    EXPECT_EQ(print(6), "1: id: 6; detected: 0; -> NOT in a loop; (TD: 42)");
    EXPECT_EQ(print(6), "2: id: 6; detected: 1; -> head: 6; (TD: 42)");
    EXPECT_EQ(print(6, 20), "3: id: 6; detected:");
    perf_graph_print_node(graph.g.get(), 1, text, sizeof(text));
    EXPECT_EQ(std::string(text), "1; id: 6; H: 1; B: 0; Re: 0; Rv: 2; tail: 1; head: ");
}

/* After enough repetitions a loop is known: nothing changes any more. */
TEST(PerfGraph, ARegularProgramBecomesStable)
{
    for (uint32_t seed = 1; seed <= 100; seed++) {
        std::vector<uint64_t> body = Program(seed).run(40);
        Graph graph;
        for (int round = 0; round < 3; round++) {
            for (uint64_t id : body)
                graph.visit(id);
        }
        uint32_t structure = graph.g->structure;
        for (uint64_t id : body) {
            perf_step step = graph.visit(id);
            if (graph.g->edges_dropped == 0) {
                ASSERT_NE(step.label, PERF_LABEL_OUTSIDE) << "seed " << seed;
            }
        }
        if (graph.g->edges_dropped == 0) {
            ASSERT_EQ(graph.g->structure, structure) << "seed " << seed;
        }
    }
}

TEST(PerfGraph, D12_TooManySites)
{
    Graph graph;
    graph.visit(0, PERF_KIND_PROBE);
    for (uint64_t id = 1; id < 3 * PERF_NODES_MAX; id++)
        graph.visit(id);
    EXPECT_TRUE(graph.g->full);
    EXPECT_EQ(graph.g->nodes, PERF_NODES_MAX);
    EXPECT_EQ(graph.visit(4000).node, PERF_NONE);
    /* known sites are still visited */
    EXPECT_EQ(graph.visit(0, PERF_KIND_PROBE).event, PERF_EVENT_DETECTED);
    EXPECT_EQ(graph.visit(4001).node, PERF_NONE);
    EXPECT_EQ(graph.visit(0, PERF_KIND_PROBE).label, PERF_LABEL_INSIDE);
    ASSERT_NO_FATAL_FAILURE(check(graph, 0));
}

TEST(PerfGraph, D12_TooManyLoopsAndTheElasticOneIsKnown)
{
    Graph graph;
    graph.visit(0, PERF_KIND_PROBE);
    for (uint64_t id = 1; id <= 2 * PERF_LOOPS_MAX; id++) {
        graph.visit(id);
        graph.visit(id);
    }
    EXPECT_TRUE(graph.g->full);
    EXPECT_EQ(graph.g->loops, PERF_LOOPS_MAX - 1);
    EXPECT_EQ(graph.visit(0, PERF_KIND_PROBE).event, PERF_EVENT_DETECTED);
    EXPECT_EQ(graph.g->loops, PERF_LOOPS_MAX);
    ASSERT_NO_FATAL_FAILURE(check(graph, 0));
}

TEST(PerfGraph, D12_TooManySuccessors)
{
    Graph graph;
    for (int round = 0; round < 3; round++) {
        for (uint64_t id = 1; id <= 2 * PERF_SUCCESSORS_MAX; id++) {
            graph.visit(0);
            graph.visit(id);
        }
    }
    uint32_t structure = graph.g->structure;
    uint64_t failed = graph.g->edges_dropped;
    graph.visit(0);
    EXPECT_EQ(graph.visit(1).event, PERF_EVENT_NONE);
    graph.visit(0);
    EXPECT_EQ(graph.visit(2 * PERF_SUCCESSORS_MAX).event, PERF_EVENT_CHANGED);
    EXPECT_EQ(graph.g->edges_dropped, failed + 1);
    EXPECT_EQ(graph.g->structure, structure) << "what cannot be stored is no change";
    ASSERT_NO_FATAL_FAILURE(check(graph, 0));
}

/* Nanoseconds of a step along known edges in a loop of so many sites; the min of several rounds. */
double nanoseconds_of_step(uint64_t sites)
{
    Graph graph;
    double least = 1e9;
    for (int round = 0; round < 20; round++) {
        auto start = std::chrono::steady_clock::now();
        for (uint64_t step = 0; step < 16 * 1024; step++)
            graph.visit(step % sites);
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        least = std::min(least, took.count() / (16 * 1024));
    }
    return least;
}

/* C1, as a ratio: it distinguishes a search from one access, also on a shared machine. */
TEST(PerfGraph, D2_AKnownStepCostsTheSameInALargeGraph)
{
    double small = nanoseconds_of_step(8), large = nanoseconds_of_step(1024);
    RecordProperty("nanoseconds_at_8", std::to_string(small));
    RecordProperty("nanoseconds_at_1024", std::to_string(large));
    EXPECT_LE(large, 2 * small) << small << " ns at 8 sites, " << large << " ns at 1024";
}

}  // namespace
