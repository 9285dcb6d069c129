/*
 * For ibcast_tsp_scatterv_allgatherv.c: the positions of the data of processes that are consecutive
 * in the tree.  The tree counts from the root, the blocks of the data are in the order of ranks, so
 * the blocks of a subtree may be at the end of the data and at their beginning.
 */

#ifndef BCAST_BLOCKS_H_INCLUDED
#define BCAST_BLOCKS_H_INCLUDED

#include "mpiimpl.h"

struct MPII_Bcast_piece {
    MPI_Aint start, bytes;
};

/* The pieces of n processes, from number `first` of the tree on; returns the number of pieces with
 * data. */
static inline int MPII_Bcast_blocks(int first, int n, int root, int size, const MPI_Aint * counts,
                                    const MPI_Aint * displs, struct MPII_Bcast_piece pieces[2])
{
    int n_pieces = 0, rank = (first + root) % size;

    while (n > 0) {
        const int end = MPL_MIN(rank + n, size);
        MPI_Aint bytes = 0;
        for (int i = rank; i < end; i++)
            bytes += counts[i];
        if (bytes > 0) {
            pieces[n_pieces].start = displs[rank];
            pieces[n_pieces++].bytes = bytes;
        }
        n -= end - rank;
        rank = 0;
    }
    return n_pieces;
}

#endif /* BCAST_BLOCKS_H_INCLUDED */
