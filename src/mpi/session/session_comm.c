/*
 * Communicators from groups, in any state of the world model.  SX5, SX6: SI8.
 *
 * Only the group agrees on the id of a new communicator, in messages on the parent communicator
 * that contain the string and a tag computed from it (session_agree.c).  A communicator of all
 * processes of the launch uses MPI_COMM_WORLD's tables, which are made if they do not exist yet;
 * others have a rendezvous pair by pair (session_rendezvous.c), and then communicate over the
 * network.  Processes of different start groups use a communicator of their own, the bridge.
 */

#include "session.h"
#include "mpir_adapt.h"

/* Rendezvous for the two kinds of communicators: they differ also for the same processes and the
 * same tag. */
#define INTRACOMM_ROUNDS 1
#define INTERCOMM_ROUNDS 3

/* Positive, and small enough for MPIR_Comm_create_group. */
static int tag_of(const char *text)
{
    unsigned hash;
    int length = (int) strlen(text);

    HASH_VALUE(text, length, hash);
    return (int) (hash % (unsigned) MPIR_Process.attrs.tag_ub);
}

static bool is_everybody(const MPIR_Group * group)
{
    return group->size == MPIR_Process.size && group->size > 1;
}

/* MPI_Init enters the library's critical section within MPIR_init_lock, so this leaves the critical
 * section for a moment. */
