/*
 * MPI Sessions, internal to src/mpi/session and to the generated entry points of their functions:
 * sets and their lookup, the arguments of a session, the lifetime of the library, communicators
 * from groups.
 *
 * A handle's object (struct MPIR_Session) is upstream's; our additional data is in a list of the
 * open sessions (session_open.c), under MPIR_init_lock.  Specification: SX1-SX9, SN1, SN3, SN5,
 * SN7, SI1, SI4, SI7, SE1.
 */

#ifndef SESSION_H_INCLUDED
#define SESSION_H_INCLUDED

#include "mpiimpl.h"
#include "mpid_session.h"
#include "mpir_adapt_session.h"
#include "mpir_session_call.h"
#include "pmi_adapt_set.h"

/* ---- session_open.c: arguments of MPI_Session_init ---- */

/* MPI_ERR_SESSION for a session that has been finalised. */
int MPIR_Session_check(const MPIR_Session * session);
int MPIR_Session_get_oldest_impl(MPI_Session * oldest);
/* The number of the session, which its objects store; 0: it has been finalised. */
unsigned MPIR_Session_number(const MPIR_Session * session);
/* Ends a function of a session with an error: calls the session's error handler, or that of the
 * call.  The handles are unchecked arguments of the function: they may be null or invalid. */
int MPIR_Session_return_error(MPI_Session session, MPI_Errhandler errhandler, const char *function,
                              int mpi_errno);

/* ---- session_life.c: from the first session to the end of the process ---- */

/* Whether this process was started by our launcher: valid after it has opened a session, or after
 * MPIR_Session_find_proxy. */
bool MPIR_Session_has_proxy(void);
/* In a process whose only session is for one thread (MPI_THREAD_SINGLE), calls take no locks, as
 * after MPI_Init.  A session that is opened later enables locks for good: the same thread opens it,
 * which is in no other call then.  MPI_THREAD_FUNNELED uses locks, because another thread may open
 * a session of its own while this one waits in a call (SX11).  MPIR_Session_opening is called
 * before all work for the session, MPIR_Session_opened after it. */
void MPIR_Session_opening(int level);
void MPIR_Session_opened(int level, bool alone);
bool MPIR_Session_is_parked(void);
/* Called in MPII_Init_thread by the only user of the library: whether the library was parked and
 * has been resumed. */
bool MPIR_Session_resume(bool is_world_model);
/* Called in MPII_Init_thread of a session.  From now on the library stays initialised without
 * users. */
int MPIR_Session_begin(void);
/* Called in MPII_Finalize of the last user: whether the library is parked instead of being
 * finalised. */
bool MPIR_Session_park(void);
/* Called when the library is finalised: whether the connection to the process manager stays, for a
 * later session. */
bool MPIR_Session_keep_pmi(void);
/* MPI_ERR_OTHER after it was closed: no session can be opened any more. */
int MPIR_Session_check_over(void);
/* Makes MPI_COMM_WORLD's tables and shared memory; the first user of them calls it.  Collective
 * over the launch.  The caller holds MPIR_init_lock and the critical section; both are released
 * while it waits for other processes. */
int MPIR_Session_join_world(void);
/* Called by the device when communication in the world works: waits until all processes have left
 * those parts of the start that use the network. */
int MPIR_Session_leave_start(void);
int MPIR_Session_join_world_at_init(void);
/* MPI_Init has opened the world model; MPI_Finalize has closed it. */
int MPIR_Session_world_opened(void);
void MPIR_Session_world_closed(void);
/* Around functions that may be called before, between and after initialisations, by several
 * threads: serialises them with the library's other functions.  `initialized` is the result of
 * enter. */
bool MPIR_Session_enter_anytime(void);
void MPIR_Session_leave_anytime(bool initialized);
/* The error for MPI_COMM_WORLD outside of the world model; MPI_SUCCESS: it is another
 * communicator. */
int MPIR_Session_world_error(const MPIR_Comm * comm, const char *function, int line);

/* ---- session_sets.c ---- */

