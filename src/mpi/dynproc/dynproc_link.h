/*
 * The connection between the ranks 0 of a client and a server, and the messages on it.  DN5, DN7.
 *
 *   client  HELLO    the name, a key or none, a number used once
 *   server  VERDICT  TAKEN, or KEY (not accepted), another number used once
 *   both    SIDE     the context id, the addresses of the processes, and the server's business
 *                    cards (dynproc_lines.h), when the side is requested to attach
 *   both    READY    all processes of the side have the addresses of the other one's
 *
 * Each is sealed with the endpoint's secret, SIDE and READY also with both numbers.  A connection
 * that ends, or on which something else is sent, is broken.  No function blocks.  All numbers are
 * big-endian.
 */

#ifndef LINK_H_INCLUDED
#define LINK_H_INCLUDED

#include "dynproc_names.h"

#define MPIR_DYNPROC_KEY 1024
#define MPIR_DYNPROC_ONCE 16
#define MPIR_DYNPROC_PARENT 512 /* bytes of a text with a listener's addresses (parent.c) */
#define MPIR_DYNPROC_NUMBER 16  /* random bytes */

enum MPIR_Dynproc_verdict {
    MPIR_DYNPROC_WELCOME = 1,
    MPIR_DYNPROC_KEY_REFUSED = 2
};

enum MPIR_Dynproc_link_state {
    MPIR_DYNPROC_MORE,          /* not all bytes have arrived yet */
    MPIR_DYNPROC_DONE,
    MPIR_DYNPROC_BROKEN
};

struct MPIR_Dynproc_link {
    int fd;
    unsigned char secret[MPIR_DYNPROC_SEAL];
    unsigned char client_once[MPIR_DYNPROC_ONCE], server_once[MPIR_DYNPROC_ONCE];
    unsigned char *out, *in;
    size_t out_bytes, out_sent, in_bytes, in_capacity;
    double since;               /* server: when it was accepted */
    struct MPIR_Dynproc_link *next;
};

struct MPIR_Dynproc_hello {
    const char *name;
    const void *key;
    int key_bytes;              /* -1: no key */
};

/* The addresses of a process that listens for lines (dynproc_lines.h). */
struct MPIR_Dynproc_bc {
    char where[MPIR_DYNPROC_PARENT];    /* "": it does not listen */
    unsigned char number[MPIR_DYNPROC_NUMBER];  /* of the connection */
};

/* One side of a connection. */
struct MPIR_Dynproc_side {
    uint32_t context_id;
    int size;                   /* processes */
    /* of all processes, if the side listens for lines; else NULL */
    struct MPIR_Dynproc_bc *bcs;
    int *address_sizes;
    char *addresses;
    int bytes;                  /* of all addresses */
};

/* Seconds since an arbitrary moment. */
double MPIR_Dynproc_now(void);

void MPIR_Dynproc_side_free(struct MPIR_Dynproc_side *side);

struct MPIR_Dynproc_link *MPIR_Dynproc_link_new(int fd, const unsigned char *secret);
void MPIR_Dynproc_link_free(struct MPIR_Dynproc_link *link);
/* Frees the link; its descriptor stays open, and the caller owns it. */
int MPIR_Dynproc_link_leave(struct MPIR_Dynproc_link *link);
/* Whether the connection is still open on the other side, as far as this process can detect. */
bool MPIR_Dynproc_link_lives(struct MPIR_Dynproc_link *link);

/* Client. */
bool MPIR_Dynproc_send_hello(struct MPIR_Dynproc_link *link,
                             const struct MPIR_Dynproc_hello *hello);
enum MPIR_Dynproc_link_state MPIR_Dynproc_read_verdict(struct MPIR_Dynproc_link *link,
                                                       enum MPIR_Dynproc_verdict *verdict);
/* Server.  The hello points into the connection. */
enum MPIR_Dynproc_link_state MPIR_Dynproc_read_hello(struct MPIR_Dynproc_link *link,
                                                     struct MPIR_Dynproc_hello *hello, char name[]);
bool MPIR_Dynproc_send_verdict(struct MPIR_Dynproc_link *link, enum MPIR_Dynproc_verdict verdict);
/* Both. */
bool MPIR_Dynproc_send_side(struct MPIR_Dynproc_link *link, bool is_server,
                            const struct MPIR_Dynproc_side *side);
/* MORE also while this side has not been sent completely. */
enum MPIR_Dynproc_link_state MPIR_Dynproc_read_side(struct MPIR_Dynproc_link *link, bool is_server,
                                                    struct MPIR_Dynproc_side *side);
bool MPIR_Dynproc_send_ready(struct MPIR_Dynproc_link *link, bool is_server);
enum MPIR_Dynproc_link_state MPIR_Dynproc_read_ready(struct MPIR_Dynproc_link *link,
                                                     bool is_server);

#endif /* LINK_H_INCLUDED */
