/*
 * Names of Gropp and Lusk, Dynamic Process Management in an MPI Setting: MPE_ as its authors
 * announced them, and with -DMPIX_DYN_NAMES (where mpi.h includes this) MPI_ as the paper has them.
 * doc/user/dynamic-processes.md.
 */

#ifndef MPE_DYNAMIC_H_INCLUDED
#define MPE_DYNAMIC_H_INCLUDED

#include <mpi.h>

#define MPE_ANYWHERE MPIX_ANYWHERE
#define MPE_COMM_PARENT MPIX_COMM_PARENT
#define MPE_Key_function MPIX_Key_function
#define MPE_Comm_modify MPIX_Comm_modify
#define MPE_Spawn MPIX_Spawn
#define MPE_Client_connect MPIX_Client_connect
#define MPE_Server_connect MPIX_Server_connect
#define MPE_Iaccept MPIX_Iaccept
#define MPE_Iaccept_keyed MPIX_Iaccept_keyed
#define MPE_Icontact MPIX_Icontact
#define MPE_Icontact_keyed MPIX_Icontact_keyed
#define MPE_Get_server_name MPIX_Get_server_name
#define MPE_Remote_attach MPIX_Remote_attach
#define MPE_SOFT MPIX_SOFT
#define MPE_HARD MPIX_HARD
#define MPE_STAGE_ALLOCATED MPIX_STAGE_ALLOCATED
#define MPE_STAGE_STARTED MPIX_STAGE_STARTED
#define MPE_STAGE_EXITED MPIX_STAGE_EXITED
#define MPE_PROC_RUNNING MPIX_PROC_RUNNING
#define MPE_Iallocate MPIX_Iallocate
#define MPE_Set_exec MPIX_Set_exec
#define MPE_Set_args MPIX_Set_args
#define MPE_Get_nodename MPIX_Get_nodename
#define MPE_Get_jsinfo MPIX_Get_jsinfo
#define MPE_Get_stage MPIX_Get_stage
#define MPE_Get_return_code MPIX_Get_return_code
#define MPE_Signal MPIX_Signal
#define MPE_Comm_parent_create MPIX_Comm_parent_create

#ifdef MPIX_DYN_NAMES
#define MPI_ANYWHERE MPIX_ANYWHERE
#define MPI_COMM_PARENT MPIX_COMM_PARENT
#define MPI_Key_function MPIX_Key_function
#define MPI_Comm_modify MPIX_Comm_modify
#define MPI_Spawn MPIX_Spawn
#define MPI_Client_connect MPIX_Client_connect
#define MPI_Server_connect MPIX_Server_connect
#define MPI_Iaccept MPIX_Iaccept
#define MPI_Iaccept_keyed MPIX_Iaccept_keyed
#define MPI_Icontact MPIX_Icontact
#define MPI_Icontact_keyed MPIX_Icontact_keyed
#define MPI_Get_server_name MPIX_Get_server_name
#define MPI_Remote_attach MPIX_Remote_attach
#define MPI_SOFT MPIX_SOFT
#define MPI_HARD MPIX_HARD
#define MPI_STAGE_ALLOCATED MPIX_STAGE_ALLOCATED
#define MPI_STAGE_STARTED MPIX_STAGE_STARTED
#define MPI_STAGE_EXITED MPIX_STAGE_EXITED
#define MPI_PROC_RUNNING MPIX_PROC_RUNNING
#define MPI_Iallocate MPIX_Iallocate
#define MPI_Set_exec MPIX_Set_exec
#define MPI_Set_args MPIX_Set_args
#define MPI_Get_nodename MPIX_Get_nodename
#define MPI_Get_jsinfo MPIX_Get_jsinfo
#define MPI_Get_stage MPIX_Get_stage
#define MPI_Get_return_code MPIX_Get_return_code
#define MPI_Signal MPIX_Signal
#define MPI_Comm_parent_create MPIX_Comm_parent_create
#endif

#endif /* MPE_DYNAMIC_H_INCLUDED */