/* `ranks` are those in the world of the set's members, in the set's order; NULL: all of the
 * world. */
struct MPIR_Session_set {
    const char *name;
    int size;
    const int *ranks;
    /* the step manager's data of the set; NULL: its name is mpi://... */
    struct MPIR_Session_made *made;
    enum pmi_set_state state;   /* for mpi://... only; else see `made` */
    int primary;                /* lpid of its first living member, -1: none */
};
/* Finds the set of this name; MPI_ERR_ARG: there is none.  The caller releases it with
 * MPIR_Session_release_set.  For callers that do not need to know whether a set that has not ended
 * runs. */
int MPIR_Session_find_set(const char *name, struct MPIR_Session_set *set);
/* The same with its state; the state of mpi://... is the step manager's if this process has ever
 * queried it for sets. */
int MPIR_Session_find_set_and_state(const char *name, struct MPIR_Session_set *set);
/* The same, and queries the step manager. */
int MPIR_Session_query_set(const char *name, struct MPIR_Session_set *set);
bool MPIR_Session_set_holds_me(const struct MPIR_Session_set *set);
enum pmi_set_state MPIR_Session_state_of(const struct MPIR_Session_set *set);
/* Whether this process is the set's first living member. */
bool MPIR_Session_set_is_led_by_me(const struct MPIR_Session_set *set);
/* In a new info object. */
int MPIR_Session_describe_set(const struct MPIR_Session_set *set, MPIR_Info ** info);
void MPIR_Session_release_set(struct MPIR_Session_set *set);
/* Whether there is such a name mpi://..., which means another set in each process; then fills
 * `set`, with the canonical name, as if all its processes run. */
bool MPIR_Session_nth_predefined(int n, struct MPIR_Session_set *set);
bool MPIR_Session_find_predefined(const char *name, struct MPIR_Session_set *set);

/* ---- session_call.c, session_answer.c: mpir_session_call.h ---- */

/* MPI_ERR_UNSUPPORTED_OPERATION without a step manager. */
int MPIR_Session_check_manager(void);

/* ---- session_members.c: members in calls and replies ---- */

/* Called before a call that contains members, or whose reply does: makes the members of the world
 * known. */
int MPIR_Session_call_prepare(void);
/* Ranks of the world, -1 for a process outside the world; the caller frees the array.  NULL: out of
 * memory, or malformed. */
int *MPIR_Session_answer_members(struct MPIR_Session_answer *answer, int *n);
/* -1: the process is not in the world. */
int MPIR_Session_rank_of_uid(uint32_t uid);

/* ---- session_lookup.c: data of sets with a name of the step manager ---- */

/* When a query was sent (session_cache.c). */
struct MPIR_Session_stamp {
    uint32_t invalidations;
    unsigned epoch;
};

/* The step manager's data of a set.  It may be cached, so that it must not be changed after its
 * construction. */
struct MPIR_Session_made {
    int references;
    char name[PMI_SET_NAME_MAX + 1];
    enum pmi_set_state state;   /* ended also if a process is not in the world */
    uint32_t serial;
    bool holds_me;
    /* rank of the first living member, -1: there is none, or it is not in the world */
    int primary;
    enum pmi_set_op op;
    char operands[2][PMI_SET_NAME_MAX + 1];     /* the first ones */
    int size, *ranks;
    bool state_lasts;           /* in the cache, the state is valid as long as the other data */
};
/* The caller releases the result with MPIR_Session_made_release.  With `state_matters` the state is
 * the present one; otherwise only `ended` is reliable. */
int MPIR_Session_lookup(const char *name, bool state_matters, struct MPIR_Session_made **made);
/* Caches the data of n sets in the reply to another query.  The stamp was made before the query. */
int MPIR_Session_cache_lookups(struct MPIR_Session_answer *answer, uint32_t n,
                               struct MPIR_Session_stamp stamp);
void MPIR_Session_made_release(struct MPIR_Session_made *made);
/* Lists names and sizes of the sets that contain this process and were made after `serial`; sets
 * `serial` to the present one. */
