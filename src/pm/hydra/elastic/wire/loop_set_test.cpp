/* Loops of several processes, merged from graphs as the library makes them.  SPEC-performance
 * N1-N8, B3, B6. */

#include "wire/loop_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

extern "C" {
#include "../../../../mpi/adapt/perf_pack.h"
}

namespace {

using Graph = std::unique_ptr<pmi_adapt_graph>;
constexpr int PROBE = 999;

/* The board of a process after these steps; each takes 10 ns, 3 of them in MPI. */
Graph graph_of(const std::vector<int> &steps, const std::map<int, perf_kind> &kinds = {})
{
    auto measure = std::make_unique<perf_measure>();
    Graph graph(new pmi_adapt_graph());
    uint64_t now = 1000;
    perf_measure_init(measure.get(), 0);
    for (int id : steps) {
        auto kind = kinds.find(id);
        perf_step step = perf_measure_enter(measure.get(), static_cast<uint64_t>(id) + 1,
                                            id == PROBE           ? PERF_KIND_PROBE
                                            : kind == kinds.end() ? PERF_KIND_COLLECTIVE
                                                                  : kind->second,
                                            now);
        measure->graph.node[step.node].id = static_cast<uint64_t>(id) + 1;
        perf_measure_leave(measure.get(), now + 3);
        now += 10;
    }
    perf_pack(measure.get(), graph.get());
    for (uint32_t i = 0; i < graph->summary.loops; i++)
        snprintf(graph->loop[i].name, sizeof graph->loop[i].name, "p+0x%llx",
                 static_cast<unsigned long long>(graph->node[graph->loop[i].head].id));
    return graph;
}

struct Set {
    loop_set set;
    Set() { loop_set_init(&set); }
    ~Set() { loop_set_free(&set); }
    Set(const Set &) = delete;
    Set &operator=(const Set &) = delete;
    void merge(const Set &from) { loop_set_merge(&set, &from.set); }
    std::string bytes() const
    {
        std::string text(loop_set_bytes(&set), 0);
        loop_set_write(&set, text.data());
        return text;
    }
    /* "[c2 p1:Re1] 0-3 #1 in [...]", one a loop, sorted. */
    std::string text() const
    {
        std::vector<std::string> lines;
        for (uint32_t i = 0; i < set.loops; i++)
            lines.push_back(line(set.loop[i]));
        std::sort(lines.begin(), lines.end());
        std::string all;
        for (const std::string &line : lines)
            all += (all.empty() ? "" : "; ") + line;
        return all;
    }
    std::string items(const loop &loop) const
    {
        std::string text = "[";
        for (uint32_t i = 0; i < loop.items; i++) {
            const loop_item &item = loop.item[i];
            text += (i ? " " : "") + std::string(1, "prcimP"[item.kind]);
            if (item.kind != LOOP_P2P && item.kind != LOOP_PROBE)
                text += std::to_string(item.id - 1);
            if (item.reentries)
                text += ":" + std::to_string(item.reentries);
        }
        return text + "]";
    }
    std::string line(const loop &loop) const
    {
        std::string text = items(loop);
        for (uint32_t i = 0; i < loop.ranges; i++)
            text +=
                (i ? "," : " ") + std::to_string(loop.range[i].first) +
                (loop.range[i].last > loop.range[i].first ? "-" + std::to_string(loop.range[i].last)
                                                          : "");
        if (loop.ordinal)
            text += " #" + std::to_string(loop.ordinal);
        for (uint32_t i = 0; i < set.loops; i++) {
            if (set.loop[i].key == loop.parent)
                text += " in " + items(set.loop[i]);
        }
        return text;
    }
};

void reduce(Set &to, const std::vector<const pmi_adapt_graph *> &graphs, uint32_t first)
{
    loop_reduction *reduction = loop_reduction_create();
    for (size_t i = 0; i < graphs.size(); i++) {
        ASSERT_TRUE(loop_reduction_add(reduction, graphs[i], first + static_cast<uint32_t>(i)));
    }
    loop_set_merge(&to.set, loop_reduction_result(reduction));
    loop_reduction_destroy(reduction);
}

const std::vector<int> GOLDEN = {2, 0, 6, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9,
                                 7, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7};
const std::vector<int> OTHERS = {2, 0, 6, 3, 1, 6, 3, 1, 6, 3, 1, 6, 3, 1};
const std::map<int, perf_kind> MESSAGES = {{6, PERF_KIND_P2P}, {3, PERF_KIND_P2P}};

/* N7: figures 10.3 to 10.5 */
TEST(LoopSet, N7_N1_TheGoldenOfFourProcessesAndOfTwoNodes)
{
    Graph root = graph_of(GOLDEN, MESSAGES), other = graph_of(OTHERS, MESSAGES);
    Set first, second;
    reduce(first, {root.get(), other.get(), other.get(), other.get()}, 0);
    EXPECT_EQ(first.text(), "[c1 p:1] 0-3; [c7 c9] 0 in [c1 p:1]");
    reduce(second, {other.get(), other.get(), other.get(), other.get()}, 4);
    EXPECT_EQ(second.text(), "[c1 p] 4-7");
    first.merge(second);
    EXPECT_EQ(first.text(), "[c1 p:1] 0-7; [c7 c9] 0 in [c1 p:1]");
}

TEST(LoopSet, N8_N1_WithoutLoopsThereIsNothing)
{
    Graph graph = graph_of({1, 2, 3, 4});
    Set set;
    reduce(set, {graph.get(), graph.get()}, 0);
    EXPECT_EQ(set.text(), "");
    Set read;
    EXPECT_TRUE(loop_set_read(&read.set, set.bytes().data(), set.bytes().size()));
}

/* The same loop with another entry: only the cyclic order of the sequence counts.  A run of
 * messages is one item, also across the end. */
TEST(LoopSet, N2_N3_WhereALoopBeginsIsTheSame)
{
    std::map<int, perf_kind> messages = {
        {10, PERF_KIND_P2P}, {11, PERF_KIND_P2P}, {12, PERF_KIND_RMA}, {20, PERF_KIND_P2P}};
    Graph a = graph_of({10, 11, 1, 2, 12, 10, 11, 1, 2, 12}, messages);
    Graph b = graph_of({2, 20, 1, 2, 20, 1, 2}, messages);
    Set set;
    reduce(set, {a.get(), b.get()}, 0);
    EXPECT_EQ(set.text(), "[c1 c2 p] 0-1");
}

TEST(LoopSet, N4_TimesAreSummedAndRatiosBounded)
{
    Graph a = graph_of({1, 2, 1, 2, 1}), b = graph_of({1, 2, 1, 2, 1});
    b->loop[0].loop_ns = 100;
    b->loop[0].mpi_ns = 90;
    Set set;
    reduce(set, {a.get(), b.get()}, 0);
    ASSERT_EQ(set.set.loops, 1u);
    const loop &loop = set.set.loop[0];
    EXPECT_EQ(loop.loop_ns, a->loop[0].loop_ns + 100);
    EXPECT_EQ(loop.mpi_ns, a->loop[0].mpi_ns + 90);
    EXPECT_EQ(loop.iterations, a->loop[0].iterations * 2);
    EXPECT_EQ(loop.ratio_max, 900000u);
    EXPECT_EQ(loop.ratio_min, 300000u);
    EXPECT_EQ(loop_processes(&loop), 2u);
}

/* S6: independent of the other calls of a process between two probes. */
TEST(LoopSet, S6_TheLoopThatProbesIsOne)
{
    Graph a = graph_of({PROBE, 1, 2, PROBE, 1, 2, PROBE}),
          b = graph_of({PROBE, 3, PROBE, 3, PROBE});
    Set set;
    reduce(set, {a.get(), b.get(), a.get()}, 0);
    EXPECT_EQ(set.text(), "[P] 0-2");
}

/* N5 */
TEST(LoopSet, N5_ALoopThatStandsAloneForLackOfMessagesIsJoined)
{
    std::map<int, perf_kind> messages = {{10, PERF_KIND_P2P}};
    Graph inner = graph_of({1, 10, 2, 1, 10, 2, 1}, messages),
          edge = graph_of({1, 2, 1, 2, 1}, messages);
    Graph only = graph_of({10, 10, 10}, messages);
    Set set;
    reduce(set, {edge.get(), inner.get(), inner.get(), edge.get(), only.get()}, 0);
    EXPECT_EQ(set.text(), "[c1 c2] 0,3; [c1 p c2] 1-2; [p] 4");
    loop_set_join_alone(&set.set, 5);
    EXPECT_EQ(set.set.loops, 2u);
    for (uint32_t i = 0; i < 2; i++)
        EXPECT_EQ(loop_processes(&set.set.loop[i]), set.set.loop[i].items == 1 ? 1u : 4u);
}

TEST(LoopSet, N4_EqualSiblingsAreDistinguished)
{
    /* two successive loops with messages only, in the loop that probes */
    std::map<int, perf_kind> messages = {{10, PERF_KIND_P2P}, {20, PERF_KIND_P2P}};
    Graph graph =
        graph_of({PROBE, 10, 10, 10, 1, 20, 20, PROBE, 10, 10, 1, 20, 20, PROBE}, messages);
    Set set;
    reduce(set, {graph.get(), graph.get()}, 0);
    EXPECT_EQ(set.text(), "[P:2] 0-1; [p] 0-1 #1 in [P:2]; [p] 0-1 in [P:2]");
}

std::vector<int> random_program(std::mt19937 &random)
{
    std::vector<int> steps;
    int sites = 2 + static_cast<int>(random() % 8);
    for (int i = 0; i < 60; i++) {
        int first = static_cast<int>(random() % static_cast<unsigned>(sites));
        for (int n = static_cast<int>(random() % 4); n >= 0; n--)
            steps.push_back((first + n) % sites);
        if (random() % 8 == 0)
            steps.push_back(PROBE);
    }
    return steps;
}

/* N6: all at once, by nodes, by any tree, in any order; an empty set is neutral; what is written is
 * read. */
TEST(LoopSet, N6_MergingIsAssociativeAndCommutative)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        std::mt19937 random(seed);
        std::map<int, perf_kind> kinds;
        for (int id = 0; id < 10; id++)
            kinds[id] = static_cast<perf_kind>(random() % 3);
        std::vector<Graph> programs;
        for (int i = 0; i < 3; i++)
            programs.push_back(graph_of(random_program(random), kinds));
        std::vector<const pmi_adapt_graph *> graphs;
        for (int i = 0; i < 12; i++)
            graphs.push_back(programs[random() % programs.size()].get());
        Set all, empty;
        reduce(all, graphs, 0);
        std::vector<std::unique_ptr<Set>> parts;
        for (uint32_t i = 0; i < 12; i++) {
            parts.push_back(std::make_unique<Set>());
            reduce(*parts.back(), {graphs[i]}, i);
        }
        while (parts.size() > 1) {
            size_t a = random() % parts.size(),
                   b = (a + 1 + random() % (parts.size() - 1)) % parts.size();
            parts[a]->merge(*parts[b]);
            parts.erase(parts.begin() + static_cast<long>(b));
        }
        parts[0]->merge(empty);
        empty.merge(*parts[0]);
        ASSERT_EQ(parts[0]->bytes(), all.bytes()) << "seed " << seed << "\n"
                                                  << parts[0]->text() << "\n"
                                                  << all.text();
        ASSERT_EQ(empty.bytes(), all.bytes()) << "seed " << seed;
        Set read;
        ASSERT_TRUE(loop_set_read(&read.set, all.bytes().data(), all.bytes().size()))
            << "seed " << seed;
        ASSERT_EQ(read.bytes(), all.bytes());
    }
}

