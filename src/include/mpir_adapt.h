/*
 * Adaptation of MPI_COMM_WORLD: what the MPI layer's parts offer each other and the device.
 * State is one object per process, MPIR_Adapt, owned by src/mpi/adapt/; all calls are made inside
 * the library's critical section.  SPEC I1-I4, P1-P6, W1-W8, C1-C9, E1, E2.
 */

#ifndef MPIR_ADAPT_H_INCLUDED
#define MPIR_ADAPT_H_INCLUDED

#include "mpir_device_callbacks.h"

struct MPIR_Comm;
struct MPIR_Win;
struct MPIR_Group;
struct MPIR_Info;
struct pmi_adapt_plan;
struct MPIDI_Adapt_segment;     /* ch4_adapt.h, for its rows of ch4_adapt_api.txt */
struct MPIDI_Unresolved_msg;    /* ch4_unresolved.h, likewise */

/* ---- how upstream's files call functions of ours --------------------------------------------- */

/* Calls a function that can fail. */
#define MPIR_HOOK(call)                 \
    do {                                \
        mpi_errno = (call);             \
        MPIR_ERR_CHECK(mpi_errno);      \
    } while (0)
/* A window that ended with an adaptation, or was freed, has no positive reference count. */
#define MPIR_ADAPT_WIN_VALID_PTR(ptr, err) {                    \
     MPIR_Valid_ptr_class(Win,ptr,MPI_ERR_WIN,err);             \
     if ((ptr) && MPIR_Object_get_ref(ptr) <= 0) {              \
         err = MPIR_Adapt_win_error(ptr, __func__, __LINE__);   \
         ptr = 0;                                               \
     }                                                          \
}
/* A persistent request whose communicator ended with an adaptation cannot be started. */
#define MPIR_ADAPT_ERRTEST_START(request, err)                                                  \
    if ((request)->comm == NULL) {                                                              \
        err = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,       \
                                   MPI_ERR_REQUEST, "**adaptstart", 0);                         \
        goto fn_fail;                                                                           \
    }

/* ---- adapt_init.c, adapt_probe.c, adapt_window.c: the operations ----------------------------- */
int MPIR_Init_adapt_impl(int *argc, char ***argv, int required, int *provided, int *local_status);
int MPIR_Probe_adapt_impl(int *pending_adaptation, int *local_status, MPI_Info * info);
int MPIR_Comm_adapt_begin_impl(MPI_Comm * intercomm, MPI_Comm * new_comm_world,
                               int *staying_count, int *leaving_count, int *joining_count);
int MPIR_Comm_adapt_commit_impl(void);
/* adapt_sizes.c */
int MPIR_Adapt_sizes_impl(const char *rule);
int MPIR_Adapt_sizes_callback_impl(MPIX_Adapt_sizes_function * allowed, void *extra_state,
                                   int largest);
/* adapt_size_request.c */
int MPIR_Adapt_request_impl(struct MPIR_Info *size_request, int *request_id);
int MPIR_Adapt_request_state_impl(int request_id, int *state, MPI_Info * info);
int MPIR_Adapt_request_withdraw_impl(int request_id);
/* The level that MPI_Init requests. */
int MPIR_Init_default_thread_level(void);
/* adapt_modify.c; newcomm may be NULL */
int MPIR_Comm_modify_impl(struct MPIR_Comm *oldcomm, int count, struct MPIR_Comm **newcomm);
/* Called before the first initialisation, of a session or of the world model. */
void MPIR_Adapt_before_plain_init(bool is_world_model);
/* Called at the end of MPI_Init and MPI_Init_thread, which MPI_Init_adapt also calls: a program
 * that did not call MPI_Init_adapt is rigid (I3). */
int MPIR_Adapt_init_completed(void);
/* Called by MPI_Finalize before anything else: an error in a window (E1). */
int MPIR_Adapt_check_finalize(void);
/* Called by the last MPI_Finalize or MPI_Session_finalize, before anything is taken down. */
int MPIR_Adapt_finalize(void);
/* Epoch of the last commit, 0 before the first. */
unsigned MPIR_Adapt_epoch(void);

/* ---- adapt_state.c --------------------------------------------------------------------------- */

/* Number of this process' pid namespace, 0: not known. */
uint64_t MPIR_Adapt_pid_namespace(void);

/* ---- adapt_pvars.c: performance variables ---------------------------------------------------- */
/* Called whenever MPI_T sets its tables up. */
void MPIR_Adapt_register_pvars(void);

/* ---- adapt_handles.h: handles over an adaptation (C4, C5, C6, W8) ---------------------------- */
/* Derivation of a communicator: from MPI_COMM_SELF alone (survives), or not (ends). */
enum MPIR_Adapt_derivation {
    MPIR_ADAPT_DERIVATION_UNKNOWN = 0,  /* not yet committed; counts as world */
    MPIR_ADAPT_DERIVATION_SELF,
    MPIR_ADAPT_DERIVATION_WORLD
};