int MPIR_Session_list_made(uint32_t * serial, void (*take)(void *state, const char *name, int size),
                           void *state);

/* ---- session_cache.c: replies that are valid until the board invalidates them ---- */

/* The stamp for the queries that follow. */
struct MPIR_Session_stamp MPIR_Session_stamp(void);
/* The cached data of this name, with an additional reference; NULL: it has to be queried. */
struct MPIR_Session_made *MPIR_Session_cache_find(const char *name, bool state_matters);
/* The stamp was made before the query.  Does nothing if there is no memory. */
void MPIR_Session_cache_store(const char *name, struct MPIR_Session_made *made,
                              struct MPIR_Session_stamp stamp);

/* ---- session_join.c: a process that a change has started; lpids of the device's table ---- */
/* Called by the first session, before its use: a process of an addition waits until that is
 * accepted. */
int MPIR_Session_enter(void);
/* Called before anything is sent: a joining process may open its own world first, which is then a
 * part of the job. */
void MPIR_Session_before_init(void);
bool MPIR_Session_is_joining(void);
bool MPIR_Session_may_query(void);
int MPIR_Session_lpid(void);
/* Lpids of a joining process' start group, and of its members on the same host; NULL in all other
 * processes. */
const int *MPIR_Session_start_lpids(void);
const int *MPIR_Session_shared_lpids(void);
const char *MPIR_Session_delta_name(void);
/* Adds the library's keys to the info of a session. */
int MPIR_Session_add_keys(MPIR_Info * info);

/* ---- session_change.c: changes through sets ---- */
/* Whether this process has requested changes, or was started by one: the job changes through
 * process sets. */
bool MPIR_Session_is_dynamic(void);
void MPIR_Session_note_dynamic(void);
/* Becomes dynamic if the info of MPI_Session_init requests it. */
int MPIR_Session_become_dynamic(MPIR_Info * info);
/* Whether a change that was sent to some process removes this process; queries only in a dynamic
 * job. */
int MPIR_Session_leaves(bool * leaves);
/* Stores the result of a query with this stamp: no change removes this process; a later removal
 * will be notified. */
void MPIR_Session_note_stays(bool notified, struct MPIR_Session_stamp stamp);
/* The number of the next set that this process may make without a reply, 0: none; and a note that
 * it was used. */
uint32_t MPIR_Session_granted_number(void);
void MPIR_Session_granted_used(void);
int MPIR_Session_rc_test_impl(MPIR_Session * session, const char *name, int *flag);
int MPIR_Session_rc_get_impl(MPIR_Session * session, const char *name, int *type, char *delta,
                             int *tag, MPIR_Info ** info);
int MPIR_Session_rc_accept_impl(MPIR_Session * session, int tag, MPIR_Info * info);
int MPIR_Session_rc_decline_impl(MPIR_Session * session, int tag);

/* ---- session_local_sets.c: sets that a process makes by itself ---- */
/* Makes the union, difference or intersection of cached sets; `done` false: the step manager has to
 * be queried. */
int MPIR_Session_make_by_itself(int op, const char *const input[], int ninput,
                                char output[MPI_MAX_PSET_NAME_LEN], bool *done);

/* ---- session_user_psets.c: sets that programs make ---- */
int MPIR_Session_get_psets_impl(MPIR_Session * session, MPIR_Info ** psets);
int MPIR_Session_get_default_pset_impl(MPIR_Session * session, char *name, int *dynamic);
int MPIR_Session_get_primary_process_impl(MPIR_Session * session, const char *name, int *primary);
int MPIR_Session_pset_op_impl(MPIR_Session * session, int op, const char *const input[], int ninput,
                              MPIR_Info * info, char output[][MPI_MAX_PSET_NAME_LEN], int *noutput);
int MPIR_Session_pset_from_group_impl(MPIR_Session * session, MPIR_Group * group, MPIR_Info * info,
                                      char *name);
