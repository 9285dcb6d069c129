/*
 * Profiling tools made for worlds that do not change: what the two libraries around such a tool
 * share.
 *
 *     LD_PRELOAD="libelastic_tool_before.so TOOL.so libelastic_tool_after.so"
 *
 * A tool of this kind queries rank and size once, in MPI_Init, and in MPI_Finalize communicates
 * with those ranks.  Over adaptations neither is true.  So each process of an adaptive program is a
 * world of its own to the tool, in these two calls: there MPI_COMM_WORLD means MPI_COMM_SELF, and
 * each process writes its own report.  Everywhere else, and in rigid programs, the tool sees what
 * the program sees.
 *
 * `before` knows when the tool is in one of these calls, because the program's call comes by it
 * first; `after` runs after the calls of the tool, by MPI_ or PMPI_ names.  doc/user/tools.md
 */

#ifndef TOOL_VIEW_H_INCLUDED
#define TOOL_VIEW_H_INCLUDED

#include <mpi.h>

#define PUBLIC __attribute__ ((visibility("default")))

struct elastic_tool {
    int adaptive;               /* the program called MPI_Init_adapt or MPI_Init_thread_adapt */
    int alone;                  /* now MPI_COMM_WORLD means MPI_COMM_SELF */
};

/* Defined by `before`; weak, for without it `after` has nothing to do. */
extern struct elastic_tool elastic_tool __attribute__ ((weak)) PUBLIC;

#endif /* TOOL_VIEW_H_INCLUDED */
