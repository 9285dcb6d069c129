/*
 * The cost of measuring loops beside MPI: the graph of a process, what is put on the board, what a
 * proxy makes of it (src/mpi/adapt/perf_*.c, src/pm/hydra/elastic/wire/loop_*.c).  No MPI.
 *
 *   graph_costs [--processes N]
 *
 * Prints one JSON line for each operation and number of sites or processes: {"what":..., "size":N,
 * "ns":[...]}, each the time of one operation, or, of "reduce" and "reduce equal", of all processes
 * together.
 *   step       along a known edge            change     along a new edge between known sites
 *   pack       graph to the form on the board   write, read   to the board, from it
 *   collapse   a graph to its loops
 *   reduce     graphs of 1024 sites, of eight kinds, to one set
 *   reduce equal   graphs of 1024 sites, all equal     read all   the same graphs, and nothing else
 * With --processes N only step and collapse, of 128 sites, in N processes at once: "size" is N, and
 * each of the times is the processor time of one operation in one process.
 */

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

extern "C" {
#include "mpi/adapt/perf_pack.h"
}
#include "pm/hydra/elastic/wire/loop_set.h"

namespace {

constexpr int SAMPLES = 21, SITES_MAX = PERF_NODES_MAX, PROCESSES_MAX = 128;
const int SITES[] = {8, 32, 128, 256, 512, 1024};
const int PROCESSES[] = {1, 2, 8, 32, 128};

perf_measure measure;
pmi_adapt_graph packed, shared;
std::vector<pmi_adapt_graph> graphs(PROCESSES_MAX);     /* of the processes of a node */
int size;

double read_ns(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double now_ns()
{
    return read_ns(CLOCK_MONOTONIC);
}

/* Of this process: what others do meanwhile does not count.  Reading it is a system call, too much
 * for short times. */
double processor_ns()
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void fail(const char *what)
{
    fprintf(stderr, "graph_costs: %s\n", what);
    exit(1);
}

void call(uint64_t site, enum perf_kind kind)
{
    static uint64_t now = 1;
    perf_step step = perf_measure_enter(&measure, site + 1, kind, now);

    if (step.node != PERF_NONE)
        measure.graph.node[step.node].id = site + 1;
    perf_measure_leave(&measure, now + 3);
    now += 10;
}

/* A loop over `size` sites; in it inner loops of four, of messages and of a collective. */
void make_graph()
{
    perf_measure_init(&measure, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < size; i += 4) {
            for (int inner = 0; inner < (i / 4 % 8 == 0 ? 2 : 1); inner++) {
                for (int k = i; k < i + 4; k++)
                    call(static_cast<uint64_t>(k),
                         k % 4 == 3 ? PERF_KIND_COLLECTIVE : PERF_KIND_P2P);
            }
        }
    }
    perf_pack(&measure, &packed);
    if (static_cast<int>(packed.summary.nodes) != size || packed.summary.loops == 0 ||
        !loop_graph_is_sound(&packed))
        fail("a graph is not as it was meant");
}

/* ---- operations: each returns nanoseconds of one ---- */

double step()
{
    static uint64_t next;
    int n = 16 * SITES_MAX;

    perf_graph_init(&measure.graph);
    for (int i = 0; i < 3 * size; i++)
        perf_graph_visit(&measure.graph, 1 + next++ % static_cast<uint64_t>(size),
                         PERF_KIND_COLLECTIVE);
    double start = now_ns();
    for (int i = 0; i < n; i++)
        perf_graph_visit(&measure.graph, 1 + next++ % static_cast<uint64_t>(size),
                         PERF_KIND_COLLECTIVE);
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
        perf_graph_visit(&measure.graph, 1 + static_cast<uint64_t>((i + size / 2) % size),
                         PERF_KIND_COLLECTIVE);
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

/* The reduction of these processes, as a proxy does it. */
void reduce(int first, int processes)
{
    static pmi_adapt_graph graph;
    loop_reduction *reduction = loop_reduction_create();

    graph.summary.nodes = PMI_ADAPT_GRAPH_NONE;
    for (int i = first; i < first + processes; i++) {
        if (!pmi_adapt_read_next_graph(&graphs[static_cast<size_t>(i)], &graph) ||
            !loop_reduction_add(reduction, &graph, static_cast<uint32_t>(i)))
            fail("a graph cannot be used");
    }
    if (loop_reduction_result(reduction)->loops == 0 ||
        loop_reduction_result(reduction)->dropped > 0)
        fail("loops were dropped");
    loop_reduction_destroy(reduction);
}

/* As reduce_all, but all that is done with the graphs is to read the whole of each. */
double read_all()
{
    static pmi_adapt_graph graph;
    double start = processor_ns();
    for (const pmi_adapt_graph &shared_graph : graphs) {
        if (!pmi_adapt_read_graph(&shared_graph, &graph))
            fail("a graph cannot be read");
    }
    return (processor_ns() - start) * size / PROCESSES_MAX;
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

/* Always of all graphs, `size` at a time: a few alone would be found in the cache, where a daemon
 * finds none. */
double reduce_all()
{
    double start = processor_ns();
    for (int first = 0; first < PROCESSES_MAX; first += size)
        reduce(first, size);
    return (processor_ns() - start) * size / PROCESSES_MAX;
}

/* ---- samples ---- */

void print(const char *what, int of, const std::vector<double> &samples)
{
    printf("{\"what\":\"%s\",\"size\":%d,\"ns\":[", what, of);
    for (size_t i = 0; i < samples.size(); i++)
        printf("%s%.4g", i > 0 ? "," : "", samples[i]);
    printf("]}\n");
    fflush(stdout);
}

void sample(const char *what, int of, double (*operation)())
{
    std::vector<double> samples;
    for (int i = 0; i < SAMPLES; i++)
        samples.push_back(operation());
    print(what, of, samples);
}

/* The same graph, or one of eight in turn, so that none is like the one before. */
void fill_graphs(bool homogeneous)
{
    size = SITES_MAX;
    make_graph();
    for (int i = 0; i < PROCESSES_MAX; i++) {
        graphs[i] = packed;
        if (!homogeneous)
            graphs[i].summary.hash += static_cast<unsigned>(i % 8),
                graphs[i].node[3 + 4 * (i % 8)].id += 1;
    }
}

/* ---- many processes ---- */

constexpr int REDUCED_SAMPLES = 100, REDUCED_SITES = 128, COLLAPSES = 32, STEPS = 16 * SITES_MAX;

struct Costs {
    double step_ns, collapse_ns;
};

double median(std::vector<double> samples)
{
    std::nth_element(samples.begin(), samples.begin() + static_cast<long>(samples.size() / 2),
                     samples.end());
    return samples[samples.size() / 2];
}

Costs measure_alone()
{
    std::vector<double> steps, collapses;

    size = REDUCED_SITES;
    for (int i = 0; i < REDUCED_SAMPLES; i++) {
        double start = processor_ns();
        step();
        steps.push_back((processor_ns() - start) / STEPS);
        make_graph();
        start = processor_ns();
        for (int k = 0; k < COLLAPSES; k++)
            collapse();
        collapses.push_back((processor_ns() - start) / COLLAPSES);
    }
    return {median(steps), median(collapses)};
}

/* All begin when the last one has been made: when `go` is closed.  Each writes its measurements to
 * `reported`. */
void fork_processes(int processes, const int (&go)[2], const int (&reported)[2])
{
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0)
            fail("cannot fork");
        if (child > 0)
            continue;
        char nothing;
        close(go[1]);
        [[maybe_unused]] ssize_t end = read(go[0], &nothing, 1);
        Costs costs = measure_alone();
        _exit(write(reported[1], &costs, sizeof costs) == sizeof costs ? 0 : 1);
    }
}

void measure_processes(int processes)
{
    int go[2], reported[2];
    std::vector<double> steps, collapses;

    if (processes < 1 || processes > 1000 || pipe(go) != 0 || pipe(reported) != 0)
        fail("--processes N is from 1 to 1000");
    fork_processes(processes, go, reported);
    close(go[0]);
    close(go[1]);
    close(reported[1]);
    for (Costs costs; read(reported[0], &costs, sizeof costs) == sizeof costs;) {
        steps.push_back(costs.step_ns);
        collapses.push_back(costs.collapse_ns);
    }
    while (wait(nullptr) > 0);
    if (static_cast<int>(steps.size()) != processes)
        fail("a process has failed");
    print("step", processes, steps);
    print("collapse", processes, collapses);
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--processes")) {
        measure_processes(atoi(argv[2]));
        return 0;
    }
    if (argc > 1)
        fail("usage: graph_costs [--processes N]");
    for (int sites : SITES) {
        size = sites;
        sample("step", size, step);
        sample("change", size, change);
        make_graph();
        sample("pack", size, pack);
        sample("write", size, write_graph);
        sample("read", size, read_graph);
        sample("collapse", size, collapse);
    }
    for (bool homogeneous : {false, true}) {
        fill_graphs(homogeneous);
        for (int processes : PROCESSES) {
            size = processes;
            sample(homogeneous ? "reduce equal" : "reduce", size, reduce_all);
            if (homogeneous)
                sample("read all", size, read_all);
        }
    }
    return 0;
}
