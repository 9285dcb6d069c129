/*
 * The binary contract of process sets and of dynamic process management: types of arguments in
 * their order, PMPI names, values; and the published names, which are inline code and macros.  Most
 * of it fails to compile if it does not hold.
 */

#define MPIX_DYN_NAMES
#include "elastic_test.h"

typedef char (*names)[MPI_MAX_PSET_NAME_LEN];
typedef const char *const *texts;

#define IS(name, ...) \
    _Static_assert(_Generic(name, int (*) (__VA_ARGS__): 1, default: 0), #name)
#define OURS(name, ...) \
    IS(name, __VA_ARGS__); \
    IS(P##name, __VA_ARGS__)
#define VALUE(name, value) _Static_assert((name) == (value), #name)

/* ---- sets ------------------------------------------------------------------------------------ */

VALUE(MPI_MAX_PSET_NAME_LEN, 256);
VALUE(MPIX_RC_NONE, 0);
VALUE(MPIX_RC_ADD, 1);
VALUE(MPIX_RC_SUB, 2);
VALUE(MPIX_PSETOP_NULL, 0);
VALUE(MPIX_PSETOP_ADD, 1);
VALUE(MPIX_PSETOP_SUB, 2);
VALUE(MPIX_PSETOP_REPLACE, 3);
VALUE(MPIX_PSETOP_MALLEABLE, 4);
VALUE(MPIX_PSETOP_GROW, 5);
VALUE(MPIX_PSETOP_SHRINK, 6);
VALUE(MPIX_PSETOP_UNION, 7);
VALUE(MPIX_PSETOP_DIFFERENCE, 8);
VALUE(MPIX_PSETOP_INTERSECTION, 9);
VALUE(MPIX_PSETOP_SPLIT, 10);

OURS(MPIX_Session_get_psets, MPI_Session, MPI_Info, MPI_Info *);
OURS(MPIX_Session_get_default_pset, MPI_Session, char *, int *);
OURS(MPIX_Session_get_primary_process, MPI_Session, const char *, int *);
OURS(MPIX_Session_pset_op, MPI_Session, int, texts, int, MPI_Info, names, int *);
OURS(MPIX_Session_pset_from_group, MPI_Session, MPI_Group, MPI_Info, char *);
OURS(MPIX_Session_pset_move, MPI_Session, const char *, const char *);
OURS(MPIX_Session_pset_free, MPI_Session, const char *);
OURS(MPIX_Session_pset_included, MPI_Session, const char *, int *);
OURS(MPIX_Session_pset_exists, MPI_Session, const char *, int *, MPI_Info *);
OURS(MPIX_Session_set_pset_data, MPI_Session, const char *, MPI_Info);
OURS(MPIX_Session_get_pset_data, MPI_Session, const char *, const char *, texts, int, int,
     MPI_Info *);
OURS(MPIX_Session_iget_pset_data, MPI_Session, const char *, const char *, texts, int, int,
     MPI_Info *, MPI_Request *);
OURS(MPIX_Session_bcast_pset_info, MPI_Session, const char *, char *, int, int);
OURS(MPIX_Session_rc_test, MPI_Session, const char *, int *);
OURS(MPIX_Session_rc_get, MPI_Session, const char *, int *, char *, int *, MPI_Info *);
OURS(MPIX_Session_rc_accept, MPI_Session, int, MPI_Info);
OURS(MPIX_Session_rc_decline, MPI_Session, int);
OURS(MPIX_Session_add_scheduling_hints, MPI_Session, MPI_Info, MPI_Info *);
OURS(MPIX_Win_create_from_group, MPI_Group, const char *, void *, MPI_Aint, int, MPI_Info,
     MPI_Errhandler, MPI_Win *);
OURS(MPIX_Win_allocate_from_group, MPI_Group, const char *, MPI_Aint, int, MPI_Info, MPI_Errhandler,
     void *, MPI_Win *);
OURS(MPIX_Win_allocate_shared_from_group, MPI_Group, const char *, MPI_Aint, int, MPI_Info,
     MPI_Errhandler, void *, MPI_Win *);
OURS(MPIX_Win_create_dynamic_from_group, MPI_Group, const char *, MPI_Info, MPI_Errhandler,
     MPI_Win *);
OURS(MPIX_File_open_from_group, MPI_Group, const char *, const char *, int, MPI_Info,
     MPI_Errhandler, MPI_File *);

/* ---- SC4: the proposal ----------------------------------------------------------------------- */

VALUE(MPI_RC_NONE, 0);
VALUE(MPI_RC_ADD, 1);
VALUE(MPI_RC_SUB, 2);
VALUE(MPI_PSET_OP_UNION, 7);
VALUE(MPI_PSET_OP_DIFFERENCE, 8);
VALUE(MPI_PSET_OP_INTERSECTION, 9);

IS(MPI_Session_create, MPI_Session *);
IS(MPI_Session_get_default_pset, char *, int *);
IS(MPI_Session_get_primary_process, const char *, int *);
IS(MPI_Session_Set_PSet_Info, MPI_Session, const char *, MPI_Info);
IS(MPI_Session_Get_PSet_Info, MPI_Session, const char *, MPI_Info *);
IS(MPI_Session_Dyn_Test_res_change, MPI_Session, const char *, int *);
IS(MPI_Session_Dyn_Recv_res_change, MPI_Session, const char *, int *, char *, int *);
IS(MPI_Session_Dyn_pset_create_op, MPI_Session, int, texts, char *);
IS(MPI_Session_Dyn_pset_move, const char *, const char *);
IS(MPI_Session_Dyn_pset_delete, const char *);
IS(MPI_Session_bcast_PSet_info, const char *, char *, int);
IS(MPI_Session_Pset_IsProcessIncluded, const char *);
IS(MPI_Session_Test_Exists, const char *, int *, MPI_Info *);

/* ---- SC5: v2a -------------------------------------------------------------------------------- */

VALUE(MPI_PSETOP_NULL, 0);
VALUE(MPI_PSETOP_ADD, 1);
VALUE(MPI_PSETOP_SUB, 2);
VALUE(MPI_PSETOP_REPLACE, 3);
VALUE(MPI_PSETOP_MALLEABLE, 4);
VALUE(MPI_PSETOP_GROW, 5);
VALUE(MPI_PSETOP_SHRINK, 6);
VALUE(MPI_PSETOP_UNION, 7);
VALUE(MPI_PSETOP_DIFFERENCE, 8);
VALUE(MPI_PSETOP_INTERSECTION, 9);
VALUE(MPI_PSETOP_SPLIT, 10);

IS(MPI_Session_dyn_v2a_psetop, MPI_Session, int *, char **, int, char ***, int *, MPI_Info);
IS(MPI_Session_dyn_v2a_psetop_nb, MPI_Session, int *, char **, int, char ***, int *, MPI_Info,
   MPI_Request *);
IS(MPI_Session_dyn_v2a_query_psetop, MPI_Session, char *, char *, int *, char ***, int *);
IS(MPI_Session_dyn_v2a_query_psetop_nb, MPI_Session, char *, char *, int *, char ***, int *,
   MPI_Request *);
IS(MPI_Session_dyn_finalize_psetop, MPI_Session, char *);
IS(MPI_Session_get_pset_data, MPI_Session, char *, char *, char **, int, int, MPI_Info *);
IS(MPI_Session_get_pset_data_nb, MPI_Session, char *, char *, char **, int, int, MPI_Info *,
   MPI_Request *);
IS(MPI_Session_set_pset_data, MPI_Session, const char *, MPI_Info);

/* ---- dynamic process management -------------------------------------------------------------- */

VALUE(MPIX_SOFT, 0);
VALUE(MPIX_HARD, 1);
VALUE(MPIX_SPAWN_SOFT, 1);
VALUE(MPIX_STAGE_ALLOCATED, 1);
VALUE(MPIX_STAGE_STARTED, 2);
VALUE(MPIX_STAGE_EXITED, 3);
VALUE(MPIX_PROC_RUNNING, -1);

OURS(MPIX_Comm_modify, MPI_Comm, int, MPI_Comm *);
OURS(MPIX_Spawn, MPI_Comm, int, const char *, int, texts, const char *, char *const *, int,
     MPI_Comm *);
OURS(MPIX_Client_connect, MPI_Comm, const char *, MPI_Comm *);
OURS(MPIX_Server_connect, MPI_Comm, const char *, MPI_Comm *);
OURS(MPIX_Iallocate, int, const char *, texts, const char *, texts, int, MPI_Request *);
OURS(MPIX_Set_exec, MPI_Request, const char *);
OURS(MPIX_Set_args, MPI_Request, char *const *);
OURS(MPIX_Get_nodename, MPI_Request, char *);
OURS(MPIX_Get_jsinfo, MPI_Request, char *);
OURS(MPIX_Get_stage, const MPI_Status *, int *);
OURS(MPIX_Get_return_code, const MPI_Status *, int *);
OURS(MPIX_Comm_parent_create, MPI_Comm, int, const MPI_Request *, MPI_Comm *);
OURS(MPIX_Signal, int, int, const MPI_Request *);
OURS(MPIX_Iaccept, MPI_Comm, const char *, int, MPI_Request *);
OURS(MPIX_Iaccept_keyed, MPI_Comm, const char *, MPIX_Key_function *, void *, int, MPI_Request *);
OURS(MPIX_Icontact, MPI_Comm, const char *, MPI_Request *);
OURS(MPIX_Icontact_keyed, MPI_Comm, const char *, const void *, int, MPI_Request *);
OURS(MPIX_Get_server_name, const char *, char *);
OURS(MPIX_Remote_attach, MPI_Comm, int, MPI_Request *, MPI_Comm *);
IS((MPIX_Key_function *) 0, const void *, int, void *);

/* The paper's names are these, by mpi.h itself, and those with MPE_. */
#define ALSO(name) \
    _Static_assert(_Generic(MPI_##name, __typeof__(&MPIX_##name): 1, default: 0), "MPI_" #name); \
    _Static_assert(_Generic(MPE_##name, __typeof__(&MPIX_##name): 1, default: 0), "MPE_" #name)
#define ALSO_VALUE(name) \
    VALUE(MPI_##name, MPIX_##name); \
    VALUE(MPE_##name, MPIX_##name)

ALSO(Comm_modify);
ALSO(Spawn);
ALSO(Client_connect);
ALSO(Server_connect);
ALSO(Iallocate);
ALSO(Set_exec);
ALSO(Set_args);
ALSO(Get_nodename);
ALSO(Get_jsinfo);
ALSO(Get_stage);
ALSO(Get_return_code);
ALSO(Comm_parent_create);
ALSO(Signal);
ALSO(Iaccept);
ALSO(Iaccept_keyed);
ALSO(Icontact);
ALSO(Icontact_keyed);
ALSO(Get_server_name);
ALSO(Remote_attach);
ALSO_VALUE(SOFT);
ALSO_VALUE(HARD);
ALSO_VALUE(STAGE_ALLOCATED);
ALSO_VALUE(STAGE_STARTED);
ALSO_VALUE(STAGE_EXITED);
ALSO_VALUE(PROC_RUNNING);

/* The new classes, each of its own. */
static void check_classes(void)
{
    const int classes[] =
        { MPIX_ERR_INVALID_SIGNAL, MPIX_ERR_ALLOCATE, MPIX_ERR_KEY, MPIX_ERR_EAGAIN };

    for (int i = 0; i < 4; i++) {
        int class;
        ET_MPI(MPI_Error_class(classes[i], &class));
        ET_CHECK(class == classes[i], "class %d is %d", classes[i], class);
        for (int j = 0; j < i; j++)
            ET_CHECK(classes[i] != classes[j], "two classes are %d", classes[i]);
    }
}

int main(int argc, char **argv)
{
    ET_MPI(MPI_Init(&argc, &argv));
    check_classes();
    ET_CHECK(!strcmp(MPIX_ANYWHERE, "*") && !strcmp(MPI_ANYWHERE, "*") &&
             !strcmp(MPE_ANYWHERE, "*"), "anywhere");
    ET_CHECK(MPIX_COMM_PARENT == MPI_COMM_NULL && MPI_COMM_PARENT == MPIX_Comm_parent() &&
             MPE_COMM_PARENT == PMPIX_Comm_parent(), "a parent");
    et_log("PASS contract");
    ET_MPI(MPI_Finalize());
    return 0;
}
