/*
 * Unresolved peers: processes that do not have this process' address yet.  DC2, DC3.
 *
 * The processes of MPIX_Comm_parent_create return from MPI_Init when they have the addresses of
 * their parents.  The parents need not be in an MPI call then, and receive the addresses of the new
 * processes later.  A network may give a message from a process whose address it does not have to a
 * receive from another process: libfabric's sockets provider does.  So the first message for an
 * unresolved peer only sends a query: whether the peer has this address.  It replies when it has
 * the address; from the reply the network also learns the sender of messages on that connection.
 * Until then messages are held, in order for each receiver; their requests are active, and nothing
 * else waits for them.
 *
 * The query contains the sender's name in the network, and is received from any source.
 *
 * State: the queried peers with the held messages; the peers to reply to.  The bit `unresolved` of
 * an address (mpidpre.h) selects this code.  The thread that holds the library's critical section
 * owns the state.
 */

#ifndef CH4_UNRESOLVED_H_INCLUDED
#define CH4_UNRESOLVED_H_INCLUDED

#include <stdbool.h>

#define MPIDI_UNRESOLVED_NAME 64   /* bytes of a name in the network, FI_NAME_MAX */

struct MPIR_Comm;
struct MPIR_Request;
struct MPIDI_av_entry;

/* A message: a query, or the reply to it. */
struct MPIDI_Unresolved_msg {
    uint32_t is_answer;
    char name[MPIDI_UNRESOLVED_NAME];   /* of the sender; zeros after it */
};

enum MPIDI_Unresolved_kind {
    MPIDI_UNRESOLVED__SEND,
    MPIDI_UNRESOLVED__SYNCHRONOUS,
    MPIDI_UNRESOLVED__COLLECTIVE
};

/* A message for an unresolved peer. */
int MPIDI_Unresolved_isend(enum MPIDI_Unresolved_kind kind, const void *buf, MPI_Aint count,
                           MPI_Datatype datatype, int rank, int tag, struct MPIR_Comm *comm,
                           int context_offset, struct MPIDI_av_entry *av, MPIR_Errflag_t errflag,
                           struct MPIR_Request **request);
/* New addresses were inserted: earlier queries get their replies. */
void MPIDI_Unresolved_retry(void);

#endif /* CH4_UNRESOLVED_H_INCLUDED */
