/*
 * Names of Gropp and Lusk, Dynamic Process Management in an MPI Setting: MPE_ as its authors announced them, and with
 * -DMPIX_DYN_NAMES (where mpi.h includes this) MPI_ as the paper has them.  doc/dynamic-processes.md.
 */

#ifndef MPE_DYNAMIC_H_INCLUDED
#define MPE_DYNAMIC_H_INCLUDED

#include <mpi.h>

#define MPE_ANYWHERE MPIX_ANYWHERE
#define MPE_COMM_PARENT MPIX_COMM_PARENT
#define MPE_Key_function MPIX_Key_function
#define MPE_Spawn MPIX_Spawn
#define MPE_Client_connect MPIX_Client_connect
#define MPE_Server_connect MPIX_Server_connect
#define MPE_Iaccept MPIX_Iaccept
#define MPE_Iaccept_keyed MPIX_Iaccept_keyed
#define MPE_Icontact MPIX_Icontact
#define MPE_Icontact_keyed MPIX_Icontact_keyed
#define MPE_Get_server_name MPIX_Get_server_name
#define MPE_Remote_attach MPIX_Remote_attach

#ifdef MPIX_DYN_NAMES
#define MPI_ANYWHERE MPIX_ANYWHERE
#define MPI_COMM_PARENT MPIX_COMM_PARENT
#define MPI_Key_function MPIX_Key_function
#define MPI_Spawn MPIX_Spawn
#define MPI_Client_connect MPIX_Client_connect
#define MPI_Server_connect MPIX_Server_connect
#define MPI_Iaccept MPIX_Iaccept
#define MPI_Iaccept_keyed MPIX_Iaccept_keyed
#define MPI_Icontact MPIX_Icontact
#define MPI_Icontact_keyed MPIX_Icontact_keyed
#define MPI_Get_server_name MPIX_Get_server_name
#define MPI_Remote_attach MPIX_Remote_attach
#endif

#endif /* MPE_DYNAMIC_H_INCLUDED */
