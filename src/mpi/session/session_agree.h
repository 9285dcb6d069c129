/*
 * An agreement on the id of a communicator among the members of a group: the interface between
 * session_agree.c, the agreement, and session_inbox.c, which receives its messages.
 */

#ifndef SESSION_AGREE_H_INCLUDED
#define SESSION_AGREE_H_INCLUDED

#include "session.h"

#define MPIR_AGREE_NUMBERS_MAX (MPIR_MAX_CONTEXT_MASK + 1)
#define MPIR_AGREE_TEXT_MAX 256 /* MPI_MAX_STRINGTAG_LEN */

/* In a message the text directly follows the used numbers, without a 0. */
struct MPIR_Agree_message {
    uint64_t creation;          /* computed from group, text and kind */
    uint32_t failed, unknown_hosts, n;
    int numbers[MPIR_AGREE_NUMBERS_MAX];
    char text[MPIR_AGREE_TEXT_MAX];
};

struct MPIR_Agree_letter {
    struct MPIR_Agree_letter *next, *prev;
    size_t bytes;
    struct MPIR_Agree_message message;
};

/* Messages of one process with one tag, for all threads that wait for them. */
struct MPIR_Agree_inbox {
    struct MPIR_Agree_inbox *next, *prev;
    int context_id, tag, source, lpid;
    int waiting;                /* threads */
    /* not taken yet, in the order in which they were sent */
    struct MPIR_Agree_letter *letters;
    struct MPIR_Agree_letter *expected; /* NULL: no receive is posted */
    MPIR_Request *request;      /* its receive */
    bool closing;               /* the receive is being cancelled: none is posted meanwhile */
};

/* One agreement. */
struct MPIR_Agree_round {
    MPIR_Comm *comm;
    MPIR_Group *group;
    int tag, n;
    MPI_Op op;
    int *numbers;
    bool failed;
};

static inline size_t MPIR_Agree_head_bytes(int n)
{
    return offsetof(struct MPIR_Agree_message, numbers) + n * sizeof(int);
}

/* ---- session_agree.c ---- */

/* Whether the message belongs to the communicator that this thread makes. */
bool MPIR_Agree_is_own(const struct MPIR_Agree_round *round,
                       const struct MPIR_Agree_message *message, size_t bytes);
/* For a member of the group: its lpid, and its rank in the round's communicator. */
int MPIR_Agree_lpid_of(const struct MPIR_Agree_round *round, int member);
int MPIR_Agree_rank_in(const struct MPIR_Agree_round *round, int member, int *rank);
void MPIR_Agree_make_progress(int *mpi_errno);

/* ---- session_inbox.c ---- */

int MPIR_Agree_open_inbox(const struct MPIR_Agree_round *round, int member,
                          struct MPIR_Agree_inbox **opened);
/* False: no letter of this round has arrived. */
bool MPIR_Agree_take_letter(const struct MPIR_Agree_round *round, struct MPIR_Agree_inbox *inbox,
                            struct MPIR_Agree_message *message);
/* One step towards the next letter. */
int MPIR_Agree_wait_for_letter(const struct MPIR_Agree_round *round,
                               struct MPIR_Agree_inbox *inbox);
/* A late message, for which no thread waits any more, is stored for a later receive. */
int MPIR_Agree_close_inbox(struct MPIR_Agree_inbox *inbox);

#endif /* SESSION_AGREE_H_INCLUDED */
