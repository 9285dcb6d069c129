/*
 * Worlds of processes that a program starts together (MPIX_Comm_parent_create): the interface
 * between their files.  process_parent.c makes a world, process_stub.c is the intercommunicator
 * before its processes have connected, process_world.c does the rest.
 *
 * State: worlds whose processes have not connected yet, or whose stub exists.  The thread that
 * holds the library's critical section owns it.
 */

#ifndef PROCESS_WORLD_H_INCLUDED
#define PROCESS_WORLD_H_INCLUDED

#include "process.h"
#include "dynproc_lines.h"

enum MPIR_Process_world_state {
    MPIR_PROCESS_WORLD_AWAITED,
    MPIR_PROCESS_WORLD_COMPLETE,
    MPIR_PROCESS_WORLD_FAILED
};

struct MPIR_Process_world {
    enum MPIR_Process_world_state state;
    int n;                      /* processes */
    MPIR_Comm *local, *stub;    /* stub NULL: it has become an intercommunicator, or was freed */
    bool is_freed;              /* by the program, before it was complete */
    MPIR_Context_id_t context_id;
    int holder, tag;            /* its rank in local; tag of its messages to the others */
    int head[3];                /* error class, context id, bytes of addresses */
    struct MPIR_Dynproc_side other;
    struct MPIR_Dynproc_lines *lines;   /* until they are those of the intercommunicator */
    /* holder only */
    struct MPIR_Dynproc_bc *bcs;        /* of all processes of local */
    bool is_started;
    struct MPIR_Process_request **requests;     /* NULL: finished */
    struct MPIR_Dynproc_service *service;
    struct MPIR_Dynproc_link *link;
    char parent[MPIR_DYNPROC_PARENT];
    MPIR_Request **sends;
    int n_sends;
    /* other processes only */
    MPIR_Request *receives[3];  /* head, sizes, addresses */
    struct MPIR_Process_world *next;
};

extern struct MPIR_Process_world *MPIR_Process_worlds;

/* Whether this process holds the requests. */
static inline bool MPIR_Process_world_is_held_here(const struct MPIR_Process_world *world)
{
    return world->local->rank == world->holder;
}

/* ---- process_stub.c ---- */

/* Discards the stub, which is unknown to the device, and deletes its attributes. */
void MPIR_Process_discard_stub(struct MPIR_Process_world *world);

/* ---- process_world.c ---- */

void MPIR_Process_world_stop_listening(struct MPIR_Process_world *world);
/* Frees a world that is in no list. */
void MPIR_Process_world_free(struct MPIR_Process_world *world);
/* On a process other than the holder: receives the holder's message number `i` into `data`. */
int MPIR_Process_world_receive(struct MPIR_Process_world *world, int i, void *data, int count,
                               MPI_Datatype type);

#endif /* PROCESS_WORLD_H_INCLUDED */
