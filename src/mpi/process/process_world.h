/*
 * Worlds of processes that a program starts together (MPIX_Comm_parent_create): what the files
 * about them guarantee each other.  process_parent.c makes one, process_stub.c is the
 * intercommunicator before its processes are there, process_world.c does the rest.
 *
 * State: worlds whose processes are awaited, or whose stub exists; owned by whichever thread holds
 * the library's critical section.
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
    MPIR_Comm *local, *stub;    /* no stub: it is an intercommunicator, or freed */
    bool is_freed;              /* by the program, before it was complete */
    MPIR_Context_id_t context_id;
    int holder, tag;            /* rank in local; of its messages to the others */
    int head[3];                /* error class, context id, bytes of addresses */
    struct MPIR_Dynproc_side other;
    struct MPIR_Dynproc_lines *lines;   /* until they are those of the intercommunicator */
    /* of the holder */
    struct MPIR_Dynproc_bc *bcs;        /* of all processes of local */
    bool is_started;
    struct MPIR_Process_request **requests;     /* NULL where one is done with */
    struct MPIR_Dynproc_service *service;
    struct MPIR_Dynproc_link *link;
    char parent[MPIR_DYNPROC_PARENT];
    MPIR_Request **sends;
    int n_sends;
    /* of the others */
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

/* An object that the device does not know, and its attributes are deleted. */
void MPIR_Process_discard_stub(struct MPIR_Process_world *world);

/* ---- process_world.c ---- */

void MPIR_Process_world_stop_listening(struct MPIR_Process_world *world);
/* One that is in no list. */
void MPIR_Process_world_free(struct MPIR_Process_world *world);
/* Of another process than the holder: the holder's message number `i` goes there. */
int MPIR_Process_world_receive(struct MPIR_Process_world *world, int i, void *data, int count,
                               MPI_Datatype type);

#endif /* PROCESS_WORLD_H_INCLUDED */
