/* Detection of loops: the published example, two more, what holds for any sequence, and the rules D1 to D8 once more,
 * as they are written.  SPEC-performance D1-D12, D14. */

extern "C" {
#include "perf_graph.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace {

struct Graph {
    std::unique_ptr<perf_graph> g = std::make_unique<perf_graph>();

    Graph() { perf_graph_init(g.get()); }
    /* Ids from 0 as in the examples: 0 is no key. */
    perf_step visit(uint64_t id, perf_kind kind = PERF_KIND_P2P) { return perf_graph_visit(g.get(), id + 1, kind); }
    uint16_t index(uint64_t id) const
    {
        for (uint16_t i = 0; i < g->nodes; i++) {
            if (g->node[i].key == id + 1)
                return i;
        }
        return PERF_NONE;
    }
    std::string id(uint16_t node) const { return node == PERF_NONE ? "" : std::to_string(g->node[node].key - 1); }
    bool is_head(uint16_t node) const { return g->node[node].loop != PERF_NONE; }
    /* "6: H Rv 4 tail 1", or "3: B Re 1 Rv 5 tail 7 head 6" */
    std::string describe(uint64_t node_id) const
    {
        uint16_t i = index(node_id);
        const perf_node &n = g->node[i];
        std::string text = std::to_string(node_id) + ":";
        text += is_head(i) ? " H" : "";
        text += n.head != PERF_NONE ? " B" : "";
        text += n.reentries ? " Re " + std::to_string(n.reentries) : "";
        text += " Rv " + std::to_string(n.visits - 1);
        text += n.tail != PERF_NONE ? " tail " + id(n.tail) : "";
        text += n.head != PERF_NONE ? " head " + id(n.head) : "";
        return text + (n.outer != PERF_NONE ? " outer " + id(n.outer) : "");
    }
};

std::string name_of(uint8_t event)
{
    static const char *const NAMES[] = {"", "", "DETECTED", "EXIT", "REENTRY", "CHANGED"};
    return NAMES[event];
}

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
                                 : LABELS[step.label] + graph.id(perf_graph_head(graph.g.get(), step.node)));
        }
    }
};

using Events = std::map<int, std::string>;