/* ---- B6 ---- */

TEST(LoopSet, B6_NonsenseIsNotBelieved)
{
    auto refuse = [](const char *what, auto change) {
        Graph graph = graph_of(GOLDEN, MESSAGES);
        ASSERT_TRUE(loop_graph_is_sound(graph.get()));
        change(*graph);
        EXPECT_FALSE(loop_graph_is_sound(graph.get())) << what;
        /* after a valid graph to which it claims to be equal: its links are not followed, and its
         * times are checked */
        Graph good = graph_of(GOLDEN, MESSAGES);
        loop_reduction *reduction = loop_reduction_create();
        EXPECT_TRUE(loop_reduction_add(reduction, good.get(), 0));
        bool links_alone = graph->summary.nodes == good->summary.nodes &&
                           graph->summary.loops == good->summary.loops &&
                           std::string(what).find("a ") == 0 &&
                           std::string(what).find("a name") != 0 && std::string(what) != "a time";
        EXPECT_EQ(loop_reduction_add(reduction, graph.get(), 1), links_alone ? 1 : 0) << what;
        EXPECT_EQ(loop_reduction_result(reduction)->dropped, 0u);
        loop_reduction_destroy(reduction);
    };
    refuse("nodes", [](auto &g) { g.summary.nodes = PMI_ADAPT_GRAPH_NODES + 1; });
    refuse("loops", [](auto &g) { g.summary.loops = PMI_ADAPT_GRAPH_LOOPS + 1; });
    refuse("a head that is no node", [](auto &g) { g.loop[0].head = g.summary.nodes; });
    refuse("a head twice", [](auto &g) { g.loop[1].head = g.loop[0].head; });
    refuse("a kind", [](auto &g) { g.node[3].kind = LOOP_KINDS; });
    refuse("a body of nothing", [](auto &g) { g.node[3].head = 77; });
    refuse("a body of a node that is no head", [](auto &g) { g.node[3].head = 0; });
    refuse("a tail", [](auto &g) { g.node[3].tail = 77; });
    refuse("a cycle", [](auto &g) { g.node[g.loop[0].head].outer = g.loop[0].head; });
    refuse("a cycle of two", [](auto &g) {
        g.node[g.loop[0].head].outer = g.loop[1].head;
        g.node[g.loop[1].head].outer = g.loop[0].head;
    });
    refuse("more MPI than time", [](auto &g) { g.loop[0].mpi_ns = g.loop[0].loop_ns + 1; });
    refuse("a time", [](auto &g) { g.loop[0].loop_ns = LOOP_TIME_MAX + 1; });
    refuse("a name without an end",
           [](auto &g) { memset(g.loop[0].name, 'x', sizeof g.loop[0].name); });
    refuse("a name that is none", [](auto &g) { strcpy(g.loop[0].name, "\033[2J"); });
}

