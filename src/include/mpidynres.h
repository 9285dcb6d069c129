/*
 * The interface of libmpidynres, for programs that were written for it: its names, arguments and
 * values, as inline code over MPI Sessions and MPIX_Session_*.  No library is needed.
 * doc/user/set-changes.md has what is behind each name.  SC1.
 *
 * Included after or instead of mpi.h.  It gives names of MPI 4.0 the meaning that they have there:
 * MPI_Session is a pointer, and what a session was opened with is in the object.  A source file
 * uses one of the two interfaces.
 *
 * Routines return 0, or an error code; no error handler is called but that of a new communicator,
 * later.
 */

#ifndef MPIDYNRES_H
#define MPIDYNRES_H

#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIDYNRES_INVALID_SESSION_ID INT_MAX
#define MPIDYNRES_NO_ORIGIN_RC_TAG (-1)

/* session_id is MPI's handle; info a copy of what was given, or MPI_INFO_NULL. */
struct internal_mpi_session {
    int session_id;
    MPI_Info info;
};
typedef struct internal_mpi_session internal_mpi_session;
typedef internal_mpi_session *mpidynres_session;

enum MPIDYNRES_pset_op {
    MPIDYNRES_PSET_UNION,
    MPIDYNRES_PSET_INTERSECT,
    MPIDYNRES_PSET_DIFFERENCE
};
typedef enum MPIDYNRES_pset_op MPIDYNRES_pset_op;

enum MPIDYNRES_RC_type {
    MPIDYNRES_RC_NONE,
    MPIDYNRES_RC_ADD,
    MPIDYNRES_RC_SUB
};
typedef enum MPIDYNRES_RC_type MPIDYNRES_RC_type;
typedef int MPIDYNRES_RC_tag;

/* ---- internal: not to be used by programs ---------------------------------------------------- */

typedef char mpidynres_name_[MPI_MAX_PSET_NAME_LEN];    /* MPI's own, before it is hidden */

/* Where MPIDYNRES_exit goes: one for the program, however many files include this. */
struct mpidynres_exit_ {
    int is_set;
    jmp_buf to;
};
__attribute__((weak)) struct mpidynres_exit_ mpidynres_exit_point_;

/* The arguments of MPIDYNRES_SIM_start, until the first session (mpidynres_sim.h). */
struct mpidynres_manager_ {
    int is_set;
    MPI_Info config;
};
__attribute__((weak)) struct mpidynres_manager_ mpidynres_manager_config_;

/* A name that the library has made, as libmpidynres spells it; `made` has MPI_MAX_INFO_VAL + 1
 * characters. */
static inline void mpidynres_retell_(const char *name, char *made)
{
    if (!strncmp(name, "mpix://rc/", 10))
        snprintf(made, MPI_MAX_INFO_VAL + 1, "mpidynres://rc_%.1000s", name + 10);
    else if (!strncmp(name, "mpix://op/", 10))
        snprintf(made, MPI_MAX_INFO_VAL + 1, "mpidynres://op_%.1000s", name + 10);
    else
        snprintf(made, MPI_MAX_INFO_VAL + 1, "%s", name);
}

static inline void mpidynres_retell_name_(const char *name, char *made)
{
    char spelled[MPI_MAX_INFO_VAL + 1];

    mpidynres_retell_(name, spelled);
    spelled[MPI_MAX_INFO_KEY - 1] = '\0';
    strcpy(made, spelled);
}

/* Keys and values; `info` is replaced by a new object. */
static inline int mpidynres_retell_info_(MPI_Info *info)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    char info_key[MPI_MAX_INFO_VAL + 1], info_value[MPI_MAX_INFO_VAL + 1];
    int n = 0, flag, error;
    MPI_Info made = MPI_INFO_NULL;

    error = MPI_Info_create(&made);
    if (!error)
        error = MPI_Info_get_nkeys(*info, &n);
    for (int i = 0; i < n && !error; i++) {
        error = MPI_Info_get_nthkey(*info, i, key);
        if (!error)
            error = MPI_Info_get(*info, key, MPI_MAX_INFO_VAL, value, &flag);
        mpidynres_retell_(key, info_key);
        mpidynres_retell_(value, info_value);
        if (!error)
            error = MPI_Info_set(made, info_key, info_value);
    }
    MPI_Info_free(info);
    *info = made;
    return error;
}