TEST(PerfGraph, D9_ThePublishedExample)
{
    Walk walk("2 0 6 3 1 6 3 1 6 3 1 9 7 9 7 3 1 6 3 1 6 3 1 9 7 9 7");

    EXPECT_EQ(walk.events, (Events{{5, "DETECTED"}, {11, "EXIT"}, {13, "DETECTED"}, {15, "REENTRY"}}));
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

/* Back to the head by another way, to a later node, and to one of before: no event but that. */
TEST(PerfGraph, D6_AnotherWayInALoopIsNoLoop)
{
    Walk walk("1 2 3 1 2 1 3 2 3 1");
    EXPECT_EQ(walk.events, (Events{{3, "DETECTED"}, {5, "CHANGED"}, {6, "CHANGED"}, {7, "CHANGED"}}));
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

/* Sequences as programs make them: loops in loops with branches, and jumps to anywhere. */
class Program {
  public:
    explicit Program(uint32_t seed) : random_(seed), sites_(2 + random_() % 60) {}
    std::vector<uint64_t> run(size_t steps)
    {
        while (sequence_.size() < steps)
            block(0);
        return sequence_;
    }

  private:
    void block(int depth)
    {
        uint64_t first = random_() % sites_;
        for (uint32_t times = 1 + random_() % 4; times > 0; times--) {
            for (uint64_t i = 0; i < 1 + random_() % 4; i++) {
                sequence_.push_back((first + i) % sites_);
                if (random_() % 8 == 0)
                    sequence_.push_back(random_() % sites_);
                if (depth < 4 && random_() % 6 == 0)
                    block(depth + 1);
            }
        }
    }
    std::mt19937 random_;
    uint64_t sites_;
    std::vector<uint64_t> sequence_;
};

/* Invariants. */
void check(const Graph &graph, uint64_t seed)
{
    const perf_graph &g = *graph.g;
    uint64_t visits = 0;
    ASSERT_LE(g.loops, PERF_LOOPS_MAX);
    for (uint16_t i = 0; i < g.nodes; i++) {
        const perf_node &n = g.node[i];
        visits += n.visits;
        uint16_t x = i;
        for (int climbed = 0; x != PERF_NONE; climbed++, x = perf_graph_up(&g, x))
            ASSERT_LE(climbed, PERF_LOOPS_MAX) << "a cycle above node " << i << ", seed " << seed;
        if (n.loop != PERF_NONE) {
            ASSERT_EQ(g.loop_head[n.loop], i);
            ASSERT_TRUE(perf_graph_inside(&g, n.tail, i)) << "tail of " << i << " outside, seed " << seed;
        }
        for (uint16_t head : {n.head, n.outer})
            ASSERT_TRUE(head == PERF_NONE || g.node[head].loop != PERF_NONE) << "seed " << seed;
    }
    ASSERT_EQ(visits, g.steps);
}

TEST(PerfGraph, D11_AnySequenceKeepsTheInvariants)
{
    for (uint32_t seed = 1; seed <= 100; seed++) {
        Graph graph;
        for (uint64_t id : Program(seed).run(300)) {
            uint32_t structure = graph.g->structure;
            perf_step step = graph.visit(id);
            bool notified = (step.event == PERF_EVENT_NONE) == (structure == graph.g->structure);
            ASSERT_TRUE(notified || graph.g->edges_dropped > 0) << "seed " << seed;
            ASSERT_NO_FATAL_FAILURE(check(graph, seed));
        }
    }
}

/* The rules as they are written, by sets and chains, without regard to what they cost. */
class PlainGraph {
  public:
    struct Node {
        uint64_t visits = 0, seq = 0, reentries = 0;
        bool head = false, body = false;
        int in = -1, outer = -1, tail = -1; /* in: innermost loop that it is in the body of */
        std::set<int> next;
    };
    std::vector<Node> nodes;
    std::string event, label;

    /* By number in the order of creation; `b` may be the next new one. */
    void step(int b)
    {
        event.clear();
        bool is_new = b == static_cast<int>(nodes.size());
        if (is_new)
            nodes.emplace_back();
        int a = current_;
        bool known = is_new || a < 0 || nodes[a].next.contains(b);
        if (is_new) { /* D1 */
            event = a >= 0 && loop_of(a) >= 0 ? "EXIT" : "";
            label = "outside";
        } else if (known) { /* D2, D8 */
            label = label_of(a, b);
        } else if (loop_of(b) < 0) {
            detect(a, b);
        } else if (root_of(a) != root_of(b)) {
            enter_again(b);
        } else if (int h = loop_of(b); !nodes[b].head && inside(a, h) && nodes[b].seq > nodes[h].seq) {
            detect_inside(a, b, h);
        } else { /* D6 */
            event = "CHANGED";
            label = label_of(a, b);
        }
        if (a >= 0)
            nodes[a].next.insert(b);
        nodes[b].visits++; /* D7 */
        nodes[b].seq = ++steps_;
        if (label.starts_with("body")) {
            nodes[b].reentries++;
            nodes[b].tail = a;
        }
        current_ = b;
    }
    bool is_full() const
    {
        return std::any_of(nodes.begin(), nodes.end(),
                           [](const Node &node) { return node.next.size() > PERF_SUCCESSORS_MAX; });
    }

  private:
    int loop_of(int x) const { return nodes[x].head ? x : nodes[x].in; }
    int up(int x) const { return nodes[x].in >= 0 ? nodes[x].in : nodes[x].outer; }
    bool inside(int x, int h) const
    {
        while (x >= 0 && x != h)
            x = up(x);
        return x == h;
    }
    int root_of(int x) const { return up(x) < 0 ? x : root_of(up(x)); }
    void put_into(int x, int h)
    {
        nodes[x].in = h;
        nodes[x].body = true;
    }
    std::string label_of(int a, int b) const
    {
        int h = loop_of(b);
        if (h < 0)
            return "outside";
        if (h == b)
            return (inside(a, b) ? "" : "head re-entry; ") + std::to_string(b);
        return (loop_of(a) == h ? "" : "body re-entry; ") + std::to_string(h);
    }
    template <class Which> std::vector<int> all(Which which) const
    {
        std::vector<int> found;
        for (int x = 0; x < static_cast<int>(nodes.size()); x++)
            if (which(x))
                found.push_back(x);
        return found;
    }
    void detect(int a, int b) /* D3 */
    {
        event = "DETECTED";
        nodes[b].head = true;
        nodes[b].tail = a;
        std::set<int> roots;
        for (int x : all([&](int each) { return nodes[each].seq > nodes[b].seq; }))
            roots.insert(root_of(x));
        roots.erase(b);
        for (int o : roots)
            put_into(o, b);
        label = std::to_string(b);
    }
    void enter_again(int b) /* D4 */
    {
        event = "REENTRY";
        uint64_t left = 0;
        for (int x : all([&](int each) { return root_of(each) == root_of(b); }))
            left = std::max(left, nodes[x].seq);
        int h = !nodes[b].head ? nodes[b].in : up(b) >= 0 ? up(b) : b;
        label = (nodes[b].head ? "head re-entry; " : "body re-entry; ") + std::to_string(loop_of(b));
        std::set<int> roots;
        for (int x : all([&](int each) { return nodes[each].seq > left; }))
            roots.insert(root_of(x));
        for (int o : roots) {
            if (nodes[o].head)
                nodes[o].outer = h;
            else
                put_into(o, h);
        }
    }
    void detect_inside(int a, int b, int h) /* D5 */
    {
        event = "DETECTED";
        nodes[b].head = true;
        nodes[b].tail = a;
        auto holds_later = [&](int c) {
            return !all([&](int x) { return inside(x, c) && nodes[x].seq > nodes[b].seq; }).empty();
        };
        for (int c : all([&](int x) { return up(x) == h && x != b && holds_later(x); })) {
            put_into(c, b);
            nodes[c].outer = -1;
        }
        label = std::to_string(b);
    }
    int current_ = -1;
    uint64_t steps_ = 0;
};

/* D1-D8, D11: any sequence ends in one of them, and the graph follows them. */
TEST(PerfGraph, D11_AnySequenceGoesByTheRulesAsTheyAreWritten)
{
    std::map<std::string, int> events;
    auto number = [](uint16_t node) { return node == PERF_NONE ? -1 : int{node}; };
    for (uint32_t seed = 1; seed <= 300; seed++) {
        Graph graph;
        PlainGraph plain;
        for (uint64_t id : Program(seed).run(250)) {
            uint16_t known = graph.index(id);
            plain.step(known == PERF_NONE ? graph.g->nodes : known);
            perf_step step = graph.visit(id);
            if (plain.is_full() || graph.g->full)
                break;
            static const char *const LABELS[] = {"", "", "head re-entry; ", "body re-entry; "};
            uint16_t head = perf_graph_head(graph.g.get(), step.node);
            std::string label =
                step.label == PERF_LABEL_OUTSIDE ? "outside" : LABELS[step.label] + std::to_string(head);
            ASSERT_EQ(name_of(step.event), plain.event) << "seed " << seed << ", step " << graph.g->steps;
            ASSERT_EQ(label, plain.label) << "seed " << seed << ", step " << graph.g->steps;
            events[plain.event]++;
            for (uint16_t i = 0; i < graph.g->nodes; i++) {
                const perf_node &n = graph.g->node[i];
                const PlainGraph::Node &wanted = plain.nodes[i];
                ASSERT_EQ(std::tuple(n.visits, n.seq, n.reentries, graph.is_head(i)),
                          std::tuple(wanted.visits, wanted.seq, wanted.reentries, wanted.head))
                    << "node " << i << ", seed " << seed << ", step " << graph.g->steps;
                ASSERT_EQ(std::tuple(number(n.head), number(n.outer), number(n.tail)),
                          std::tuple(wanted.in, wanted.outer, wanted.tail))
                    << "node " << i << ", seed " << seed << ", step " << graph.g->steps;
            }
        }
    }
    for (const char *event : {"", "DETECTED", "EXIT", "REENTRY", "CHANGED"})
        EXPECT_GT(events[event], 100) << event;
}

/* Nothing is retained outside of the object, so that it can be detected in parts, on a copy. */
TEST(PerfGraph, D11_DetectedInTwoPartsAsAtOnce)
{
    for (uint32_t seed = 1; seed <= 50; seed++) {
        std::vector<uint64_t> sequence = Program(seed).run(300);
        Graph whole, first;
        for (size_t i = 0; i < sequence.size(); i++) {
            if (i == sequence.size() / 2)
                memcpy(first.g.get(), whole.g.get(), sizeof(perf_graph));
            whole.visit(sequence[i]);
        }
        for (size_t i = sequence.size() / 2; i < sequence.size(); i++)
            first.visit(sequence[i]);
        ASSERT_EQ(first.g->structure, whole.g->structure);
        ASSERT_EQ(first.g->loops, whole.g->loops);
        for (uint64_t id = 0; id < 62; id++)
            ASSERT_EQ(first.index(id), whole.index(id));
        for (uint16_t i = 0; i < whole.g->nodes; i++)
            ASSERT_EQ(first.describe(first.g->node[i].key - 1), whole.describe(whole.g->node[i].key - 1));
    }
}

/* A loop that repeats long enough is known: nothing changes any more. */
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
    /* what is known goes on being seen */
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

/* A loop of so many sites; nanoseconds a step along known edges, the least of several rounds. */
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

/* C1, as a ratio: it distinguishes a search from one access, on a machine that others use. */
TEST(PerfGraph, D2_AKnownStepCostsTheSameInALargeGraph)
{
    double small = nanoseconds_of_step(8), large = nanoseconds_of_step(1024);
    RecordProperty("nanoseconds_at_8", std::to_string(small));
    RecordProperty("nanoseconds_at_1024", std::to_string(large));
    EXPECT_LE(large, 2 * small) << small << " ns at 8 sites, " << large << " ns at 1024";
}

}  // namespace