/* A graph with flipped bits is refused, or can be reduced, written and read. */
TEST(LoopSet, B6_WhateverIsOnABoardIsRefusedOrReduced)
{
    Graph good = graph_of(GOLDEN, MESSAGES);
    unsigned sound = 0;
    for (uint32_t seed = 1; seed <= 3000; seed++) {
        std::mt19937 random(seed);
        pmi_adapt_graph shared = *good, graph;
        shared.seq = 2;
        for (unsigned n = 1 + random() % 4; n > 0; n--) {
            size_t nodes =
                offsetof(pmi_adapt_graph, node) + good->summary.nodes * sizeof(good->node[0]);
            size_t loops = offsetof(pmi_adapt_graph, loop) + random() % (2 * sizeof(good->loop[0]));
            size_t at =
                random() % 3 ? sizeof(uint64_t) + random() % (nodes - sizeof(uint64_t)) : loops;
            reinterpret_cast<unsigned char *>(&shared)[at] ^=
                static_cast<unsigned char>(1u << random() % 8);
        }
        if (!pmi_adapt_read_graph(&shared, &graph) || !loop_graph_is_sound(&graph))
            continue;
        sound++;
        loop_reduction *reduction = loop_reduction_create();
        loop_reduction_add(reduction, good.get(), 0);
        loop_reduction_add(reduction, &graph, 1);
        loop_reduction_add(reduction, good.get(), 2);
        Set set, read;
        loop_set_merge(&set.set, loop_reduction_result(reduction));
        loop_reduction_destroy(reduction);
        ASSERT_TRUE(loop_set_read(&read.set, set.bytes().data(), set.bytes().size()))
            << "seed " << seed;
        ASSERT_EQ(read.bytes(), set.bytes());
    }
    EXPECT_GT(sound, 100u);
    EXPECT_LT(sound, 2900u);
}