/* Numbers of the manager, by one process of the launch. */
static inline int mpidynres_configure_(MPI_Session handle)
{
    static const char *const keys[] = { "manager_std_dev", "manager_change_prob" };
    char name[MPI_MAX_PSET_NAME_LEN], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info hints = MPI_INFO_NULL, answer = MPI_INFO_NULL;
    int joined = 0, first = 0, given = 0, error;

    mpidynres_manager_config_.is_set = 0;
    error = MPIX_Session_get_default_pset(handle, name, &joined);
    if (!error && !joined)
        error = MPIX_Session_get_primary_process(handle, name, &first);
    if (error || !first)
        return error;
    error = MPI_Info_create(&hints);
    for (int i = 0; i < 2 && !error; i++) {
        int flag = 0;
        error = MPI_Info_get(mpidynres_manager_config_.config, keys[i], MPI_MAX_INFO_VAL, value,
                             &flag);
        if (!error && flag)
            error = MPI_Info_set(hints, keys[i], value);
        given |= flag;
    }
    if (!error && given)
        error = MPIX_Session_add_scheduling_hints(handle, hints, &answer);
    if (answer != MPI_INFO_NULL)
        MPI_Info_free(&answer);
    MPI_Info_free(&hints);
    return error;
}

static inline int mpidynres_session_init_(MPI_Info info, MPI_Errhandler errhandler,
                                          mpidynres_session *session)
{
    MPI_Session handle;
    mpidynres_session opened = (mpidynres_session) malloc(sizeof(*opened));
    int error;

    (void) errhandler;
    *session = NULL;
    if (!opened)
        return MPI_ERR_NO_MEM;
    error = MPI_Session_init(info, MPI_ERRORS_RETURN, &handle);
    if (error) {
        free(opened);
        return error;
    }
    opened->session_id = handle;
    opened->info = MPI_INFO_NULL;
    if (info != MPI_INFO_NULL)
        error = MPI_Info_dup(info, &opened->info);
    *session = opened;
    if (!error && mpidynres_manager_config_.is_set)
        error = mpidynres_configure_(handle);
    return error;
}

static inline int mpidynres_session_finalize_(mpidynres_session *session)
{
    MPI_Session handle;

    if (!*session)
        return 0;
    handle = (*session)->session_id;
    if ((*session)->info != MPI_INFO_NULL)
        MPI_Info_free(&(*session)->info);
    free(*session);
    *session = NULL;
    return MPI_Session_finalize(&handle);
}

static inline int mpidynres_session_get_info_(mpidynres_session session, MPI_Info *info_used)
{
    *info_used = MPI_INFO_NULL;
    return session ? MPI_Session_get_info(session->session_id, info_used) : MPI_ERR_SESSION;
}

static inline int mpidynres_session_get_psets_(mpidynres_session session, MPI_Info info,
                                               MPI_Info *psets)
{
    int error;

    *psets = MPI_INFO_NULL;
    if (!session)
        return MPI_ERR_SESSION;
    error = MPIX_Session_get_psets(session->session_id, info, psets);
    return error ? error : mpidynres_retell_info_(psets);
}

/* Of a set that there is not, MPI_INFO_NULL and no error. */
static inline int mpidynres_session_get_pset_info_(mpidynres_session session, const char *pset_name,
                                                   MPI_Info *info)
{
    int error, error_class;

    *info = MPI_INFO_NULL;
    if (!session)
        return MPI_ERR_SESSION;
    if (!pset_name)
        return MPI_ERR_ARG;
    error = MPI_Session_get_pset_info(session->session_id, pset_name, info);
    if (!error)
        return mpidynres_retell_info_(info);
    *info = MPI_INFO_NULL;
    MPI_Error_class(error, &error_class);
    return error_class == MPI_ERR_ARG ? 0 : error;
}

static inline int mpidynres_group_from_session_pset_(mpidynres_session session,
                                                     const char *pset_name, MPI_Group *newgroup)
{
    *newgroup = MPI_GROUP_EMPTY;
    if (!session)
        return MPI_ERR_SESSION;
    return pset_name ? MPI_Group_from_session_pset(session->session_id, pset_name, newgroup)
        : MPI_ERR_ARG;
}

/* All who call at a time without a tag have the same. */
static inline int mpidynres_comm_create_from_group_(MPI_Group group, const char *stringtag,
                                                    MPI_Info info,
                                                    MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    int error = MPI_Comm_create_from_group(group, stringtag ? stringtag : "mpidynres", info,
                                           MPI_ERRORS_RETURN, newcomm);

    if (!error && *newcomm != MPI_COMM_NULL && errhandler != MPI_ERRHANDLER_NULL)
        error = MPI_Comm_set_errhandler(*newcomm, errhandler);
    return error;
}

/* ---- routines of libmpidynres ---------------------------------------------------------------- */

