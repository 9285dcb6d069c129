/* Detection of loops on random sequences: invariants, and a second, literal implementation of the
 * rules (SPEC-performance D1-D8, D11). */

#include "perf_graph_fixture.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace {

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

/* The literal rules, by sets and chains, without regard to their cost. */
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
        } else if (int h = loop_of(b);
                   !nodes[b].head && inside(a, h) && nodes[b].seq > nodes[h].seq) {
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
        label =
            (nodes[b].head ? "head re-entry; " : "body re-entry; ") + std::to_string(loop_of(b));
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

/* D1-D8, D11: one rule applies to each step of any sequence, and the graph follows it. */
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
            std::string label = step.label == PERF_LABEL_OUTSIDE
                                    ? "outside"
                                    : LABELS[step.label] + std::to_string(head);
            ASSERT_EQ(name_of(step.event), plain.event)
                << "seed " << seed << ", step " << graph.g->steps;
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

/* The object contains all state, so that detection can continue on a copy. */
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
            ASSERT_EQ(first.describe(first.g->node[i].key - 1),
                      whole.describe(whole.g->node[i].key - 1));
    }
}

}  // namespace
