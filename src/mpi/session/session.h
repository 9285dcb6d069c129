/*
 * MPI Sessions, internal to src/mpi/session and to the generated entry points of their functions:
 * sets and their lookup, the arguments of a session, the lifetime of the library, communicators
 * from groups.
 *
 * A handle's object (struct MPIR_Session) is upstream's; what we add lies beside it, in a list of
 * the open sessions (session_open.c), under MPIR_init_lock.  Specification: SX1-SX9, SN1, SN3, SN5,
 * SN7, SI1, SI4, SI7, SE1.
 */

#ifndef SESSION_H_INCLUDED
#define SESSION_H_INCLUDED

#include "mpiimpl.h"
#include "mpid_session.h"
#include "mpir_adapt_session.h"
#include "mpir_session_call.h"
#include "pmi_adapt_set.h"

/* ---- session_open.c: what was given to MPI_Session_init ---- */

/* MPI_ERR_SESSION for a session that has been finalised. */
int MPIR_Session_check(const MPIR_Session * session);
int MPIR_Session_get_oldest_impl(MPI_Session * oldest);
/* By which its objects know it, 0: it has been finalised. */
unsigned MPIR_Session_number(const MPIR_Session * session);
/* How a function of a session ends with an error: its error handler, or that of the call.  Handles
 * as they were given, because another argument may be the wrong one: there may be none, or one of
 * nothing. */
int MPIR_Session_return_error(MPI_Session session, MPI_Errhandler errhandler, const char *function,
                              int mpi_errno);

/* ---- session_life.c: from the first session to the end of the process ---- */

/* Whether this process was started by our launcher: known once it has opened a session, or has
 * searched. */
bool MPIR_Session_has_proxy(void);
/* Of a session for one thread (MPI_THREAD_SINGLE), alone in its process, calls take no locks, as
 * after MPI_Init.  A session that is opened later brings them back for good: it is opened by the
 * same thread, which is in no other call then.  For MPI_THREAD_FUNNELED there are locks, because
 * another thread may open a session of its own while this one waits in a call (SX11).  Opening
 * comes before anything is done for the session, opened after. */
void MPIR_Session_opening(int level);
void MPIR_Session_opened(int level, bool alone);
bool MPIR_Session_is_parked(void);
/* MPII_Init_thread, by the only user of the library: whether it was parked and is there again. */
bool MPIR_Session_resume(bool is_world_model);
/* MPII_Init_thread of a session.  From now on the library stays when nobody uses it. */
int MPIR_Session_begin(void);
/* MPII_Finalize, of the last user: whether the library is parked instead of being taken down. */
bool MPIR_Session_park(void);
/* The library is taken down: whether the connection to the process manager stays, for a session
 * that comes later. */
bool MPIR_Session_keep_pmi(void);
/* MPI_ERR_OTHER after it was closed: no session can be opened any more. */
int MPIR_Session_check_over(void);
/* MPI_COMM_WORLD's tables and shared memory, by whoever needs them first: collective over the
 * launch.  Holds MPIR_init_lock and the critical section, which are left while others are
 * awaited. */
int MPIR_Session_join_world(void);
/* By the device, when the world's communication works: until all have left the start, as far as it
 * goes over the network. */
int MPIR_Session_leave_start(void);
int MPIR_Session_join_world_at_init(void);
/* MPI_Init has made, and MPI_Finalize has ended, the world model. */
int MPIR_Session_world_opened(void);
void MPIR_Session_world_closed(void);
/* Functions that may be called before, between and after initialisations, by several threads: these
 * and the library's other ones come one after the other.  Leave gets the result of enter. */
bool MPIR_Session_enter_anytime(void);
void MPIR_Session_leave_anytime(bool initialized);
/* The error for MPI_COMM_WORLD outside of the world model; MPI_SUCCESS: it is another
 * communicator. */
int MPIR_Session_world_error(const MPIR_Comm * comm, const char *function, int line);

/* ---- session_sets.c ---- */