int MPIR_Session_pset_move_impl(MPIR_Session * session, const char *from, const char *to);
int MPIR_Session_pset_free_impl(MPIR_Session * session, const char *name);
int MPIR_Session_pset_included_impl(MPIR_Session * session, const char *name, int *included);
int MPIR_Session_pset_exists_impl(MPIR_Session * session, const char *name, int *running,
                                  MPI_Info * info);
int MPIR_Session_set_pset_data_impl(MPIR_Session * session, const char *name, MPIR_Info * data);
int MPIR_Session_get_pset_data_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                    const char *const keys[], int nkeys, int wait,
                                    MPIR_Info ** data);
/* The call of get_pset_data and iget_pset_data, and its reply. */
int MPIR_Session_write_get(struct MPIR_Session_call *call, MPIR_Session * session,
                           const char *coll_pset, const char *name, const char *const keys[],
                           int nkeys, int wait);
int MPIR_Session_read_data(struct MPIR_Session_answer *answer, MPIR_Info ** data);
/* A name as the step manager stores it, for data of the set. */
struct MPIR_Session_name {
    const char *text;
    char of_epoch[32];
};
int MPIR_Session_find_name(const char *name, struct MPIR_Session_name *found);
/* The same, for requests of changes. */
int MPIR_Session_find_bound(const char *name, struct MPIR_Session_name *found);

/* ---- session_liveness.c ---- */

/* State of a wait for certain processes; all 0 at first. */
struct MPIR_Session_watch {
    int64_t due_ms, pause_ms;
    bool seen;
};
/* Called repeatedly while this process waits for the processes with these lpids. ended: one of them
 * has ended, and no message of it can still arrive; or, with a group, a member of it has ended, and
 * the one awaited process has not entered the creation that this thread is in.  Queries mpiexec at
 * intervals that increase with the waiting time. */
int MPIR_Session_watch(struct MPIR_Session_watch *watch, const int *lpids, int n,
                       const MPIR_Group * group, bool *ended);
/* From come_to until came, this thread is making the communicator of this number; other processes
 * can query that. */
void MPIR_Session_come_to(uint64_t creation);
void MPIR_Session_came(void);
/* Queries without delay. */
int MPIR_Session_have_ended(const int *lpids, int n, bool * ended);
/* Whether a member has ended, after an error of the network, which may come before the
 * notification: queries for up to a second. */
int MPIR_Session_has_failed(const MPIR_Group * group, bool * failed);

/* A communicator of several processes has been made: if a member ends, pending operations of the
 * others on the communicator end, too.  SL4 */
void MPIR_Session_watch_members(MPIR_Comm * comm);

/* ---- session_agree.c ---- */

/* The number that all members use for this creation; not 0. */
uint64_t MPIR_Session_number_of_creation(const MPIR_Group * group, const char *text, int kind);
/* From begin to end, this thread uses MPIR_Session_allreduce_group instead of MPII_Allreduce_group,
 * for a communicator over this group. */
void MPIR_Session_agree_begin(const MPIR_Group * group, const char *text, int kind);
void MPIR_Session_agree_end(void);
/* This process does not know the hosts of all members; after the agreement all members know whether
 * any of them lacks hosts. */
void MPIR_Session_agree_on_unknown_hosts(void);
bool MPIR_Session_agreed_on_unknown_hosts(void);

/* ---- session_request.c: operations that change the processes of the job ---- */
int MPIR_Session_request_op(int op, const char *const input[], int ninput, MPIR_Info * info,
                            char output[][MPI_MAX_PSET_NAME_LEN], int *noutput);
int MPIR_Session_get_pset_op_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                  int *op, char output[][MPI_MAX_PSET_NAME_LEN], int *noutput);
int MPIR_Session_finish_pset_op_impl(MPIR_Session * session, const char *name);
int MPIR_Session_ipset_op_impl(MPIR_Session * session, int *op, const char *const input[],
                               int ninput, MPIR_Info * info, char ***output, int *noutput,
                               MPIR_Request ** request);
int MPIR_Session_iget_pset_op_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                   int *op, char ***output, int *noutput, MPIR_Request ** request);

