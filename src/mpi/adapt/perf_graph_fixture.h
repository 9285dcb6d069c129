/* For tests of the detection of loops: a graph whose nodes are numbered as in the examples of the
 * paper. */

#ifndef PERF_GRAPH_FIXTURE_H_INCLUDED
#define PERF_GRAPH_FIXTURE_H_INCLUDED

extern "C" {
#include "perf_graph.h"
}

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

struct Graph {
    std::unique_ptr<perf_graph> g = std::make_unique<perf_graph>();

    Graph() { perf_graph_init(g.get()); }
    /* Ids from 0 as in the examples: 0 is no key. */
    perf_step visit(uint64_t id, perf_kind kind =
                    PERF_KIND_P2P) { return perf_graph_visit(g.get(), id + 1, kind); }
    uint16_t index(uint64_t id) const
    {
        for (uint16_t i = 0; i < g->nodes; i++) {
            if (g->node[i].key == id + 1)
                return i;
        }
        return PERF_NONE;
    }
    std::string id(uint16_t node) const
    {
        return node == PERF_NONE ? "" : std::to_string(g->node[node].key - 1);
    }
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

inline std::string name_of(uint8_t event)
{
    static const char *const NAMES[] = {"", "", "DETECTED", "EXIT", "REENTRY", "CHANGED"};
    return NAMES[event];
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
inline void check(const Graph &graph, uint64_t seed)
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
            ASSERT_TRUE(perf_graph_inside(&g, n.tail, i))
                << "tail of " << i << " outside, seed " << seed;
        }
        for (uint16_t head : {n.head, n.outer})
            ASSERT_TRUE(head == PERF_NONE || g.node[head].loop != PERF_NONE) << "seed " << seed;
    }
    ASSERT_EQ(visits, g.steps);
}

#endif /* PERF_GRAPH_FIXTURE_H_INCLUDED */