/* Ranks in the world of a set's members, in the set's order; NULL: all of the world. */
struct MPIR_Session_set {
    const char *name;
    int size;
    const int *ranks;
    struct MPIR_Session_made *made;     /* the step manager's data of it; NULL: it is mpi://... */
    enum pmi_set_state state;   /* of mpi://...; that of `made` is there */
    int primary;                /* lpid of its first member that lives, -1: none does */
};
/* The set of this name; MPI_ERR_ARG: there is none.  To be given back by release.  For those whom
 * it does not concern whether a set that has not ended runs. */
int MPIR_Session_find_set(const char *name, struct MPIR_Session_set *set);
/* The same with its state; that of mpi://... is the step manager's if it was ever queried for sets
 * here. */
int MPIR_Session_find_set_and_state(const char *name, struct MPIR_Session_set *set);
/* The same, and it is queried. */
int MPIR_Session_query_set(const char *name, struct MPIR_Session_set *set);
bool MPIR_Session_set_holds_me(const struct MPIR_Session_set *set);
enum pmi_set_state MPIR_Session_state_of(const struct MPIR_Session_set *set);
/* Whether this process is the first of its members that lives. */
bool MPIR_Session_set_is_led_by_me(const struct MPIR_Session_set *set);
/* In a new info object. */
int MPIR_Session_describe_set(const struct MPIR_Session_set *set, MPIR_Info ** info);
void MPIR_Session_release_set(struct MPIR_Session_set *set);
/* Whether the name is one of mpi://..., which mean something else in each process; then `set` is
 * filled in, with the name as it is written here, as if all its processes run. */
bool MPIR_Session_nth_predefined(int n, struct MPIR_Session_set *set);
bool MPIR_Session_find_predefined(const char *name, struct MPIR_Session_set *set);

/* ---- session_call.c, session_answer.c: mpir_session_call.h ---- */

/* MPI_ERR_UNSUPPORTED_OPERATION where nobody answers. */
int MPIR_Session_check_manager(void);

/* ---- session_members.c: members in calls and replies ---- */

/* Before a call that has members, or whose answer has: who is in the world is known then. */
int MPIR_Session_call_prepare(void);
/* Ranks of the world, -1 for who is not in it, to be freed; NULL: out of memory or malformed. */
int *MPIR_Session_answer_members(struct MPIR_Session_answer *answer, int *n);
/* -1: it is not in the world. */
int MPIR_Session_rank_of_uid(uint32_t uid);

/* ---- session_lookup.c: data of sets that were made ---- */

/* When a query was sent (session_cache.c). */
struct MPIR_Session_stamp {
    uint32_t invalidations;
    unsigned epoch;
};

/* The step manager's data of a set that was made.  It may be cached: not to be changed once it is
 * made. */
struct MPIR_Session_made {
    int references;
    char name[PMI_SET_NAME_MAX + 1];
    enum pmi_set_state state;   /* ended also if a process is not in the world */
    uint32_t serial;
    bool holds_me;
    /* rank of the first member that lives, -1: none does, or it is not in the world */
    int primary;
    enum pmi_set_op op;
    char operands[2][PMI_SET_NAME_MAX + 1];     /* the first ones */
    int size, *ranks;
    bool state_lasts;           /* as long as the rest of this, if that is cached */
};
/* To be released by MPIR_Session_made_release.  The state is that of now, or not ended, if it does
 * not matter. */
int MPIR_Session_lookup(const char *name, bool state_matters, struct MPIR_Session_made **made);
/* Data of n sets in the reply to another query, which is cached.  The stamp is of before the
 * query. */
int MPIR_Session_cache_lookups(struct MPIR_Session_answer *answer, uint32_t n,
                               struct MPIR_Session_stamp stamp);
void MPIR_Session_made_release(struct MPIR_Session_made *made);
/* Names and sizes of the sets that hold this process and were made after `serial`, which becomes
 * the present one. */
int MPIR_Session_list_made(uint32_t * serial, void (*take)(void *state, const char *name, int size),
                           void *state);

/* ---- session_cache.c: replies that hold until the board invalidates them ---- */

/* The stamp of queries from now on. */
struct MPIR_Session_stamp MPIR_Session_stamp(void);
/* The cached data of this name, with a reference more; NULL: it has to be queried. */
struct MPIR_Session_made *MPIR_Session_cache_find(const char *name, bool state_matters);
/* The stamp is of before the query.  Nothing happens if there is no memory. */
void MPIR_Session_cache_store(const char *name, struct MPIR_Session_made *made,
                              struct MPIR_Session_stamp stamp);