TEST(LoopSet, WhateverAProxySendsIsRefusedOrRead)
{
    Graph root = graph_of(GOLDEN, MESSAGES), other = graph_of(OTHERS, MESSAGES);
    Set set;
    reduce(set, {root.get(), other.get()}, 0);
    const std::string good = set.bytes();
    unsigned read_ones = 0;
    for (uint32_t seed = 1; seed <= 5000; seed++) {
        std::mt19937 random(seed);
        std::string bytes = good.substr(0, random() % 4 ? good.size() : random() % good.size());
        for (unsigned n = random() % 3; n > 0 && !bytes.empty(); n--)
            bytes[random() % bytes.size()] ^= static_cast<char>(1u << random() % 8);
        Set read;
        if (!loop_set_read(&read.set, bytes.data(), bytes.size()))
            continue;
        read_ones++;
        ASSERT_EQ(read.bytes().size(), bytes.size()) << "seed " << seed;
        read.merge(set);
        loop_set_renumber(
            &read.set, 2, [](void *, uint32_t rank) -> int64_t { return 7 - rank; }, nullptr);
        loop_set_join_alone(&read.set, 2);
    }
    EXPECT_GT(read_ones, 500u);
    EXPECT_LT(read_ones, 4500u);
}

/* The golden graph, as a process writes it to the board. */
TEST(LoopSet, B2_B5_WhatAProcessPutsOnTheBoard)
{
    Graph graph = graph_of(GOLDEN, MESSAGES);
    const pmi_adapt_graph_summary &summary = graph->summary;
    EXPECT_EQ(summary.nodes, 7u);
    EXPECT_EQ(summary.loops, 2u);
    EXPECT_EQ(summary.steps, GOLDEN.size());
    EXPECT_EQ(summary.flags, 0u);
    constexpr uint32_t NONE = PMI_ADAPT_GRAPH_NONE;
    EXPECT_EQ(NONE, UINT32_MAX);
    /* 2 0 6 3 1 9 7, in the order of creation: head, tail, outer */
    const uint32_t links[][3] = {{NONE, NONE, NONE}, {NONE, NONE, NONE}, {NONE, 4, NONE},
                                 {2, 6, NONE},       {2, NONE, NONE},    {NONE, 6, 2},
                                 {5, NONE, NONE}};
    for (uint32_t i = 0; i < 7; i++) {
        const pmi_adapt_graph_node &node = graph->node[i];
        EXPECT_EQ(std::tuple(node.head, node.tail, node.outer),
                  std::tuple(links[i][0], links[i][1], links[i][2]))
            << i;
        EXPECT_EQ(graph->reentries[i], i == 3 ? 1u : 0u) << i;
        EXPECT_EQ(node.kind, i == 2 || i == 3 ? LOOP_P2P : LOOP_COLLECTIVE) << i;
    }
    EXPECT_EQ(graph->loop[0].head, 2u);
    EXPECT_EQ(graph->loop[1].head, 5u);
    for (int i = 0; i < 2; i++) {
        EXPECT_GT(graph->loop[i].iterations, 0u);
        EXPECT_LE(graph->loop[i].mpi_ns, graph->loop[i].loop_ns);
    }
    /* the rest is 0 */
    EXPECT_EQ(graph->node[7].id, 0u);
    EXPECT_EQ(graph->loop[2].iterations, 0u);
    /* `structure` shows a reader that the graph has changed, `hash` that graphs are equal */
    Graph shorter = graph_of({GOLDEN.begin(), GOLDEN.end() - 13}, MESSAGES),
          again = graph_of(GOLDEN, MESSAGES);
    EXPECT_LT(shorter->summary.structure, summary.structure);
    EXPECT_NE(shorter->summary.hash, summary.hash);
    EXPECT_EQ(again->summary.hash, summary.hash);
}

