/* See adapt_export.h. */

#include "adapt.h"
#include "adapt_measure.h"
#include "adapt_export.h"

#define SOON_MS 1000            /* a changed graph is written after this time, if it is shorter */

static struct {
    struct pmi_adapt_graph *shared;     /* on the board, NULL: there is none */
    struct pmi_adapt_graph *packed;
    uint64_t written_ns;        /* time of the last write of the graph, 0: none */
} exported;

static struct {
    unsigned nodes, loops, every, writes;
    double loop_time, mpi_time;
} pvars;

void MPIR_Export_open(void)
{
    const struct pmi_adapt_control *control = MPIR_Board.control;
    uint64_t slot = (uint64_t) (MPIR_Board.slot -
                                (struct pmi_adapt_slot *) ((char *) control +
                                                           control->slots_offset));
    uint64_t offset = control->perf_offset + slot * control->perf_stride;

    if (control->perf_stride < sizeof(struct pmi_adapt_graph) ||
        offset + sizeof(struct pmi_adapt_graph) > MPIR_Board.bytes)
        return;
    exported.packed = MPL_calloc(1, sizeof(*exported.packed), MPL_MEM_OTHER);
    if (exported.packed)
        exported.shared = (struct pmi_adapt_graph *) ((char *) control + offset);
}

void MPIR_Export_close(void)
{
    MPL_free(exported.packed);
    exported.shared = exported.packed = NULL;
}

void MPIR_Export_elastic(const struct perf_times *times, unsigned every, unsigned nodes,
                         unsigned loops)
{
    const struct pmi_adapt_measured measured =
        { times->iterations, times->loop_ns, times->mpi_ns, every };

    pmi_adapt_write_measured(MPIR_Board.slot, &measured);
    pvars.nodes = nodes;
    pvars.loops = loops;
    pvars.every = every;
    pvars.loop_time = times->loop_ns / 1e9;
    pvars.mpi_time = times->mpi_ns / 1e9;
}

bool MPIR_Export_is_due(uint64_t structure, uint64_t now, uint32_t interval_ms)
{
    if (!exported.shared)
        return false;
    bool changed = exported.packed->summary.structure != structure;
    uint32_t ms = changed ? MPL_MIN(SOON_MS, interval_ms) : interval_ms;

    return !exported.written_ns || now - exported.written_ns >= ms * UINT64_C(1000000);
}

struct pmi_adapt_graph *MPIR_Export_packed(void)
{
    return exported.packed;
}

void MPIR_Export_write(uint64_t now)
{
    exported.packed->summary.epoch = MPIR_Adapt.epoch;
    pmi_adapt_write_graph(exported.shared, exported.packed);
    exported.written_ns = now;
    pvars.writes++;
}

void MPIR_Export_hurry(void)
{
    exported.written_ns = 0;
}

struct pmi_adapt_position *MPIR_Export_position(void)
{
    return exported.shared ? &exported.shared->position : NULL;
}

/* ---- performance variables ---- */

static void add(MPI_Datatype type, const char *name, void *address, const char *description)
{
    MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_LEVEL, type, name, address, 1, MPI_T_ENUM_NULL,
                              MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, NULL, NULL,
                              "ADAPT", description);
}

void MPIR_Measure_register_pvars(void)
{
    add(MPI_UNSIGNED, "adapt_graph_nodes", &pvars.nodes,
        "Call sites of MPI in the program, as far as they have been observed, or its phases");
    add(MPI_UNSIGNED, "adapt_graph_loops", &pvars.loops,
        "Loops that have been detected, or phases");
    add(MPI_DOUBLE, "adapt_loop_time", &pvars.loop_time,
        "Seconds of the measured iterations of the loop that probes, since the last commit");
    add(MPI_DOUBLE, "adapt_mpi_time", &pvars.mpi_time,
        "Seconds that the program has spent in MPI in these iterations");
    add(MPI_UNSIGNED, "adapt_measure_every", &pvars.every,
        "One iteration of the loop that probes is measured in so many");
    add(MPI_UNSIGNED, "adapt_graph_writes", &pvars.writes,
        "Number of times that this process has written all its loops to the board of its proxy");
}