/* ---- session_join.c: a process that a change has started; lpids of the device's table ---- */
/* By the first session, before it is used: waits in a process of an addition until that is
 * accepted. */
int MPIR_Session_enter(void);
/* Before anything is sent: a joining process may open its own world first, which is a part of the
 * job then. */
void MPIR_Session_before_init(void);
bool MPIR_Session_is_joining(void);
bool MPIR_Session_may_query(void);
int MPIR_Session_lpid(void);
/* Of a joining process' start group, and those on its host; NULL in all other processes. */
const int *MPIR_Session_start_lpids(void);
const int *MPIR_Session_shared_lpids(void);
const char *MPIR_Session_delta_name(void);
/* The library's keys in the info of each session. */
int MPIR_Session_add_keys(MPIR_Info * info);

/* ---- session_change.c: changes through sets ---- */
/* This process has requested changes, or was started by one: the job changes through process
 * sets. */
bool MPIR_Session_is_dynamic(void);
void MPIR_Session_note_dynamic(void);
/* If the info given to MPI_Session_init requests it. */
int MPIR_Session_become_dynamic(MPIR_Info * info);
/* Whether a change that some process was notified of removes this process; queries only in such a
 * job. */
int MPIR_Session_leaves(bool * leaves);
/* By a query with this stamp: no change removes it, of which it will be notified otherwise. */
void MPIR_Session_note_stays(bool notified, struct MPIR_Session_stamp stamp);
/* Of the next set that this process may make without being answered, 0: none; it has. */
uint32_t MPIR_Session_granted_number(void);
void MPIR_Session_granted_used(void);
int MPIR_Session_rc_test_impl(MPIR_Session * session, const char *name, int *flag);
int MPIR_Session_rc_get_impl(MPIR_Session * session, const char *name, int *type, char *delta,
                             int *tag, MPIR_Info ** info);
int MPIR_Session_rc_accept_impl(MPIR_Session * session, int tag, MPIR_Info * info);
int MPIR_Session_rc_decline_impl(MPIR_Session * session, int tag);

/* ---- session_local_sets.c: sets that a process makes by itself ---- */
/* Union, difference or intersection of cached sets; `done` false: the step manager has to be
 * queried. */
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
/* The call of these two, and its reply. */
int MPIR_Session_write_get(struct MPIR_Session_call *call, MPIR_Session * session,
                           const char *coll_pset, const char *name, const char *const keys[],
                           int nkeys, int wait);
int MPIR_Session_read_data(struct MPIR_Session_answer *answer, MPIR_Info ** data);
/* A name as the step manager knows it, where that has data. */
struct MPIR_Session_name {
    const char *text;
    char of_epoch[32];
};
int MPIR_Session_find_name(const char *name, struct MPIR_Session_name *found);
/* ... and where changes are requested for it. */
int MPIR_Session_find_bound(const char *name, struct MPIR_Session_name *found);

/* ---- session_liveness.c ---- */

/* Of who waits for certain processes; all 0 at first. */
struct MPIR_Session_watch {
    int64_t due_ms, pause_ms;
    bool seen;
};
/* Called repeatedly while this process waits for the processes with these lpids: whether one of
 * them has ended, and nothing that it has sent before can still be on its way; or, with a group, a
 * member of it has, and the one process that is awaited has not come to the creation that this
 * thread is in.  Queries mpiexec now and then, the longer it takes the more seldom. */
int MPIR_Session_watch(struct MPIR_Session_watch *watch, const int *lpids, int n,
                       const MPIR_Group * group, bool *ended);
/* From this on until the other, this thread is making the communicator of this number, and others
 * can learn that. */
void MPIR_Session_come_to(uint64_t creation);
void MPIR_Session_came(void);
/* Queries at once. */
int MPIR_Session_have_ended(const int *lpids, int n, bool * ended);
/* Whether a member has ended, after an error of the network, which may come before the
 * notification: queries for up to a second. */
int MPIR_Session_has_failed(const MPIR_Group * group, bool * failed);

/* A communicator of several has been made: if a member ends, what the others do with it ends, too.
 * SL4 */
