/*
 * Functions that the Fortran modules of libmpidynres and of v2a call (dynres.F90, session_dyn.F90):
 * the inline code of the headers, with Fortran handles and names that end with a 0.  Returned names
 * have space for NAME_LEN characters.  SC3.
 */

#include <mpi_session_dyn.h>

typedef MPI_Session plain_session;      /* before it is hidden */
enum { NAME_LEN = MPI_MAX_PSET_NAME_LEN };

#include <mpidynres_sim.h>

/* ---- libmpidynres ---------------------------------------------------------------------------- */

int mpidynres_f_session_init(const MPI_Fint *info, const MPI_Fint *errhandler,
                             MPI_Session *session);
int mpidynres_f_session_finalize(MPI_Session *session);
int mpidynres_f_session_get_info(const MPI_Session *session, MPI_Fint *info);
int mpidynres_f_session_get_psets(const MPI_Session *session, const MPI_Fint *info,
                                  MPI_Fint *psets);
int mpidynres_f_session_get_pset_info(const MPI_Session *session, const char *name, MPI_Fint *info);
int mpidynres_f_group_from_pset(const MPI_Session *session, const char *name, MPI_Fint *group);
int mpidynres_f_comm_from_group(const MPI_Fint *group, const char *tag, const MPI_Fint *info,
                                const MPI_Fint *errhandler, MPI_Fint *comm);
int mpidynres_f_pset_create_op(const MPI_Session *session, const MPI_Fint *hints,
                               const char *pset1, const char *pset2, const int *op, char *result);
int mpidynres_f_pset_free(const MPI_Session *session, char *name);
int mpidynres_f_add_scheduling_hints(const MPI_Session *session, const MPI_Fint *hints,
                                     MPI_Fint *answer);
int mpidynres_f_rc_get(const MPI_Session *session, int *type, char *delta, int *tag,
                       MPI_Fint *info);
int mpidynres_f_rc_accept(const MPI_Session *session, const int *tag, const MPI_Fint *info);
void mpidynres_f_exit(void);
int mpidynres_f_sim_start(const MPI_Fint *comm, const MPI_Fint *info, void (*program)(void));

int mpidynres_f_session_init(const MPI_Fint *info, const MPI_Fint *errhandler, MPI_Session *session)
{
    return MPI_Session_init(MPI_Info_f2c(*info), MPI_Errhandler_f2c(*errhandler), session);
}

int mpidynres_f_session_finalize(MPI_Session *session)
{
    return MPI_Session_finalize(session);
}

int mpidynres_f_session_get_info(const MPI_Session *session, MPI_Fint *info)
{
    MPI_Info found;
    int error = MPI_Session_get_info(*session, &found);

    *info = MPI_Info_c2f(found);
    return error;
}

int mpidynres_f_session_get_psets(const MPI_Session *session, const MPI_Fint *info, MPI_Fint *psets)
{
    MPI_Info found;
    int error = MPI_Session_get_psets(*session, MPI_Info_f2c(*info), &found);

    *psets = MPI_Info_c2f(found);
    return error;
}

int mpidynres_f_session_get_pset_info(const MPI_Session *session, const char *name, MPI_Fint *info)
{
    MPI_Info found;
    int error = MPI_Session_get_pset_info(*session, name, &found);

    *info = MPI_Info_c2f(found);
    return error;
}

int mpidynres_f_group_from_pset(const MPI_Session *session, const char *name, MPI_Fint *group)
{
    MPI_Group found;
    int error = MPI_Group_from_session_pset(*session, name, &found);

    *group = MPI_Group_c2f(found);
    return error;
}

int mpidynres_f_comm_from_group(const MPI_Fint *group, const char *tag, const MPI_Fint *info,
                                const MPI_Fint *errhandler, MPI_Fint *comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    int error = MPI_Comm_create_from_group(MPI_Group_f2c(*group), tag, MPI_Info_f2c(*info),
                                           MPI_Errhandler_f2c(*errhandler), &made);

    *comm = MPI_Comm_c2f(made);
    return error;
}

int mpidynres_f_pset_create_op(const MPI_Session *session, const MPI_Fint *hints,
                               const char *pset1, const char *pset2, const int *op, char *result)
{
    return MPIDYNRES_pset_create_op(*session, MPI_Info_f2c(*hints), pset1, pset2,
                                    (MPIDYNRES_pset_op) * op, result);
}

int mpidynres_f_pset_free(const MPI_Session *session, char *name)
{
    return MPIDYNRES_pset_free(*session, name);
}

int mpidynres_f_add_scheduling_hints(const MPI_Session *session, const MPI_Fint *hints,
                                     MPI_Fint *answer)
{
    MPI_Info accepted;
    int error = MPIDYNRES_add_scheduling_hints(*session, MPI_Info_f2c(*hints), &accepted);

    *answer = MPI_Info_c2f(accepted);
    return error;
}