/* C5: a proxy reads the nodes only of the first of several equal graphs, and the numbers of
 * each. */
TEST(LoopSet, B2_NodesThatAreKnownAreNotReadAgain)
{
    Graph shared = graph_of(GOLDEN, MESSAGES), read(new pmi_adapt_graph());
    shared->seq = 2;
    ASSERT_TRUE(pmi_adapt_read_graph(shared.get(), read.get()));
    uint64_t id = read->node[1].id;
    shared->node[1].id = 77;    /* to see whether it is checked */
    shared->reentries[1] = 5;
    shared->loop[0].iterations = 99;
    shared->summary.steps = 7;
    ASSERT_TRUE(pmi_adapt_read_next_graph(shared.get(), read.get()));
    EXPECT_EQ(read->node[1].id, id);
    EXPECT_EQ(read->reentries[1], 5u);
    EXPECT_EQ(read->loop[0].iterations, 99u);
    EXPECT_EQ(read->summary.steps, 7u);
    shared->summary.hash++;
    ASSERT_TRUE(pmi_adapt_read_next_graph(shared.get(), read.get()));
    EXPECT_EQ(read->node[1].id, 77u) << "another graph";
    shared->seq = 3;
    EXPECT_FALSE(pmi_adapt_read_next_graph(shared.get(), read.get()));
    shared->seq = 4;
    shared->node[1].id = id;
    ASSERT_TRUE(pmi_adapt_read_next_graph(shared.get(), read.get()));
    EXPECT_EQ(read->node[1].id, id) << "what was being written is not stored";
    ASSERT_TRUE(pmi_adapt_read_graph(shared.get(), read.get()));
    EXPECT_EQ(read->summary.hash, shared->summary.hash);
}