/* ---- session_hints.c ---- */
int MPIR_Session_add_scheduling_hints_impl(MPIR_Session * session, MPIR_Info * hints,
                                           MPIR_Info ** notified);

/* ---- session_iget.c ---- */
int MPIR_Session_iget_pset_data_impl(MPIR_Session * session, const char *coll_pset,
                                     const char *name, const char *const keys[], int nkeys,
                                     int wait, MPI_Info * data, MPIR_Request ** request);

/* ---- session_bcast.c: texts that the first process of a set sends to all its members ---- */
int MPIR_Session_bcast_pset_info_impl(MPIR_Session * session, const char *name, char *text, int len,
                                      int primary);

/* ---- session_objects.c ---- */

/* MPI_ERR_GROUP for a group whose session was finalised (adapt_stale.c). */
int MPIR_Session_check_group(const MPIR_Group * group);
/* Frees such a group, of which only the handle remained. */
bool MPIR_Session_remove_group(MPIR_Group * group);
/* With MPIR_CVAR_SESSION_CHECK: MPI_ERR_SESSION if two of these have different sessions.  NULL: no
 * such argument. */
int MPIR_Session_check_objects(const MPIR_Group * group, const MPIR_Group * group2,
                               const MPIR_Comm * comm, const MPIR_Comm * comm2,
                               const MPIR_Win * win);
/* The same for requests that are waited for, tested or started together; the caller reads the
 * variable. */
int MPIR_Session_check_requests(int n, const MPI_Request requests[]);
/* Windows and files over a group (SX9): the call makes a communicator, and frees it. */
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

/* ---- session_rendezvous.c: processes of a launch ---- */

/* Connects this process and the members of a group, which call it, too.  `all_met` false: the
 * world, in which all processes are connected, is being made meanwhile; the caller waits for it. */
int MPIR_Session_rendezvous(const MPIR_Group * group, bool * all_met);
/* `stopped` is true from the moment when all processes have entered the construction of the world,
 * unless that fails. */
void MPIR_Session_stop_rendezvous(bool stopped);
/* Called by the device when all processes have stopped: two processes of an incomplete rendezvous
 * count as not connected, on both. */
int MPIR_Session_finish_rendezvous(void);

/* ---- session_addresses.c ---- */

/* Rendezvous with itself, for messages to itself, for example through a window. */
int MPIR_Session_rendezvous_self(void);
/* Inserts the addresses of other processes at the end of a set's data.  SI8 */
int MPIR_Session_insert_bcs(struct MPIR_Session_answer *answer);
/* This process' own address; "" after it was sent to the step manager in a call that got its
 * reply. */
int MPIR_Session_own_bc(char *bc, int bytes);
void MPIR_Session_bc_given(void);
/* Releases the memory that exited processes used in this process. */
void MPIR_Session_remove_exited(void);

/* ---- session_introduce.c ---- */

/* In a joining process, before it may continue. prepare: inserts the addresses that it receives, as
 * far as that needs no action of their processes; can_be: whether it may be introduced to them.
 * take: notes the processes to which it was introduced: they and this process need no
 * rendezvous. */
int MPIR_Session_prepare_introduction(struct MPIR_Session_answer *answer, bool * can_be);
int MPIR_Session_take_introduction(struct MPIR_Session_answer *answer);
/* Processes with these lpids were introduced to this process, which needs no rendezvous with
 * them. */
int MPIR_Session_introduce(const int *lpids, int n);

/* ---- session_apart.c: processes that were not started together ---- */

/* Whether the members need the step manager for their rendezvous: a member was not started with the
 * launch. */
bool MPIR_Session_is_apart(const MPIR_Group * group);
/* Up to two rendezvous of this tag, `first_round` and the next one; none (`has_met`) if all are
 * connected already. */
int MPIR_Session_rendezvous_apart(const MPIR_Group * group, const char *stringtag, int first_round,
                                  bool *has_met);
/* The number of rendezvous, for a performance variable. */
unsigned long long *MPIR_Session_rendezvous_count(void);

#endif /* SESSION_H_INCLUDED */