/* Part of each communicator object. */
#define MPIR_ADAPT_COMM_DECL                                            \
    struct {                                                            \
        struct MPIR_Comm *next, *prev;  /* list of live ones; prev NULL: not listed */ \
        unsigned derivation:2;          /* enum MPIR_Adapt_derivation */   \
        unsigned connection:30;         /* number of the one that it is of, \
            0: none (src/mpi/dynproc/watch.c) */ \
        unsigned by_begin:1;            /* made by begin, not by the application */ \
        unsigned session:31;            /* number of the session that it is of, 0: none */ \
    } adapt;

/* Live communicators in the order of creation, without builtin ones and without those that live
 * with another one: node_comm, node_roots_comm, and the local_comm of intercommunicators.  The
 * functions called may not create or free communicators. */
void MPIR_Adapt_comm_inherit(struct MPIR_Comm *comm);   /* start of MPIR_Comm_commit */
void MPIR_Adapt_comm_created(struct MPIR_Comm *comm);   /* end of MPIR_Comm_commit */
void MPIR_Adapt_comm_freed(struct MPIR_Comm *comm);     /* end of MPIR_Comm_delete_internal */
void MPIR_Adapt_foreach_comm(void (*function) (struct MPIR_Comm *, void *), void *context);
void MPIR_Adapt_foreach_group(void (*function) (struct MPIR_Group *, void *), void *context);

/* src/mpi/session/session_join.c */
bool MPIR_Session_ranks_are_lpids(void);
int MPIR_Session_lpid(void);
/* True in a thread that makes a communicator from a group: MPIR_Session_allreduce_group replaces
 * MPII_Allreduce_group (session_agree.c). */
bool MPIR_Session_is_agreeing(void);
int MPIR_Session_allreduce_group(int *numbers, int n, MPI_Op op, MPIR_Comm *comm, MPIR_Group *group,
                                 int tag);
/* The order in which threads that agree on an id over the same communicator take turns; it is the
 * same in all processes. */
uint64_t MPIR_Session_agree_order(int tag);

/* Sets the derivation of a communicator under construction where its rank mappers do not show it:
 * it survives if both `from` and `also` (may be NULL) do. */
void MPIR_Adapt_comm_derive(struct MPIR_Comm *comm, const struct MPIR_Comm *from,
                            const struct MPIR_Comm *also);
/* Begin calls this for `intercomm` and `new_comm_world` before it commits them: they end with the
 * adaptation, and few of their stale objects are retained. */
void MPIR_Adapt_comm_by_begin(struct MPIR_Comm *comm);
/* Whether a communicator, given by handle, outlives adaptations (used by ROMIO). */
int MPIR_Adapt_comm_survives(MPI_Comm comm);

/* Assigns `comm` to the generalized request of a nonblocking operation on a file over `comm` (used
 * by ROMIO). */
void MPIR_Adapt_request_on(MPI_Request request, MPI_Comm comm);
/* " (rank R in ...)" as stock MPI_Abort prints it: with the context id for MPI_COMM_WORLD and
 * before the first adaptation.  After an adaptation the id means nothing to a user; the text has
 * the name then. */
void MPIR_Adapt_describe_comm(const struct MPIR_Comm *comm, char *text, int size);

/* C6: an error that states what is pending (kind, communicator, peer, tag), or MPI_SUCCESS. */
int MPIR_Adapt_check_pending(void);
/* C5: deletes the attributes cached on MPI_COMM_WORLD and on all communicators and windows that
 * end with the commit, through their callbacks; the old world still works.  Returns the first error
 * that a callback returned; the attributes are deleted nevertheless. */
int MPIR_Adapt_delete_attributes(void);
/* Deletes the attributes of MPI_COMM_SELF, before anything else that MPI_Finalize does. */
int MPIR_Adapt_delete_self_attributes(void);
/* A process that ends in commit cannot free its datatypes: the next MPI_Finalize frees them,
 * otherwise the datatype engine reports leaks. */
void MPIR_Adapt_free_datatypes(void);
/* C4: closes files, frees windows, releases communicators that do not derive from MPI_COMM_SELF
 * alone, all without communication; their handles become stale.  No process communicates on them
 * any more (every process has entered commit).  Does not fail: MPI_File_close reports files that
 * could not be closed properly. */
int MPIR_Adapt_release_handles(unsigned epoch);
/* SX7: the same for the objects that remain when a session is finalised.  Objects with operations
 * in progress stay. */
void MPIR_Adapt_release_session(unsigned session);
/* The "epoch" of objects that ended with a session. */
#define MPIR_ADAPT_BY_SESSION (1u << 30)

/* Set by begin on a leaving process and cleared by commit: a null communicator there is most likely
 * `new_comm_world`, and the error message reports it (W8). */
extern int MPIR_Adapt_leaving;

/* The error code for MPI_COMM_NULL. */
int MPIR_Adapt_null_comm_error(const char *function, int line);

/* Stale handles.  The object of an ended communicator or window keeps its slot, with a reference
 * count of -epoch, so that the usual tests of validity fail, at no cost. */
