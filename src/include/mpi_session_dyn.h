/*
 * Names of the MPI Sessions working group for programs whose processes come and go: the proposal of
 * 2022, and the interface "v2a" that was made of it, as inline code over MPIX_Session_*.  No
 * library is needed.  doc/user/set-changes.md has the meaning of each name.  SC4, SC5, SC6.
 *
 * Included after mpi.h, or by mpi.h itself with -DMPIX_DYN_NAMES.  Routines without a session use
 * the oldest one of the process.  Texts and names hold MPI_MAX_PSET_NAME_LEN characters.  A file
 * that includes mpidynres.h, too, includes it later; there MPI_Session is libmpidynres' pointer,
 * whose session_id these routines take.
 */

#ifndef MPI_SESSION_DYN_H
#define MPI_SESSION_DYN_H

#ifdef MPIDYNRES_H
#error "include mpi_session_dyn.h before mpidynres.h, which gives MPI_Session another meaning"
#endif

#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_RC_NONE MPIX_RC_NONE
#define MPI_RC_ADD MPIX_RC_ADD
#define MPI_RC_SUB MPIX_RC_SUB

#define MPI_PSET_OP_UNION MPIX_PSETOP_UNION
#define MPI_PSET_OP_DIFFERENCE MPIX_PSETOP_DIFFERENCE
#define MPI_PSET_OP_INTERSECTION MPIX_PSETOP_INTERSECTION

#define MPI_PSETOP_NULL MPIX_PSETOP_NULL
#define MPI_PSETOP_ADD MPIX_PSETOP_ADD
#define MPI_PSETOP_SUB MPIX_PSETOP_SUB
#define MPI_PSETOP_REPLACE MPIX_PSETOP_REPLACE
#define MPI_PSETOP_MALLEABLE MPIX_PSETOP_MALLEABLE
#define MPI_PSETOP_GROW MPIX_PSETOP_GROW
#define MPI_PSETOP_SHRINK MPIX_PSETOP_SHRINK
#define MPI_PSETOP_UNION MPIX_PSETOP_UNION
#define MPI_PSETOP_DIFFERENCE MPIX_PSETOP_DIFFERENCE
#define MPI_PSETOP_INTERSECTION MPIX_PSETOP_INTERSECTION
#define MPI_PSETOP_SPLIT MPIX_PSETOP_SPLIT

/* MPI_SESSION_NULL if there is none, which the routines then refuse. */
static inline MPI_Session mpi_session_dyn_oldest_(void)
{
    MPI_Session session = MPI_SESSION_NULL;

    MPIX_Session_get_oldest(&session);
    return session;
}