/* pset_result may be one of the operands. */
static inline int MPIDYNRES_pset_create_op(mpidynres_session session, MPI_Info hints,
                                           const char pset1[],
                                           const char pset2[], MPIDYNRES_pset_op op,
                                               char pset_result[])
{
    const char *operands[2];
    mpidynres_name_ made[1];
    int n = 1, error;

    if (!session)
        return MPI_ERR_SESSION;
    operands[0] = pset1;
    operands[1] = pset2;
    error = MPIX_Session_pset_op(session->session_id,
                                 op == MPIDYNRES_PSET_UNION ? MPIX_PSETOP_UNION :
                                 op == MPIDYNRES_PSET_INTERSECT ? MPIX_PSETOP_INTERSECTION :
                                 MPIX_PSETOP_DIFFERENCE, operands, 2, hints, made, &n);
    mpidynres_retell_name_(error ? "" : made[0], pset_result);
    return error;
}

static inline int MPIDYNRES_pset_free(mpidynres_session session, char pset[])
{
    return session ? MPIX_Session_pset_free(session->session_id, pset) : MPI_ERR_SESSION;
}

/* The answer is MPI_INFO_NULL if hints are not used. */
static inline int MPIDYNRES_add_scheduling_hints(mpidynres_session session, MPI_Info hints,
                                                 MPI_Info *answer)
{
    *answer = MPI_INFO_NULL;
    if (!session)
        return MPI_ERR_SESSION;
    return MPIX_Session_add_scheduling_hints(session->session_id, hints, answer);
}

static inline int MPIDYNRES_RC_get(mpidynres_session session, MPIDYNRES_RC_type *rc_type,
                                   char delta_pset[], MPIDYNRES_RC_tag *tag, MPI_Info *info)
{
    mpidynres_name_ delta = "";
    int type = MPIX_RC_NONE, error;

    *tag = MPIDYNRES_NO_ORIGIN_RC_TAG;
    *info = MPI_INFO_NULL;
    error = session ? MPIX_Session_rc_get(session->session_id, NULL, &type, delta, tag, info)
        : MPI_ERR_SESSION;
    *rc_type = (MPIDYNRES_RC_type) type;
    mpidynres_retell_name_(delta, delta_pset);
    return error;
}

static inline int MPIDYNRES_RC_accept(mpidynres_session session, MPIDYNRES_RC_tag tag,
                                      MPI_Info info)
{
    if (tag == MPIDYNRES_NO_ORIGIN_RC_TAG)
        return MPI_ERR_ARG;     /* nobody has to be asked */
    return session ? MPIX_Session_rc_accept(session->session_id, tag, info) : MPI_ERR_SESSION;
}

/* Ends the program's part of this process: MPIDYNRES_SIM_start returns (mpidynres_sim.h). */
__attribute__((noreturn)) static inline void MPIDYNRES_exit(void)
{
    if (mpidynres_exit_point_.is_set)
        longjmp(mpidynres_exit_point_.to, 1);
    exit(EXIT_SUCCESS);
}

/* Keys and values by turns; kvlist_size counts both. */
static inline int MPIDYNRES_Info_create_strings(size_t kvlist_size, const char *const kvlist[],
                                                MPI_Info *info)
{
    int error;

    *info = MPI_INFO_NULL;
    if (kvlist_size % 2)
        return MPI_ERR_ARG;
    error = MPI_Info_create(info);
    for (size_t i = 0; i < kvlist_size && !error; i += 2)
        error = MPI_Info_set(*info, kvlist[i], kvlist[i + 1]);
    if (error && *info != MPI_INFO_NULL)
        MPI_Info_free(info);
    return error;
}

#ifdef __cplusplus
}
#endif

/* ---- names of MPI with the meaning that they have in libmpidynres ---------------------------- */

#undef MPI_MAX_PSET_NAME_LEN
#define MPI_MAX_PSET_NAME_LEN MPI_MAX_INFO_KEY
#undef MPI_SESSION_NULL
#define MPI_SESSION_NULL ((mpidynres_session) NULL)
#define MPI_Session mpidynres_session
#define MPI_Session_init mpidynres_session_init_
#define MPI_Session_finalize mpidynres_session_finalize_
#define MPI_Session_get_info mpidynres_session_get_info_
#define MPI_Session_get_psets mpidynres_session_get_psets_
#define MPI_Session_get_pset_info mpidynres_session_get_pset_info_
#define MPI_Group_from_session_pset mpidynres_group_from_session_pset_
#define MPI_Comm_create_from_group mpidynres_comm_create_from_group_

#endif /* MPIDYNRES_H */