void MPIR_Session_watch_members(MPIR_Comm * comm);

/* ---- session_agree.c ---- */

/* By which all members know it; not 0. */
uint64_t MPIR_Session_number_of_creation(const MPIR_Group * group, const char *text, int kind);
/* Until the end, MPII_Allreduce_group of this thread is MPIR_Session_allreduce_group, for a
 * communicator over this group. */
void MPIR_Session_agree_begin(const MPIR_Group * group, const char *text, int kind);
void MPIR_Session_agree_end(void);
/* This process does not know the hosts of all members; after the agreement all know whether any of
 * them does not. */
void MPIR_Session_agree_on_unknown_hosts(void);
bool MPIR_Session_agreed_on_unknown_hosts(void);

/* ---- session_request.c: operations that change who is there ---- */
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

/* ---- session_bcast.c: texts that the first process of a set gives to all its members ---- */
int MPIR_Session_bcast_pset_info_impl(MPIR_Session * session, const char *name, char *text, int len,
                                      int primary);

/* ---- session_objects.c ---- */

/* MPI_ERR_GROUP for one that its session has left (adapt_stale.c). */
int MPIR_Session_check_group(const MPIR_Group * group);
/* Such a group is freed: only its handle remained. */
bool MPIR_Session_remove_group(MPIR_Group * group);
/* With MPIR_CVAR_SESSION_CHECK: MPI_ERR_SESSION if two of these have different sessions.  NULL: no
 * such argument. */
int MPIR_Session_check_objects(const MPIR_Group * group, const MPIR_Group * group2,
                               const MPIR_Comm * comm, const MPIR_Comm * comm2,
                               const MPIR_Win * win);
/* The same of requests that are waited for, tested or started together; the caller reads the
 * variable. */
int MPIR_Session_check_requests(int n, const MPI_Request requests[]);
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

/* ---- session_rendezvous.c: processes of a launch ---- */

/* Makes this process and the members of a group known to each other: they call it, too.  `all_met`
 * false: the world is being made meanwhile, where all know each other, and is to be awaited. */
int MPIR_Session_rendezvous(const MPIR_Group * group, bool * all_met);
/* True from the moment when all processes have come to make the world, unless that fails. */
void MPIR_Session_stop_rendezvous(bool stopped);
/* By the device, when all have stopped: those who have met by half, as both see it, have not. */
int MPIR_Session_finish_rendezvous(void);

/* ---- session_addresses.c ---- */

/* For what it sends itself, by a window for one. */
int MPIR_Session_rendezvous_self(void);
/* The addresses of others at the end of a set's data.  SI8 */
int MPIR_Session_insert_bcs(struct MPIR_Session_answer *answer);
/* This process' own address, "" once it has been given to the step manager, in a call that was
 * answered. */
int MPIR_Session_own_bc(char *bc, int bytes);
void MPIR_Session_bc_given(void);
/* Releases the memory that exited processes used in this process. */
void MPIR_Session_remove_exited(void);

/* ---- session_introduce.c ---- */

/* A joining process, before it may continue, gets to know the processes whose addresses it
 * receives, as far as nothing of them is needed for it: whether it may be introduced to them.
 * Then, to whom it was: they and this process need no rendezvous. */
int MPIR_Session_prepare_introduction(struct MPIR_Session_answer *answer, bool * can_be);
int MPIR_Session_take_introduction(struct MPIR_Session_answer *answer);
/* To this process, which needs no rendezvous with the processes of these lpids. */
int MPIR_Session_introduce(const int *lpids, int n);

/* ---- session_apart.c: processes that were not started together ---- */

/* Whether it takes the step manager to make them known to each other: a member was not started with
 * the launch. */
bool MPIR_Session_is_apart(const MPIR_Group * group);
/* Up to two rendezvous, `first_round` and the one after, which belong to the tag; none (`has_met`)
 * where all have met. */
int MPIR_Session_rendezvous_apart(const MPIR_Group * group, const char *stringtag, int first_round,
                                  bool *has_met);
/* How many there have been, for a performance variable. */
unsigned long long *MPIR_Session_rendezvous_count(void);

#endif /* SESSION_H_INCLUDED */
