/*
 * MPI Sessions, internal to src/mpi/session and to the generated entry points of their functions: sets and how they
 * are looked at, what a session was opened with, how long the library lives, communicators from groups.
 *
 * A handle's object (struct MPIR_Session) is upstream's; what we add lies beside it, in a list of the open sessions
 * (session_open.c), under MPIR_init_lock.  Specification: SX1-SX9, SN1, SN3, SN5, SN7, SI1, SI4, SI7, SE1.
 */

#ifndef SESSION_H_INCLUDED
#define SESSION_H_INCLUDED

#include "mpiimpl.h"

/* ---- session_open.c: what was given to MPI_Session_init ---- */

/* MPI_ERR_SESSION for a session that has been finalised. */
int MPIR_Session_check(const MPIR_Session * session);
/* By which its objects know it, 0: it has been finalised. */
unsigned MPIR_Session_number(const MPIR_Session * session);
/* How a function of a session (NULL: none is known) ends with an error: its error handler, or that of the call. */
int MPIR_Session_return_error(MPIR_Session * session, MPIR_Errhandler * errhandler,
                              const char *function, int mpi_errno);

/* ---- session_life.c: from the first session to the end of the process ---- */

/* Whether this process was started by our launcher. */
bool MPIR_Session_has_daemon(void);
/* MPII_Init_thread, by the only user of the library: whether it was parked and is there again. */
bool MPIR_Session_resume(void);
/* MPII_Init_thread of a session.  From now on the library stays when nobody uses it. */
int MPIR_Session_begin(void);
/* MPII_Finalize, of the last user: whether the library is parked instead of being taken down. */
bool MPIR_Session_park(void);
/* The library is taken down: whether the connection to the process manager stays, for a session that comes later. */
bool MPIR_Session_keep_pmi(void);
/* MPI_ERR_OTHER after it was closed: no session can be opened any more. */
int MPIR_Session_check_over(void);
/* MPI_COMM_WORLD's tables and shared memory, by whoever needs them first: collective over the launch. */
int MPIR_Session_join_world(void);
int MPIR_Session_join_world_at_init(void);
/* MPI_Init has made, and MPI_Finalize has ended, the world model. */
int MPIR_Session_world_opened(void);
void MPIR_Session_world_closed(void);
/* The error for MPI_COMM_WORLD outside of the world model; MPI_SUCCESS: it is another communicator. */
int MPIR_Session_world_error(const MPIR_Comm * comm, const char *function, int line);

/* ---- session_sets.c ---- */

/* Ranks in the world of a set's members, ascending unless the set has another order. */
struct MPIR_Session_set {
    const char *name;
    int size;
    const int *ranks;
};
/* The set of this name; MPI_ERR_ARG: there is none. */
int MPIR_Session_find_set(const char *name, struct MPIR_Session_set *set);

/* ---- device: netmod/ofi/ofi_session.c, ch4/src/ch4_session.c ---- */

/* This process' address as text without blanks, for other processes' take_in. */
int MPID_Session_address(char *text, int bytes);
/* From now on this process can send to, and receive from, the process with this rank of the world. */
int MPID_Session_take_in(int rank, const char *text);
bool MPID_Session_knows(int rank);
/* The communicator over whose messages ids of communicators are agreed on: MPI_COMM_WORLD, or in its place, before
 * that is there, an object with the same context id and ranks. */
int MPID_Session_parent(MPIR_Comm ** parent);
/* After the library has been initialised by a session. */
int MPID_Session_start(void);
/* Until nothing that this process has sent waits for its own progress. */
void MPID_Session_drain(void);
bool MPIDI_OFI_session_sends(void);
int MPIDI_OFI_session_flush(void);
/* Whether a process counts as on no node: while there is no world, another one than the caller. */
bool MPIDI_Session_no_node(int lpid);

/* ---- session_objects.c ---- */

/* With MPIR_CVAR_SESSION_CHECK: MPI_ERR_SESSION if two of these have different sessions.  NULL: no such argument. */
int MPIR_Session_check_objects(const MPIR_Group * group, const MPIR_Group * group2,
                               const MPIR_Comm * comm, const MPIR_Comm * comm2, const MPIR_Win * win);
/* Windows and files over a group (SX9): a communicator is made for the call, and freed by it. */
int MPIR_Win_create_from_group_impl(MPIR_Group * group, const char *stringtag, void *base,
                                    MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                                    MPIR_Errhandler * errhandler, MPIR_Win ** win);
int MPIR_Win_allocate_from_group_impl(MPIR_Group * group, const char *stringtag, MPI_Aint size,
                                      MPI_Aint disp_unit, MPIR_Info * info,
                                      MPIR_Errhandler * errhandler, void *baseptr, MPIR_Win ** win);
int MPIR_Win_allocate_shared_from_group_impl(MPIR_Group * group, const char *stringtag,
                                             MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                                             MPIR_Errhandler * errhandler, void *baseptr,
                                             MPIR_Win ** win);
int MPIR_Win_create_dynamic_from_group_impl(MPIR_Group * group, const char *stringtag,
                                            MPIR_Info * info, MPIR_Errhandler * errhandler,
                                            MPIR_Win ** win);
int MPIR_File_open_from_group_impl(MPIR_Group * group, const char *stringtag, const char *filename,
                                   int amode, MPI_Info info, MPIR_Errhandler * errhandler,
                                   MPI_File * file);

/* ---- session_contact.c ---- */

/* Makes this process and the members of a group known to each other: they call it, too. */
int MPIR_Session_meet(const MPIR_Group * group);

#endif /* SESSION_H_INCLUDED */
