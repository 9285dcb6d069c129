/*
 * Lines: connections between single processes of two sides, on which nothing is sent but a
 * farewell.  DN4.
 *
 * A process that ends breaks its lines, in any state, whatever the processes at their other ends
 * do.  The sizes of the sides alone decide which processes have a line with each other: of the side
 * that has more, rank k with the other side's rank k and, round that, k + 1.  So each process has
 * at least one line, and lines are distributed evenly.  A process breaks all its lines when one of
 * them breaks: in the end all processes of both sides are notified.
 *
 * The side of the server listens, or that of the parents: each process has a port for all its
 * connections.  Its business card, the addresses, a secret and the number of the connection, comes
 * to the other side in SIDE (dynproc_link.h).  There each process connects, as a client does; its
 * hello has the number and its rank.  A descriptor for each line, and one that listens.
 */

#ifndef LINES_H_INCLUDED
#define LINES_H_INCLUDED

#include "dynproc_service.h"

struct MPIR_Dynproc_line;

/* The lines of one connection. */
struct MPIR_Dynproc_lines {
    struct MPIR_Dynproc_line *first;
    int making;                 /* are not there yet */
    bool is_broken;             /* one of them was, without a farewell */
    unsigned char number[MPIR_DYNPROC_NUMBER];  /* of who listens */
};

/* NULL: no memory. */
struct MPIR_Dynproc_lines *MPIR_Dynproc_lines_new(void);
/* This process listens for them.  Its business card is empty if it cannot: there are none then. */
void MPIR_Dynproc_lines_listen(struct MPIR_Dynproc_lines *lines, struct MPIR_Dynproc_bc *bc);
/* Begins to make all lines of this process, or all but that between the ranks 0.  bcs: of the other
 * side's processes; NULL: this one listens.  Lines that cannot be made are omitted. */
void MPIR_Dynproc_lines_make(struct MPIR_Dynproc_lines *lines, const MPIR_Comm * comm,
                             bool have_first, const struct MPIR_Dynproc_bc bcs[]);
/* One that is there.  The descriptor is taken over. */
void MPIR_Dynproc_lines_add(struct MPIR_Dynproc_lines *lines, int fd);
/* The descriptor to wait on: an answer to a line that connects, or -1. */
int MPIR_Dynproc_lines_fd(const struct MPIR_Dynproc_lines *lines);
/* The same for a process that listens. */
int MPIR_Dynproc_lines_listen_fd(void);
/* Goes on with those that connect. */
void MPIR_Dynproc_lines_go_on(struct MPIR_Dynproc_lines *lines);
/* Polls the lines of all connections, and new ones. */
void MPIR_Dynproc_lines_poll(void);
void MPIR_Dynproc_lines_end(struct MPIR_Dynproc_lines *lines, bool with_farewell);
/* NULL is none. */
void MPIR_Dynproc_lines_free(struct MPIR_Dynproc_lines *lines, bool with_farewell);

#endif /* LINES_H_INCLUDED */