int MPIR_Adapt_comm_is_stale(const struct MPIR_Comm *comm);
int MPIR_Adapt_win_is_stale(const struct MPIR_Win *win);
/* The error code for an object whose reference count is not positive. */
int MPIR_Adapt_comm_error(const struct MPIR_Comm *comm, const char *function, int line);
int MPIR_Adapt_win_error(const struct MPIR_Win *win, const char *function, int line);
/* A communicator that is marked as revoked is an intercommunicator of MPIX_Comm_parent_create whose
 * processes do not run yet (src/mpi/process/process_stub.c): the first function makes calls that
 * communicate wait, the other two release the communicator. */
int MPIR_Process_use_stub(struct MPIR_Comm *comm);
bool MPIR_Process_is_stub(const struct MPIR_Comm *comm);
int MPIR_Process_free_stub(struct MPIR_Comm *comm);
/* src/mpi/dynproc/watch.c: MPI_Comm_accept or MPI_Comm_connect has made this communicator. */
int MPIR_Dynproc_accepted(struct MPIR_Comm *comm);
/* Whether the other side of a communicator's connection has ended, as far as this process knows. */
bool MPIR_Dynproc_has_ended(const struct MPIR_Comm *comm);
/* For MPI_Comm_free, MPI_Comm_disconnect and MPI_Win_free: releases the slot of a stale object; 0:
 * the object is not stale. */
int MPIR_Adapt_comm_release_stale(struct MPIR_Comm *comm);
int MPIR_Adapt_win_release_stale(struct MPIR_Win *win);
/* The error for a file that ended with an adaptation, else MPI_SUCCESS. */
int MPIR_Adapt_file_check(MPI_File file, const char *function, int line);
/* The device is done with a window object. */
void MPIR_Adapt_win_freed(struct MPIR_Win *win);

/* ---- ch4_adapt_handles.c: state of the device ------------------------------------------------ */
struct MPIR_Request;
/* Why a window may not end now (an open epoch, operations in progress), or NULL. */
const char *MPIDI_Adapt_win_pending(struct MPIR_Win *win);
/* Frees a window as MPI_Win_free does, but without synchronisation. */
int MPIDI_Adapt_win_release(struct MPIR_Win *win);
/* Peer and tag of a request, MPI_UNDEFINED where the device has not retained them. */
void MPIDI_Adapt_request_peer(struct MPIR_Request *req, int *peer, int *tag);
/* An inactive persistent collective request whose schedule is freed: makes it safe to free. */
void MPIDI_Adapt_request_disarm(struct MPIR_Request *req);
/* One round of progress, so that operations that are about to complete do so. */
int MPIDI_Adapt_progress(void);

/* ---- ROMIO, glue/mpich/adapt_file.c ---------------------------------------------------------- */
/* Writes a text into `why` and returns 1 if an ending file has operations in progress. */
int MPIR_ROMIO_Adapt_pending(char *why, int size);
/* Closes all files that end, locally; their handles become stale. */
void MPIR_ROMIO_Adapt_close_all(unsigned epoch);
int MPIR_ROMIO_Adapt_is_stale(MPI_File file);
int MPIR_ROMIO_Adapt_file_error(MPI_File file, const char *function, int line);

/* ---- device (ch4_adapt_{begin,commit,prebuild,segment}.c) ---- */
/* Addresses of this process for the other processes: allocated, to be freed by the caller. */
int MPID_Adapt_bc(void **bc, int *bytes);
/* Unique number of this process in the job, before MPI is initialised. */
void MPID_Adapt_set_uid(unsigned uid);
/* The lowest rank of a communicator on this process' node: processes may have different numbers for
 * a node. */
int MPID_First_on_node(struct MPIR_Comm *comm, int *rank);
/* Called on the lowest joining process of a host: makes the segment for local_size processes, and
 * returns the text by which the others find it. */
struct pmi_adapt_host;
int MPID_Adapt_make_segment(int local_size, struct pmi_adapt_host *segment);
/* Makes the objects of begin that can be made before it, without effect on the program: the
 * addresses of the union of all processes, the host's new segment.  Called once for a plan; after
 * an error nothing is left. */
int MPID_Adapt_prebuild(const struct pmi_adapt_plan *plan, int index);
/* The plan has been withdrawn (or was never read). */
int MPID_Adapt_discard_prebuilt(const struct pmi_adapt_plan *plan);
/* Releases the unused resources of the world that existed before the last commit. */
int MPID_Adapt_reclaim(void);
/* Address tables and maps for the union of all processes; index is this process' position in it. */
int MPID_Adapt_prepare(const struct pmi_adapt_plan *plan, int index);
/* The window's communicators; new_world is NULL on a leaving process, intercomm where none join. */
int MPID_Adapt_begin(const struct pmi_adapt_plan *plan, int index,
                     struct MPIR_Comm ** intercomm, struct MPIR_Comm ** new_world);
/* Waits until all processes of the window have called it, and distributes the greatest `value` (0
 * or more) to them.  With 0 the window has ended for communication, otherwise nothing has
 * changed. */
int MPID_Adapt_agree(int value, int *greatest);
/* Makes the new world of members (indices in the plan, by new rank), or of this process alone. */
int MPID_Adapt_commit(const struct pmi_adapt_plan *plan, int index);

#endif /* MPIR_ADAPT_H_INCLUDED */
