/*
 * The part of PMI that src/mpi/connect/connect_board.c uses; board_litmus_process.c defines it.
 */

#ifndef PMI_H_INCLUDED
#define PMI_H_INCLUDED

#define PMI_SUCCESS 0
int PMI_KVS_Get_my_name(char name[], int bytes);

#endif
