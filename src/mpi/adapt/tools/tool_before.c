/*
 * The library before a tool, see tool_view.h: the calls that open and close the view.  The end of
 * MPI_Init opens it and MPI_Finalize's beginning ends it in the other library, tool_after.c.
 *
 * Leaving processes, and MPI_Init_adapt, use the same calls: the MPI library makes them by name.
 * Calls of the program with the two communicators of a window bypass the tool.
 */

#define _GNU_SOURCE
#include "tool_view.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct elastic_tool elastic_tool PUBLIC;

typedef int init_function(int *, char ***);
typedef int init_thread_function(int *, char ***, int, int *);
typedef int init_adapt_function(int *, char ***, int *);
typedef int init_thread_adapt_function(int *, char ***, int, int *, int *);
typedef int finalize_function(void);
typedef int begin_function(MPI_Comm *, MPI_Comm *, int *, int *, int *);

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (!function) {
        fprintf(stderr, "libelastic_tool_before: no %s after this library\n", name);
        abort();
    }
    return function;
}

PUBLIC int MPI_Init(int *argc, char ***argv)
{
    int error = ((init_function *) next("MPI_Init")) (argc, argv);
    elastic_tool.alone = 0;
    return error;
}

PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    init_thread_function *function = (init_thread_function *) next("MPI_Init_thread");
    int error = function(argc, argv, required, provided);
    elastic_tool.alone = 0;
    return error;
}

PUBLIC int MPI_Init_adapt(int *argc, char ***argv, int *local_status)
{
    elastic_tool.adaptive = 1;
    return ((init_adapt_function *) next("MPI_Init_adapt")) (argc, argv, local_status);
}

PUBLIC int MPI_Init_thread_adapt(int *argc, char ***argv, int required, int *provided,
                                 int *local_status)
{
    init_thread_adapt_function *function =
        (init_thread_adapt_function *) next("MPI_Init_thread_adapt");
    elastic_tool.adaptive = 1;
    return function(argc, argv, required, provided, local_status);
}

/* Tools record communicators in the calls that make them, but do not wrap MPI_Comm_adapt_begin: so
 * calls of the program with these two are hidden from them. */
static MPI_Comm of_window[2] = { MPI_COMM_NULL, MPI_COMM_NULL };

static int is_of_window(MPI_Comm comm)
{
    return comm != MPI_COMM_NULL && (comm == of_window[0] || comm == of_window[1]);
}

PUBLIC int MPI_Comm_adapt_begin(MPI_Comm * intercomm, MPI_Comm * new_comm_world,
                                int *staying_count, int *leaving_count, int *joining_count)
{
    begin_function *function = (begin_function *) next("MPI_Comm_adapt_begin");
    int error = function(intercomm, new_comm_world, staying_count, leaving_count, joining_count);

    if (error == MPI_SUCCESS) {
        of_window[0] = *intercomm;
        of_window[1] = *new_comm_world;
    }
    return error;
}

PUBLIC int MPI_Comm_adapt_commit(void)
{
    int error = ((finalize_function *) next("MPI_Comm_adapt_commit")) ();

    if (error == MPI_SUCCESS)
        of_window[0] = of_window[1] = MPI_COMM_NULL;
    return error;
}

#define VIEW(comm) comm
#define ASK(name, comm, parameters, arguments)
#define CALL(name, comm, parameters, arguments)                         \
    PUBLIC int MPI_##name parameters                                    \
    {                                                                   \
        typedef int function parameters;                                \
        static function *of_mpi, *of_tool;                              \
        if (!of_tool) {                                                 \
            of_mpi = (function *) next("PMPI_" #name);                  \
            of_tool = (function *) next("MPI_" #name);                  \
        }                                                               \
        return (is_of_window(comm) ? of_mpi : of_tool) arguments;       \
    }

#include "tool_functions.h"

PUBLIC int MPI_Finalize(void)
{
    elastic_tool.alone = elastic_tool.adaptive;
    int error = ((finalize_function *) next("MPI_Finalize")) ();
    elastic_tool.alone = 0;
    return error;
}

/* A tool's wrapper of the Fortran name may begin its work before it calls MPI_Finalize. */
PUBLIC void mpi_finalize_(MPI_Fint * ierror);
void mpi_finalize_(MPI_Fint * ierror)
{
    *ierror = MPI_Finalize();
}