/* Processes with equal graphs, one of which has other numbers of re-entries. */
TEST(LoopSet, N2_ReentriesOfHomogeneousProcessesAreSummedUp)
{
    Graph one = graph_of(GOLDEN, MESSAGES), other = graph_of(GOLDEN, MESSAGES);
    other->reentries[3] += 3;
    Set set, apart;
    reduce(set, {one.get(), other.get(), one.get()}, 0);
    EXPECT_EQ(set.text(), "[c1 p:6] 0-2; [c7 c9] 0-2 in [c1 p:6]");
    for (uint32_t rank = 0; rank < 3; rank++) {
        Set alone;
        reduce(alone, {rank == 1 ? other.get() : one.get()}, rank);
        apart.merge(alone);
    }
    EXPECT_EQ(apart.text(), set.text());
    other->reentries[3] = UINT32_MAX;
    Set full;
    reduce(full, {one.get(), other.get(), other.get()}, 0);
    EXPECT_NE(full.text().find("p:" + std::to_string(UINT32_MAX)), std::string::npos)
        << full.text();
}

/* B3: a read while the process writes gives a consistent graph or none. */
TEST(LoopSet, B3_AGraphIsReadWholeOrNotAtAll)
{
    Graph shared(new pmi_adapt_graph()), written(new pmi_adapt_graph()),
        read(new pmi_adapt_graph());
    std::atomic<bool> over = false;
    std::thread writer([&] {
        for (uint32_t n = 1; !over; n++) {
            written->summary.nodes = 1 + n % PMI_ADAPT_GRAPH_NODES;
            written->summary.steps = n;
            for (uint32_t i = 0; i < written->summary.nodes; i++)
                written->node[i].id = n;
            pmi_adapt_write_graph(shared.get(), written.get());
            if (n % 4 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(30));
        }
    });
    unsigned whole = 0;
    for (int i = 0; i < 1000000 && whole < 500; i++) {
        if (!pmi_adapt_read_graph(shared.get(), read.get()) || read->seq == 0)
            continue;
        whole++;
        for (uint32_t k = 0; k < read->summary.nodes; k++)
            ASSERT_EQ(read->node[k].id, read->summary.steps) << "a part of another one";
    }
    over = true;
    writer.join();
    EXPECT_EQ(whole, 500u);
}

}  // namespace
