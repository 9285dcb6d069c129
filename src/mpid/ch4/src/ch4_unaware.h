/*
 * Processes that do not have this process' address yet.  DC2, DC3.
 *
 * The processes of MPIX_Comm_parent_create come out of MPI_Init when they have the addresses of their parents, who
 * need not be in MPI then, and learn theirs later.  What a network is sent by somebody whose address it does not have,
 * it may give to a receive from somebody else: libfabric's sockets provider does.  So who is unaware of this process is
 * sent nothing but a question, at the first message for it: whether it has this address.  It answers when it has, and
 * that answer is also what makes the network know whose messages come by that connection.  Messages are held until
 * then, each receiver's in their order; their requests are active, and nothing else waits for them.
 *
 * The question tells the sender's name in the network, and is received from anybody.
 *
 * State: who has been asked, with the messages that are held; whom to answer.  The bit `unaware` of an address
 * (mpidpre.h) leads here.  Owned by whichever thread holds the library's critical section.
 */

#ifndef CH4_UNAWARE_H_INCLUDED
#define CH4_UNAWARE_H_INCLUDED

#include <stdbool.h>

#define MPIDI_UNAWARE_NAME 64   /* bytes of a name in the network, FI_NAME_MAX */

struct MPIR_Comm;
struct MPIR_Request;
struct MPIDI_av_entry;

/* What is said: a question, or the answer to it. */
struct MPIDI_Unaware_word {
    uint32_t is_answer;
    char name[MPIDI_UNAWARE_NAME];      /* of who says it; zeros behind it */
};

enum MPIDI_Unaware_kind {
    MPIDI_UNAWARE__SEND,
    MPIDI_UNAWARE__SYNCHRONOUS,
    MPIDI_UNAWARE__COLLECTIVE
};

/* A message for one whose address has the bit. */
int MPIDI_Unaware_isend(enum MPIDI_Unaware_kind kind, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                        int rank, int tag, struct MPIR_Comm *comm, int context_offset, struct MPIDI_av_entry *av,
                        MPIR_Errflag_t errflag, struct MPIR_Request **request);
/* Addresses have come in: who has asked before is answered. */
void MPIDI_Unaware_look_again(void);

#endif /* CH4_UNAWARE_H_INCLUDED */
