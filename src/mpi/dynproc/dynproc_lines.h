/*
 * Lines: connections between single processes of two sides, on which only a farewell is sent.  DN4.
 *
 * A process that ends breaks its lines, in any state of its peers.  The pairs of processes with a
 * line depend only on the sizes of the sides: rank k of the larger side has lines with the ranks k
 * and k + 1 of the other side, modulo its size.  So each process has at least one line, and lines
 * are distributed evenly.  A process breaks all its lines when one of them breaks: in the end all
 * processes of both sides are notified.
 *
 * The side of the server, or of the parents, listens: each process has a port for all its
 * connections.  Its business card has its addresses, a secret and the number of the connection;
 * SIDE transfers it to the other side (dynproc_link.h).  There each process connects, as a client
 * does; its hello has the number and its rank.  A process needs a descriptor for each line, and one
 * that listens.
 */

#ifndef LINES_H_INCLUDED
#define LINES_H_INCLUDED

#include "dynproc_service.h"

struct MPIR_Dynproc_line;

/* The lines of one connection. */
struct MPIR_Dynproc_lines {
    struct MPIR_Dynproc_line *first;
    int making;                 /* number of lines that do not exist yet */
    bool is_broken;             /* one of them broke without a farewell */
    unsigned char number[MPIR_DYNPROC_NUMBER];  /* number of the listening process */
};

/* NULL: out of memory. */
struct MPIR_Dynproc_lines *MPIR_Dynproc_lines_new(void);
/* This process listens for lines.  Its business card is empty if it cannot listen: it has no lines
 * then. */
void MPIR_Dynproc_lines_listen(struct MPIR_Dynproc_lines *lines, struct MPIR_Dynproc_bc *bc);
/* Begins to make all lines of this process, or all except the line between the ranks 0.  bcs:
 * business cards of the other side's processes; NULL: this side listens.  Lines that cannot be made
 * are omitted. */
void MPIR_Dynproc_lines_make(struct MPIR_Dynproc_lines *lines, const MPIR_Comm * comm,
                             bool have_first, const struct MPIR_Dynproc_bc bcs[]);
/* Adds an existing line; the callee owns the descriptor. */
void MPIR_Dynproc_lines_add(struct MPIR_Dynproc_lines *lines, int fd);
/* The descriptor to wait on, for the reply to a connecting line; or -1. */
int MPIR_Dynproc_lines_fd(const struct MPIR_Dynproc_lines *lines);
/* The same for a process that listens. */
int MPIR_Dynproc_lines_listen_fd(void);
/* Continues with the lines that connect. */
void MPIR_Dynproc_lines_go_on(struct MPIR_Dynproc_lines *lines);
/* Polls the lines of all connections, and new ones. */
void MPIR_Dynproc_lines_poll(void);
void MPIR_Dynproc_lines_end(struct MPIR_Dynproc_lines *lines, bool with_farewell);
/* `lines` may be NULL. */
void MPIR_Dynproc_lines_free(struct MPIR_Dynproc_lines *lines, bool with_farewell);

#endif /* LINES_H_INCLUDED */
