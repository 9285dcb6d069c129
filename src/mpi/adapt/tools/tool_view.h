/*
 * Common declarations of the two libraries around a profiling tool that is made for worlds that do
 * not change.
 *
 *     LD_PRELOAD="libelastic_tool_before.so TOOL.so libelastic_tool_after.so"
 *
 * Such a tool queries rank and size once, in MPI_Init, and communicates with those ranks in
 * MPI_Finalize.  After an adaptation they are no longer valid.  So in these two calls each process
 * of an adaptive program is a world of its own to the tool: MPI_COMM_WORLD means MPI_COMM_SELF, and
 * each process writes its own report.  In all other calls, and in rigid programs, the tool has the
 * same view as the program.
 *
 * `before` knows when the tool is in one of these calls, because the program's call passes through
 * it first; `after` receives the calls of the tool, by MPI_ or PMPI_ names. doc/user/tools.md
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