static void lock_init(void)
{
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPL_initlock_lock(&MPIR_init_lock);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* Collective over the group. */
static int create_group(MPIR_Comm * parent, MPIR_Group * group, const char *stringtag, int kind,
                        int tag, MPIR_Comm ** comm)
{
    MPIR_Session_agree_begin(group, stringtag, kind);
    int mpi_errno = MPIR_Comm_create_group_impl(parent, group, tag, comm);
    MPIR_Session_agree_end();
    return mpi_errno;
}

/* Makes the communicator of a group whose members were not all started with the launch.
 * `first_round`: number of its first rendezvous. */
static int make_apart(MPIR_Group * group, const char *stringtag, int first_round, MPIR_Comm ** comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *bridge;
    bool has_met;

    mpi_errno = MPIR_Session_rendezvous_apart(group, stringtag, first_round, &has_met);
    MPIR_ERR_CHECK(mpi_errno);
    lock_init();
    mpi_errno = MPID_Session_bridge(&bridge);
    MPL_initlock_unlock(&MPIR_init_lock);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_agree_begin(group, stringtag, first_round);
    mpi_errno = MPID_Session_create_over(bridge, group, tag_of(stringtag), has_met, comm);
    MPIR_Session_agree_end();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Threads that make a communicator of a part of it read its group. */
static int take_parent(MPIR_Comm ** parent)
{
    int mpi_errno = MPID_Session_parent(parent);
    MPIR_Group *all;

    if (!mpi_errno && !(*parent)->local_group) {
        mpi_errno = MPIR_Comm_group_impl(*parent, &all);
        if (!mpi_errno)
            MPIR_Group_release(all);
    }
    return mpi_errno;
}

/* The communicator on which the members of the group, all of which call this, can communicate. */
static int parent_of(const MPIR_Group * group, MPIR_Comm ** parent)
{
    int mpi_errno = MPI_SUCCESS;
    bool all_met = false;

    lock_init();
    if (is_everybody(group))
        mpi_errno = MPIR_Session_join_world();
    MPL_initlock_unlock(&MPIR_init_lock);
    MPIR_ERR_CHECK(mpi_errno);
    *parent = NULL;
    while (!*parent) {
        mpi_errno = MPIR_Session_rendezvous(group, &all_met);
        MPIR_ERR_CHECK(mpi_errno);
        /* the thread that makes the world holds this lock meanwhile */
        lock_init();
        if (all_met || MPIR_Process.comm_world)
            mpi_errno = take_parent(parent);
        MPL_initlock_unlock(&MPIR_init_lock);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int check_group(const MPIR_Group * group)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(group->rank == MPI_UNDEFINED, mpi_errno, MPI_ERR_GROUP, "**sessionmember");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Makes the communicator of a group of several processes; `first_round`: number of its first
 * rendezvous. */
static int make_of_group(MPIR_Group * group, const char *stringtag, int first_round,
                         MPIR_Comm ** comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *parent;

    MPIR_Session_come_to(MPIR_Session_number_of_creation(group, stringtag, first_round));
    if (MPIR_Session_is_apart(group)) {
        mpi_errno = make_apart(group, stringtag, first_round, comm);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = parent_of(group, &parent);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = create_group(parent, group, stringtag, first_round, tag_of(stringtag), comm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_came();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_intracomm(MPIR_Group * group, const char *stringtag, MPIR_Comm ** comm)
{
    int mpi_errno = MPI_SUCCESS;

    *comm = NULL;
    mpi_errno = check_group(group);
    MPIR_ERR_CHECK(mpi_errno);
    if (group->size == 1) {
        /* no other process is involved, also not in an adaptation */
        mpi_errno = MPIR_Session_rendezvous_self();
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Comm_dup_impl(MPIR_Process.comm_self, comm);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Adapt_comm_derive(*comm, MPIR_Process.comm_self, NULL);
    } else {
        mpi_errno = make_of_group(group, stringtag, INTRACOMM_ROUNDS, comm);
        MPIR_ERR_CHECK(mpi_errno);
    }
    (*comm)->adapt.session = group->session;
    MPIR_Session_watch_members(*comm);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void dress(MPIR_Comm * comm, MPIR_Info * info, MPIR_Errhandler * errhandler)
{
    if (info)
        MPII_Comm_set_hints(comm, info);
    if (errhandler)
        MPIR_Comm_set_errhandler_impl(comm, errhandler);
}

int MPIR_Comm_create_from_group_impl(MPIR_Group * group_ptr, const char *stringtag,
                                     MPIR_Info * info_ptr, MPIR_Errhandler * errhan_ptr,
                                     MPIR_Comm ** p_newcom_ptr)
{
    int mpi_errno = MPI_SUCCESS;

    *p_newcom_ptr = NULL;
    /* MPI_GROUP_EMPTY: MPI_COMM_NULL, without communication */
    if (group_ptr->size == 0)
        goto fn_exit;
    mpi_errno = make_intracomm(group_ptr, stringtag, p_newcom_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    dress(*p_newcom_ptr, info_ptr, errhan_ptr);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int check_intercomm(MPIR_Group * local, int local_leader, MPIR_Group * remote,
                           int remote_leader)
{
    int mpi_errno = check_group(local);

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(local_leader < 0 || local_leader >= local->size || remote_leader < 0 ||
                        remote_leader >= remote->size, mpi_errno, MPI_ERR_RANK, "**sessionleader");
    for (int i = 0; i < local->size; i++) {
        for (int j = 0; j < remote->size; j++)
            MPIR_ERR_CHKANDJUMP(local->lrank_to_lpid[i].lpid == remote->lrank_to_lpid[j].lpid,
                                mpi_errno, MPI_ERR_GROUP, "**sessiondisjoint");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int compare_processes(const void *a, const void *b)
{
    uint64_t left = ((const MPII_Group_pmap_t *) a)->lpid, right =
        ((const MPII_Group_pmap_t *) b)->lpid;

    return (left > right) - (left < right);
}

/* The processes of both groups, in the same order on both sides. */
static int join_groups(const MPIR_Group * local, const MPIR_Group * remote, MPIR_Group ** both)
{
    int mpi_errno = MPIR_Group_create(local->size + remote->size, both);
    MPIR_Group *group = *both;

    MPIR_ERR_CHECK(mpi_errno);
    group->size = local->size + remote->size;
    group->idx_of_first_lpid = -1;
    group->is_local_dense_monotonic = FALSE;
    for (int i = 0; i < local->size; i++)
        group->lrank_to_lpid[i].lpid = local->lrank_to_lpid[i].lpid;
    for (int i = 0; i < remote->size; i++)
        group->lrank_to_lpid[local->size + i].lpid = remote->lrank_to_lpid[i].lpid;
    qsort(group->lrank_to_lpid, group->size, sizeof(group->lrank_to_lpid[0]), compare_processes);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int rank_of_lpid(const MPIR_Group * group, uint64_t lpid)
{
    int rank = 0;

    while (rank < group->size && group->lrank_to_lpid[rank].lpid != lpid)
        rank++;
    return rank;
}

/* All of them make a communicator, on which the leaders communicate: two simultaneous creations of
 * the same leaders never mix. */
static int make_intercomm(MPIR_Group * local, int local_leader, MPIR_Group * remote,
                          int remote_leader, const char *stringtag, MPIR_Comm ** intercomm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Group *both = NULL;
    MPIR_Comm *parent = NULL, *local_comm = NULL;

    mpi_errno = join_groups(local, remote, &both);
    MPIR_ERR_CHECK(mpi_errno);
    both->rank = rank_of_lpid(both, local->lrank_to_lpid[local->rank].lpid);
    mpi_errno = make_of_group(both, stringtag, INTERCOMM_ROUNDS, &parent);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_come_to(MPIR_Session_number_of_creation(local, stringtag, INTERCOMM_ROUNDS));
    mpi_errno = create_group(parent, local, stringtag, INTERCOMM_ROUNDS, 0, &local_comm);
    MPIR_Session_came();
    MPIR_ERR_CHECK(mpi_errno);
    local_comm->adapt.session = local->session;
    mpi_errno = MPIR_Intercomm_create_impl(local_comm, local_leader, parent,
                                           rank_of_lpid(both,
                                                        remote->lrank_to_lpid[remote_leader].lpid),
                                           0, intercomm);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_watch_members(*intercomm);

  fn_exit:
    if (local_comm)
        MPIR_Comm_release(local_comm);
    if (parent)
        MPIR_Comm_release(parent);
    if (both)
        MPIR_Group_release(both);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Intercomm_create_from_groups_impl(MPIR_Group * local_group_ptr, int local_leader,
                                           MPIR_Group * remote_group_ptr, int remote_leader,
                                           const char *stringtag, MPIR_Info * info_ptr,
                                           MPIR_Errhandler * errhan_ptr,
                                           MPIR_Comm ** p_newintercom_ptr)
{
    int mpi_errno = MPI_SUCCESS;

    *p_newintercom_ptr = NULL;
    /* one of the groups is empty: MPI_COMM_NULL */
    if (local_group_ptr->size == 0 || remote_group_ptr->size == 0)
        goto fn_exit;
    mpi_errno = check_intercomm(local_group_ptr, local_leader, remote_group_ptr, remote_leader);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        make_intercomm(local_group_ptr, local_leader, remote_group_ptr, remote_leader, stringtag,
                       p_newintercom_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    dress(*p_newintercom_ptr, info_ptr, errhan_ptr);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
