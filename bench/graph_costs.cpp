/*
 * What measuring loops costs beside MPI: the graph of a process, what is put on the board, what a node daemon makes of
 * it (src/mpi/adapt/perf_*.c, src/pm/hydra/elastic/wire/loop_set.c).  No MPI.
 *
 *   graph_costs
 *
 * Prints one JSON line for each operation and number of places or processes: {"what":..., "size":N, "ns":[...]}, each
 * the time of one operation, or, of "reduce" and "reduce alike", of all processes together.
 *   step       along a known edge            change     along a new edge between known places
 *   pack       graph to the form on the board   write, read   to the board, from it
 *   collapse   a graph to its loops          reduce     graphs of 1024 places, of eight kinds, to one set
 *   reduce alike   graphs of 1024 places, all the same     read all   the same graphs, and nothing else
 */

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

extern "C" {
#include "mpi/adapt/perf_pack.h"
}
#include "pm/hydra/elastic/wire/loop_set.h"

namespace {

constexpr int SAMPLES = 21, PLACES_MAX = PERF_NODES_MAX, PROCESSES_MAX = 128;
const int PLACES[] = { 8, 32, 128, 256, 512, 1024 };
const int PROCESSES[] = { 1, 2, 8, 32, 128 };

perf_measure measure;
pmi_adapt_graph packed, shared;
std::vector<pmi_adapt_graph> graphs(PROCESSES_MAX);     /* of the processes of a node */
int size;

double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

void fail(const char *what)
{
    fprintf(stderr, "graph_costs: %s\n", what);
    exit(1);
}

void call(uint64_t place, enum perf_kind kind)
{
    static uint64_t now = 1;
    perf_step step = perf_measure_enter(&measure, place + 1, kind, now);

    if (step.node != PERF_NONE)
        measure.graph.node[step.node].id = place + 1;
    perf_measure_leave(&measure, now + 3);
    now += 10;
}

/* A loop over `size` places; in it inner loops of four, of messages and of a collective. */
void make_graph()
{
    perf_measure_init(&measure, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < size; i += 4) {
            for (int inner = 0; inner < (i / 4 % 8 == 0 ? 2 : 1); inner++) {
                for (int k = i; k < i + 4; k++)
                    call(static_cast<uint64_t>(k), k % 4 == 3 ? PERF_KIND_COLLECTIVE : PERF_KIND_P2P);
            }
        }
    }
    perf_pack(&measure, &packed);
    if (static_cast<int>(packed.summary.nodes) != size || packed.summary.loops == 0 || !loop_graph_is_sound(&packed))
        fail("a graph is not as it was meant");
}

/* ---- operations: each returns nanoseconds of one ---- */

double step()
{
    static uint64_t next;
    int n = 16 * PLACES_MAX;

    perf_graph_init(&measure.graph);
    for (int i = 0; i < 3 * size; i++)
        perf_graph_visit(&measure.graph, 1 + next++ % static_cast<uint64_t>(size), PERF_KIND_COLLECTIVE);
    double start = now_ns();
    for (int i = 0; i < n; i++)
        perf_graph_visit(&measure.graph, 1 + next++ % static_cast<uint64_t>(size), PERF_KIND_COLLECTIVE);
    return (now_ns() - start) / n;
}

double change()
{
    int n = 0;
    double took = 0;

    perf_graph_init(&measure.graph);
    for (int i = 0; i < 3 * size; i++)
        perf_graph_visit(&measure.graph, 1 + static_cast<uint64_t>(i % size), PERF_KIND_COLLECTIVE);
    for (int i = 0; i < size && n < 64; i += 1 + size / 64) {
        perf_graph_visit(&measure.graph, 1 + static_cast<uint64_t>(i), PERF_KIND_COLLECTIVE);
        uint32_t structure = measure.graph.structure;
        double start = now_ns();
        perf_graph_visit(&measure.graph, 1 + static_cast<uint64_t>((i + size / 2) % size), PERF_KIND_COLLECTIVE);
        took += now_ns() - start;
        if (measure.graph.structure == structure)
            fail("an edge was not new");
        n++;
    }
    return took / n;
}

double pack()
{
    double start = now_ns();
    perf_pack(&measure, &packed);
    return now_ns() - start;
}

double write_graph()
{
    double start = now_ns();
    pmi_adapt_write_graph(&shared, &packed);
    return now_ns() - start;
}

double read_graph()
{
    static pmi_adapt_graph graph;
    double start = now_ns();
    if (!pmi_adapt_read_graph(&shared, &graph))
        fail("a graph cannot be read");
    return now_ns() - start;
}

double reduce(int processes)
{
    static pmi_adapt_graph graph;
    double start = now_ns();
    loop_reduction *reduction = loop_reduction_create();

    for (int i = 0; i < processes; i++) {
        if (!pmi_adapt_read_graph(&graphs[i], &graph) ||
            !loop_reduction_add(reduction, &graph, static_cast<uint32_t>(i)))
            fail("a graph cannot be used");
    }
    if (loop_reduction_result(reduction)->loops == 0 || loop_reduction_result(reduction)->lost > 0)
        fail("loops were lost");
    loop_reduction_destroy(reduction);
    return now_ns() - start;
}

/* Of all processes, none of which is in the cache. */
double read_all()
{
    static pmi_adapt_graph graph;
    double start = now_ns();
    for (int i = 0; i < size; i++) {
        if (!pmi_adapt_read_graph(&graphs[static_cast<size_t>(i)], &graph))
            fail("a graph cannot be read");
    }
    return now_ns() - start;
}

double collapse()
{
    double start = now_ns();
    loop_reduction *reduction = loop_reduction_create();

    loop_reduction_add(reduction, &packed, 0);
    if (loop_reduction_result(reduction)->loops == 0)
        fail("no loop is left");
    loop_reduction_destroy(reduction);
    return now_ns() - start;
}

double reduce_all()
{
    return reduce(size);
}

/* ---- samples ---- */

void sample(const char *what, int of, double (*operation)())
{
    printf("{\"what\":\"%s\",\"size\":%d,\"ns\":[", what, of);
    for (int i = 0; i < SAMPLES; i++)
        printf("%s%.4g", i > 0 ? "," : "", operation());
    printf("]}\n");
    fflush(stdout);
}

/* The same graph, or one of eight in turn, so that none is like the one before. */
void fill_graphs(bool alike)
{
    size = PLACES_MAX;
    make_graph();
    for (int i = 0; i < PROCESSES_MAX; i++) {
        graphs[i] = packed;
        if (!alike)
            graphs[i].summary.hash += static_cast<unsigned>(i % 8), graphs[i].node[3 + 4 * (i % 8)].id += 1;
    }
}

}  // namespace

int main()
{
    for (int places : PLACES) {
        size = places;
        sample("step", size, step);
        sample("change", size, change);
        make_graph();
        sample("pack", size, pack);
        sample("write", size, write_graph);
        sample("read", size, read_graph);
        sample("collapse", size, collapse);
    }
    for (bool alike : {false, true}) {
        fill_graphs(alike);
        for (int processes : PROCESSES) {
            size = processes;
            sample(alike ? "reduce alike" : "reduce", size, reduce_all);
            if (alike)
                sample("read all", size, read_all);
        }
    }
    return 0;
}
