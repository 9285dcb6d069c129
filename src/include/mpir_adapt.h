/*
 * Adaptation of MPI_COMM_WORLD: what the MPI layer's parts offer each other and the device.
 * State is one object per process, MPIR_Adapt, owned by src/mpi/adapt/; all calls are made inside
 * the library's critical section.  SPEC I1-I4, P1-P6, W1-W8, C1-C9, E1, E2.
 */

#ifndef MPIR_ADAPT_H_INCLUDED
#define MPIR_ADAPT_H_INCLUDED

struct MPIR_Comm;
struct MPIR_Win;
struct MPIR_Group;
struct pmi_adapt_plan;

/* ---- adapt_init.c, adapt_probe.c, adapt_window.c: the operations ------------------------------ */
int MPIR_Init_adapt_impl(int *argc, char ***argv, int required, int *provided, int *local_status);
int MPIR_Probe_adapt_impl(int *pending_adaptation, int *local_status, MPI_Info * info);
int MPIR_Comm_adapt_begin_impl(MPI_Comm * intercomm, MPI_Comm * new_comm_world,
                               int *staying_count, int *leaving_count, int *joining_count);
int MPIR_Comm_adapt_commit_impl(void);
/* Called at the end of MPI_Init: a program that did not call MPI_Init_adapt is rigid (I3). */
void MPIR_Adapt_init_completed(void);
/* Called by MPI_Finalize before anything else: an error in a window (E1). */
int MPIR_Adapt_check_finalize(void);
/* Epoch of the last commit, 0 before the first. */
unsigned MPIR_Adapt_epoch(void);

/* ---- adapt_handles.c: handles over an adaptation (C4, C5, C6, W8) ----------------------------- */
/* Live communicators in the order of creation (builtin ones, node_comm and node_roots_comm
 * excluded).  The functions called may not create or free communicators. */
void MPIR_Adapt_comm_created(struct MPIR_Comm *comm);   /* end of MPIR_Comm_commit */
void MPIR_Adapt_comm_freed(struct MPIR_Comm *comm);     /* MPIR_Comm_delete_internal */
void MPIR_Adapt_foreach_comm(void (*function) (struct MPIR_Comm *, void *), void *context);
void MPIR_Adapt_foreach_group(void (*function) (struct MPIR_Group *, void *), void *context);

/* W8: set while this process is in a window that it leaves with. */
extern int MPIR_Adapt_leaving;

/* C6: an error that tells what is pending (kind, communicator, peer, tag), or MPI_SUCCESS. */
int MPIR_Adapt_check_pending(void);
/* C5: deletes the attributes cached on MPI_COMM_WORLD and on all communicators that end with the
 * commit, through their callbacks; the old world still works. */
int MPIR_Adapt_delete_attributes(void);
/* C4: closes files, frees windows, releases communicators that do not derive from MPI_COMM_SELF
 * alone, all without communication; their handles become stale.  Nobody communicates on them any
 * more (every process has entered commit). */
int MPIR_Adapt_release_handles(unsigned epoch);

/* Whether a communicator object is what is left of one that ended with an adaptation. */
int MPIR_Adapt_comm_is_stale(const struct MPIR_Comm *comm);

/* ---- device (ch4_adapt.c) ---- */
/* Addresses of this process, as the other processes need them: allocated, to be freed by caller. */
int MPID_Adapt_card(void **card, int *bytes);
/* Unique number of this process in the job, before MPI is initialised. */
void MPID_Adapt_set_uid(unsigned uid);
/* Lowest joining process of a host: makes the segment for local_size processes. */
int MPID_Adapt_make_segment(int local_size, int *fd, size_t * bytes);
/* Address tables and maps for the union of all processes; index is this process' place in it. */
int MPID_Adapt_prepare(const struct pmi_adapt_plan *plan, int index);
/* The window's communicators; new_world is NULL on a leaving process, intercomm where none join. */
int MPID_Adapt_begin(const struct pmi_adapt_plan *plan, int index,
                     struct MPIR_Comm ** intercomm, struct MPIR_Comm ** new_world);
/* Waits until all processes of the window are here. */
int MPID_Adapt_barrier(void);
/* Makes the new world of members (indices in the plan, by new rank), or of this process alone. */
int MPID_Adapt_commit(const struct pmi_adapt_plan *plan, int index);

#endif /* MPIR_ADAPT_H_INCLUDED */
