/*
 * Lines: connections between single processes of two sides, on which nothing is said but a farewell.  DN4.
 *
 * A process that ends breaks its lines, whatever it was doing, and whatever who is at their other ends does.  Which
 * processes have one with each other is drawn from the sizes of the sides alone: of the side that has more, rank k with
 * the other side's rank k and, round that, k + 1.  So each process has one, nobody has more than his share, and whoever
 * breaks his own when one of them breaks tells all processes of both sides in the end.
 *
 * The side of the server listens, or that of the parents: each process has a port for all its connections.  Its card,
 * the addresses, a secret and a number that says which connection it is, comes to the other side in SIDE
 * (dynproc_link.h).  There each process connects, as a client does; its hello has the number and its rank.  A
 * descriptor for each line, and one that listens.
 */

#ifndef LINES_H_INCLUDED
#define LINES_H_INCLUDED

#include "dynproc_service.h"

struct MPIR_Dynproc_line;

/* Those of one connection. */
struct MPIR_Dynproc_lines {
    struct MPIR_Dynproc_line *first;
    int making;                 /* are not there yet */
    bool is_broken;             /* one of them was, without a farewell */
    unsigned char number[MPIR_DYNPROC_NUMBER];  /* of who listens */
};

/* NULL: no memory. */
struct MPIR_Dynproc_lines *MPIR_Dynproc_lines_new(void);
/* This process listens for them.  Its card is empty if it cannot: there are none then. */
void MPIR_Dynproc_lines_listen(struct MPIR_Dynproc_lines *lines, struct MPIR_Dynproc_card *card);
/* Begins to make all lines of this process, or all but that between the ranks 0.  cards: of the other side's processes;
 * NULL: this one listens.  What cannot be had there is not. */
void MPIR_Dynproc_lines_make(struct MPIR_Dynproc_lines *lines, const MPIR_Comm * comm, bool have_first,
                             const struct MPIR_Dynproc_card cards[]);
/* One that is there.  The descriptor is taken over. */
void MPIR_Dynproc_lines_add(struct MPIR_Dynproc_lines *lines, int fd);
/* What wakes who waits for them: an answer to one that connects, or -1. */
int MPIR_Dynproc_lines_fd(const struct MPIR_Dynproc_lines *lines);
/* The same for who listens. */
int MPIR_Dynproc_lines_listen_fd(void);
/* Goes on with those that connect. */
void MPIR_Dynproc_lines_go_on(struct MPIR_Dynproc_lines *lines);
/* Looks at those that are there, and at who comes, of all connections. */
void MPIR_Dynproc_lines_look(void);
void MPIR_Dynproc_lines_end(struct MPIR_Dynproc_lines *lines, bool with_farewell);
/* NULL is none. */
void MPIR_Dynproc_lines_free(struct MPIR_Dynproc_lines *lines, bool with_farewell);

#endif /* LINES_H_INCLUDED */
