/*
 * The library after a tool, see tool_view.h: it receives the tool's calls in MPI_Init and
 * MPI_Finalize.  Each function with a communicator that tools use there is forwarded to the MPI
 * library, with MPI_COMM_SELF instead of MPI_COMM_WORLD while the view is open.  A tool calls PMPI_
 * names, or resolves the MPI_ names with dlsym(RTLD_NEXT); both arrive here.
 */

#define _GNU_SOURCE
#include "tool_view.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (!function) {
        fprintf(stderr, "libelastic_tool_after: no %s after this library\n", name);
        abort();
    }
    return function;
}

static MPI_Comm view(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD && &elastic_tool && elastic_tool.alone ? MPI_COMM_SELF : comm;
}

#define VIEW(comm) view(comm)
#define ASK CALL
/* PMPI_name and MPI_name with these parameters, which call the real function with these
 * arguments. */
#define CALL(name, comm, parameters, arguments)                               \
    PUBLIC int PMPI_##name parameters                                   \
    {                                                                   \
        typedef int function parameters;                                \
        static function *next;                                          \
        if (!next)                                                      \
            next = (function *) real("PMPI_" #name);                    \
        return next arguments;                                          \
    }                                                                   \
    PUBLIC int MPI_##name parameters __attribute__ ((alias("PMPI_" #name)));

/* ---- the view opens and ends ---- */

static int opened(int error)
{
    if (&elastic_tool)
        elastic_tool.alone = elastic_tool.adaptive;
    return error;
}

static void ended(void)
{
    if (&elastic_tool)
        elastic_tool.alone = 0;
}

PUBLIC int PMPI_Init(int *argc, char ***argv)
{
    typedef int function(int *, char ***);
    return opened(((function *) real("PMPI_Init")) (argc, argv));
}

PUBLIC int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    typedef int function(int *, char ***, int, int *);
    return opened(((function *) real("PMPI_Init_thread")) (argc, argv, required, provided));
}

PUBLIC int PMPI_Finalize(void)
{
    typedef int function(void);
    ended();
    return ((function *) real("PMPI_Finalize")) ();
}

PUBLIC int MPI_Init(int *argc, char ***argv) __attribute__ ((alias("PMPI_Init")));
PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
    __attribute__ ((alias("PMPI_Init_thread")));
PUBLIC int MPI_Finalize(void) __attribute__ ((alias("PMPI_Finalize")));

#include "tool_functions.h"