/* The process takes part in changes from the start. */
static inline int MPI_Session_create(MPI_Session *session)
{
    MPI_Info info;
    int error = MPI_Info_create(&info);

    if (!error)
        error = MPI_Info_set(info, "mpix_dynamic", "true");
    if (!error)
        error = MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
    if (!error)
        error = MPI_Info_free(&info);
    return error;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static inline int MPI_Session_get_default_pset(char pset[], int *dynamic)
{
    return MPIX_Session_get_default_pset(mpi_session_dyn_oldest_(), pset, dynamic);
}

static inline int MPI_Session_get_primary_process(const char pset[], int *flag)
{
    return MPIX_Session_get_primary_process(mpi_session_dyn_oldest_(), pset, flag);
}

/* 1 or 0. */
static inline int MPI_Session_Pset_IsProcessIncluded(const char pset[])
{
    int included = 0;

    MPIX_Session_pset_included(mpi_session_dyn_oldest_(), pset, &included);
    return included;
}

/* Whether all processes of the set run; info may be NULL. */
static inline int MPI_Session_Test_Exists(const char pset[], int *flag, MPI_Info *info)
{
    return MPIX_Session_pset_exists(mpi_session_dyn_oldest_(), pset, flag, info);
}

/* `in` is ended by NULL. */
static inline int MPI_Session_Dyn_pset_create_op(MPI_Session session, int op,
                                                 const char *const in[], char out[])
{
    char made[1][MPI_MAX_PSET_NAME_LEN] = { "" };
    int n = 0, one = 1, error;

    while (in[n])
        n++;
    error = MPIX_Session_pset_op(session, op, in, n, MPI_INFO_NULL, made, &one);
    strcpy(out, made[0]);
    return error;
}

static inline int MPI_Session_Dyn_pset_move(const char from[], const char to[])
{
    return MPIX_Session_pset_move(mpi_session_dyn_oldest_(), from, to);
}

static inline int MPI_Session_Dyn_pset_delete(const char pset[])
{
    return MPIX_Session_pset_free(mpi_session_dyn_oldest_(), pset);
}

/* ---- what belongs to a set ------------------------------------------------------------------- */

static inline int MPI_Session_Set_PSet_Info(MPI_Session session, const char pset[], MPI_Info info)
{
    return MPIX_Session_set_pset_data(session, pset, info);
}

/* Waits until a value was set; returns that, and the library's data of the set. */
static inline int MPI_Session_Get_PSet_Info(MPI_Session session, const char pset[], MPI_Info *info)
{
    const char *const no_keys[1] = { "" };
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info data;
    int n = 0, flag, error;

    *info = MPI_INFO_NULL;
    error = MPIX_Session_get_pset_data(session, "mpi://SELF", pset, no_keys, 0, 1, &data);
    if (error)
        return error;
    error = MPI_Session_get_pset_info(session, pset, info);
    if (!error)
        error = MPI_Info_get_nkeys(data, &n);
    for (int i = 0; i < n && !error; i++) {
        error = MPI_Info_get_nthkey(data, i, key);
        if (!error)
            error = MPI_Info_get(data, key, MPI_MAX_INFO_VAL, value, &flag);
        if (!error)
            error = MPI_Info_set(*info, key, value);
    }
    MPI_Info_free(&data);
    return error;
}

/* The primary process gives a text or ""; all get "", or the text in the same call. */
static inline int MPI_Session_bcast_PSet_info(const char pset[], char text[], int primary)
{
    return MPIX_Session_bcast_pset_info(mpi_session_dyn_oldest_(), pset, text,
                                        MPI_MAX_PSET_NAME_LEN, primary);
}

/* ---- changes --------------------------------------------------------------------------------- */

static inline int MPI_Session_Dyn_Test_res_change(MPI_Session session, const char pset[], int *flag)
{
    return MPIX_Session_rc_test(session, pset, flag);
}

/* A received change is accepted.  status: the change's tag, -1 for none. */
static inline int MPI_Session_Dyn_Recv_res_change(MPI_Session session, const char pset[], int *type,
                                                  char delta[], int *status)
{
    MPI_Info info = MPI_INFO_NULL;
    int error = MPIX_Session_rc_get(session, pset, type, delta, status, &info);

    if (error)
        return error;
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return *type == MPIX_RC_NONE ? MPI_SUCCESS
        : MPIX_Session_rc_accept(session, *status, MPI_INFO_NULL);
}

/* ---- v2a: operations, of which the ones that change the processes are requests --------------- */

typedef char mpi_session_dyn_name_[MPI_MAX_PSET_NAME_LEN];

static inline void mpi_session_dyn_free_(char **names, int n)
{
    while (n > 0)
        free(names[--n]);
    free(names);
}

/* Memory of the caller, NULL for no names. */
static inline int mpi_session_dyn_give_(mpi_session_dyn_name_ *made, int n, char ***names)
{
    *names = n > 0 ? (char **) calloc((size_t) n, sizeof(char *)) : NULL;
    for (int i = 0; i < n; i++) {
        if (*names)
            (*names)[i] = (char *) malloc(MPI_MAX_PSET_NAME_LEN);
        if (!*names || !(*names)[i]) {
            mpi_session_dyn_free_(*names, *names ? i : 0);
            *names = NULL;
            return MPI_ERR_NO_MEM;
        }
        strcpy((*names)[i], made[i]);
    }
    return MPI_SUCCESS;
}

/* How many names an operation gives at most. */
static inline int mpi_session_dyn_capacity_(int op, MPI_Info info)
{
    char sizes[MPI_MAX_INFO_VAL + 1] = "";
    int n = 1, flag = 0;

    if (op != MPIX_PSETOP_SPLIT || info == MPI_INFO_NULL)
        return 3;
    MPI_Info_get(info, "mpi_part_sizes", MPI_MAX_INFO_VAL, sizes, &flag);
    for (const char *comma = sizes; (comma = strchr(comma, ',')); comma++)
        n++;
    return n;
}

/* Of MALLEABLE: what the set of those who join or leave is. */
static inline int mpi_session_dyn_decided_(MPI_Session session, const char delta[])
{
    char type[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag = 0;

    if (MPI_Session_get_pset_info(session, delta, &info))
        return MPIX_PSETOP_NULL;
    MPI_Info_get(info, "mpidynres_rc_type", MPI_MAX_INFO_VAL, type, &flag);
    MPI_Info_free(&info);
    return strcmp(type, "add") ? MPIX_PSETOP_SHRINK : MPIX_PSETOP_GROW;
}

static inline int MPI_Session_dyn_v2a_psetop(MPI_Session session, int *op, char **input_sets,
                                             int ninput,
                                             char ***output_sets, int *noutput, MPI_Info info)
{
    int n = mpi_session_dyn_capacity_(*op, info), error = MPI_ERR_NO_MEM,
        changes = *op < MPIX_PSETOP_UNION;
    mpi_session_dyn_name_ *made = (mpi_session_dyn_name_ *) malloc((size_t) n * sizeof(*made));

    *output_sets = NULL;
    *noutput = 0;
    if (made)
        error = MPIX_Session_pset_op(session, *op, (const char *const *) input_sets, ninput, info,
                                     made, &n);
    if (!error)
        error = mpi_session_dyn_give_(made, n, output_sets);
    if (!error) {
        *noutput = n;
        if (changes && n == 0)
            *op = MPIX_PSETOP_NULL;
        else if (*op == MPIX_PSETOP_MALLEABLE)
            *op = mpi_session_dyn_decided_(session, made[0]);
    }
    free(made);
    return error;
}

static inline int MPI_Session_dyn_v2a_psetop_nb(MPI_Session session, int *op, char **input_sets,
                                                int ninput,
                                                char ***output_sets, int *noutput, MPI_Info info,
                                                    MPI_Request *request)
{
    return MPIX_Session_ipset_op(session, op, (const char *const *) input_sets, ninput, info,
                                 output_sets, noutput, request);
}

static inline int MPI_Session_dyn_v2a_query_psetop(MPI_Session session, char *coll_pset,
                                                   char *input_pset, int *type,
                                                   char ***output_psets, int *noutput)
{
    mpi_session_dyn_name_ made[3];
    int n = 3, error;

    *output_psets = NULL;
    *noutput = 0;
    error = MPIX_Session_get_pset_op(session, coll_pset, input_pset, type, made, &n);
    if (!error)
        error = mpi_session_dyn_give_(made, n, output_psets);
    if (!error)
        *noutput = n;
    return error;
}

static inline int MPI_Session_dyn_v2a_query_psetop_nb(MPI_Session session, char *coll_pset,
                                                      char *input_pset, int *type,
                                                      char ***output_psets, int *noutput,
                                                          MPI_Request *request)
{
    return MPIX_Session_iget_pset_op(session, coll_pset, input_pset, type, output_psets, noutput,
                                     request);
}

static inline int MPI_Session_dyn_finalize_psetop(MPI_Session session, char *pset_name)
{
    return MPIX_Session_finish_pset_op(session, pset_name);
}

static inline int MPI_Session_get_pset_data(MPI_Session session, char *coll_pset, char *pset_name,
                                            char **keys, int nkeys, int wait, MPI_Info *info_used)
{
    return MPIX_Session_get_pset_data(session, coll_pset, pset_name, (const char *const *) keys,
                                      nkeys, wait, info_used);
}

static inline int MPI_Session_get_pset_data_nb(MPI_Session session, char *coll_pset,
                                               char *pset_name, char **keys,
                                               int nkeys, int wait, MPI_Info *info_used,
                                                   MPI_Request *request)
{
    return MPIX_Session_iget_pset_data(session, coll_pset, pset_name, (const char *const *) keys,
                                       nkeys, wait, info_used, request);
}

static inline int MPI_Session_set_pset_data(MPI_Session session, const char *pset_name,
                                            MPI_Info info_used)
{
    return MPIX_Session_set_pset_data(session, pset_name, info_used);
}

#ifdef __cplusplus
}
#endif

#endif /* MPI_SESSION_DYN_H */
