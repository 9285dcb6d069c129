/*
 * Data with gaps: exchanges, requests of one-sided operations, a cancelled receive.  Cases of
 * objects.c.
 */

#ifndef OBJECTS_GAPS_H_INCLUDED
#define OBJECTS_GAPS_H_INCLUDED

#include "elastic_test.h"

/* ---- exchanges of data with gaps ------------------------------------------------------------- */

static void fill(int *data, int length, int from)
{
    for (int i = 0; i < length; i++)
        data[i] = from + i;
}

/* Every second integer is exchanged; the others stay. */
static void exchange(void)
{
    enum { LENGTH = 20 };
    int data[LENGTH], sent[LENGTH], partner = et.size - 1 - et.rank;
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype type, again;

    for (int round = 0; round < 10; round++) {
        ET_MPI(MPI_Type_vector(LENGTH / 2, 1, 2, MPI_INT, &type));
        ET_MPI(MPI_Type_commit(&type));
        fill(data, LENGTH, 1000 * (et.rank + 1));
        fill(sent, LENGTH, 1000 * (et.rank + 1));
        memset(&status, 0x55, sizeof(status));
        if (round % 2)
            ET_MPI(MPI_Isendrecv_replace(data, 1, type, partner, 7, partner, 7, MPI_COMM_WORLD,
                                         &request));
        else
            ET_MPI(MPI_Isendrecv(sent, 1, type, partner, 7, data, 1, type, partner, 7,
                                 MPI_COMM_WORLD, &request));
        /* the type lives as long as it is needed */
        ET_MPI(MPI_Type_dup(type, &again));
        ET_MPI(MPI_Type_free(&type));
        ET_MPI(MPI_Wait(&request, &status));
        ET_CHECK(status.MPI_SOURCE == partner &&
                 status.MPI_TAG == 7, "source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
        for (int i = 0; i < LENGTH; i++) {
            int expected = 1000 * ((i % 2 ? et.rank : partner) + 1) + i;
            ET_CHECK(data[i] == expected, "round %d, element %d is %d, not %d", round, i, data[i],
                     expected);
        }
        /* it still works */
        ET_MPI(MPI_Sendrecv(sent, 1, again, partner, 8, data, 1, again, partner, 8, MPI_COMM_WORLD,
                            &status));
        ET_MPI(MPI_Type_free(&again));
    }
}

/* ---- requests of one-sided operations on data with gaps -------------------------------------- */

/* After Wait the data of Rget is there, and the buffer of Rput may be used again. */
static void rma_requests(void)
{
    enum { INTS = 3000 };
    int *memory, *data = malloc(2 * INTS * sizeof(int)), partner = et.size - 1 - et.rank;
    MPI_Win win;
    MPI_Datatype gaps;
    MPI_Request request;

    ET_MPI(MPI_Win_allocate(4 * INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                            &memory, &win));
    ET_MPI(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 40; round++) {
        int ints = round % 4 == 0 ? 3 : INTS, shift = round % 2 ? 0 : 2 * INTS;
        ET_MPI(MPI_Type_vector(ints, 1, 2, MPI_INT, &gaps));
        ET_MPI(MPI_Type_commit(&gaps));
        fill(memory, 4 * INTS, 100 * round + 10000000 * et.rank);
        ET_MPI(MPI_Win_sync(win));
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        fill(data, 2 * INTS, -2 * INTS);
        if (round % 3)
            ET_MPI(MPI_Rget(data, 1, gaps, partner, shift, 1, gaps, win, &request));
        else
            ET_MPI(MPI_Rget(data, ints, MPI_INT, partner, shift, 1, gaps, win, &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < ints; i++) {
            int got = data[round % 3 ? 2 * i : i], expected =
                100 * round + 10000000 * partner + shift + 2 * i;
            ET_CHECK(got == expected, "round %d: element %d is %d, not %d", round, i, got,
                     expected);
        }
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        fill(data, 2 * INTS, 7000 * round);
        ET_MPI(MPI_Rput(data, 1, gaps, partner, shift, 1, gaps, win, &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        fill(data, 2 * INTS, -2 * INTS);
        ET_MPI(MPI_Win_flush(partner, win));
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        ET_MPI(MPI_Win_sync(win));
        for (int i = 0; i < ints; i++)
            ET_CHECK(memory[shift + 2 * i] == 7000 * round + 2 * i,
                     "round %d: element %d is %d, not %d", round, i, memory[shift + 2 * i],
                     7000 * round + 2 * i);
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        ET_MPI(MPI_Type_free(&gaps));
    }
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_free(&win));
    free(data);
}

/* ---- a cancelled receive of a type with gaps takes no memory --------------------------------- */

static long virtual_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    ET_CHECK(f && fscanf(f, "%ld", &pages) == 1, "no /proc/self/statm");
    fclose(f);
    return pages;
}

static void cancelled(void)
{
    enum { ROUNDS = 200, INTS = 1 << 18 };
    int *data = malloc(2 * INTS * sizeof(int)), flag;
    long before = 0, after;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;

    ET_MPI(MPI_Type_vector(INTS, 1, 2, MPI_INT, &type));
    ET_MPI(MPI_Type_commit(&type));
    for (int round = 0; round < ROUNDS; round++) {
        if (round == 10)
            before = virtual_pages();
        ET_MPI(MPI_Irecv(data, 1, type, et.size - 1 - et.rank, 99, MPI_COMM_WORLD, &request));
        ET_MPI(MPI_Cancel(&request));
        ET_MPI(MPI_Wait(&request, &status));
        ET_MPI(MPI_Test_cancelled(&status, &flag));
        ET_CHECK(flag, "round %d is not cancelled", round);
    }
    /* one buffer has a megabyte */
    after = virtual_pages();
    ET_CHECK((after - before) * 4096 < 50L << 20, "%ld pages more", after - before);
    ET_MPI(MPI_Type_free(&type));
    free(data);
}

#endif /* OBJECTS_GAPS_H_INCLUDED */