int mpidynres_f_rc_get(const MPI_Session *session, int *type, char *delta, int *tag, MPI_Fint *info)
{
    MPIDYNRES_RC_type kind;
    MPI_Info described;
    int error = MPIDYNRES_RC_get(*session, &kind, delta, tag, &described);

    *type = kind;
    *info = MPI_Info_c2f(described);
    return error;
}

int mpidynres_f_rc_accept(const MPI_Session *session, const int *tag, const MPI_Fint *info)
{
    return MPIDYNRES_RC_accept(*session, *tag, MPI_Info_f2c(*info));
}

void mpidynres_f_exit(void)
{
    MPIDYNRES_exit();
}

static void (*program_of_sim)(void);

static int run_program(int argc, char **argv)
{
    (void) argc, (void) argv;
    program_of_sim();
    return 0;
}

int mpidynres_f_sim_start(const MPI_Fint *comm, const MPI_Fint *info, void (*program)(void))
{
    MPIDYNRES_SIM_config config = { MPI_Comm_f2c(*comm), MPI_Info_f2c(*info) };

    program_of_sim = program;
    return MPIDYNRES_SIM_start(config, 0, NULL, run_program);
}

/* ---- v2a ------------------------------------------------------------------------------------- */

typedef char name[NAME_LEN];

int mpi_session_dyn_f_psetop(const MPI_Fint *session, int *op, name inputs[], const int *ninput,
                             name outputs[], int *noutput, const MPI_Fint *info);
int mpi_session_dyn_f_query(const MPI_Fint *session, char *coll_pset, char *pset, int *op,
                            name outputs[], int *noutput);
int mpi_session_dyn_f_finalize(const MPI_Fint *session, char *pset);
int mpi_session_dyn_f_get_data(const MPI_Fint *session, char *coll_pset, char *pset, name keys[],
                               const int *nkeys, const int *wait, MPI_Fint *info);
int mpi_session_dyn_f_set_data(const MPI_Fint *session, const char *pset, const MPI_Fint *info);

/* NULL: out of memory. */
static char **addresses_of(name names[], int n)
{
    char **addresses = malloc((n > 0 ? (size_t) n : 1) * sizeof(*addresses));

    for (int i = 0; i < n && addresses; i++)
        addresses[i] = names[i];
    return addresses;
}

/* Copies as many names as there is space for, and frees their memory. */
static void take(char **made, int n, name outputs[], int *noutput)
{
    for (int i = 0; i < n; i++) {
        if (i < *noutput)
            strcpy(outputs[i], made[i]);
        free(made[i]);
    }
    free(made);
    *noutput = n;
}

int mpi_session_dyn_f_psetop(const MPI_Fint *session, int *op, name inputs[], const int *ninput,
                             name outputs[], int *noutput, const MPI_Fint *info)
{
    char **names = addresses_of(inputs, *ninput), **made;
    int n, error = MPI_ERR_NO_MEM;

    if (names)
        error = MPI_Session_dyn_v2a_psetop((plain_session) *session, op, names, *ninput, &made, &n,
                                           MPI_Info_f2c(*info));
    if (!error)
        take(made, n, outputs, noutput);
    free(names);
    return error;
}

int mpi_session_dyn_f_query(const MPI_Fint *session, char *coll_pset, char *pset, int *op,
                            name outputs[], int *noutput)
{
    char **made;
    int n, error =
        MPI_Session_dyn_v2a_query_psetop((plain_session) * session, coll_pset, pset, op, &made, &n);

    if (!error)
        take(made, n, outputs, noutput);
    return error;
}

int mpi_session_dyn_f_finalize(const MPI_Fint *session, char *pset)
{
    return MPI_Session_dyn_finalize_psetop((plain_session) *session, pset);
}

int mpi_session_dyn_f_get_data(const MPI_Fint *session, char *coll_pset, char *pset, name keys[],
                               const int *nkeys, const int *wait, MPI_Fint *info)
{
    char **names = addresses_of(keys, *nkeys);
    MPI_Info found = MPI_INFO_NULL;
    int error = MPI_ERR_NO_MEM;

    if (names)
        error =
            MPI_Session_get_pset_data((plain_session) * session, coll_pset, pset, names, *nkeys,
                                      *wait, &found);
    *info = MPI_Info_c2f(found);
    free(names);
    return error;
}

int mpi_session_dyn_f_set_data(const MPI_Fint *session, const char *pset, const MPI_Fint *info)
{
    return MPI_Session_set_pset_data((plain_session) *session, pset, MPI_Info_f2c(*info));
}
