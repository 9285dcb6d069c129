/*
 * A name that this process listens for, and the clients that have connected and wait there. DN2,
 * DN6, DN7.
 *
 * A client has 2 seconds to send a hello; at most 64 at a time are served, and when there are more,
 * the connection that has been silent for the longest time is closed (its client connects again).
 * At most 256 clients wait here, first come first served; further ones wait in the system's queue.
 * So memory is bounded for any number of clients, and no function blocks.
 */

#ifndef SERVICE_H_INCLUDED
#define SERVICE_H_INCLUDED

#include "dynproc.h"
#include <netinet/in.h>

struct MPIR_Dynproc_call;       /* port.c */

struct MPIR_Dynproc_service {
    struct MPIR_Dynproc_endpoint endpoint;
    char name[MPIR_DYNPROC_NAME + 1];   /* as it was given */
    bool is_registered;         /* elasticd knows it */
    int fd;
    /* accepts clients that have exited since their hello, too: the service is that of lines
     * (lines.c) */
    bool takes_exited;
    int n_silent, n_waiting;
    struct MPIR_Dynproc_link *silent, *waiting; /* the oldest one first */
    struct MPIR_Dynproc_call *calls;    /* port requests, the oldest one first */
    struct MPIR_Dynproc_service *next;
};

extern struct MPIR_Dynproc_service *MPIR_Dynproc_services;

/* The service of this name; makes it if it does not exist. */
int MPIR_Dynproc_service_open(const char *name, struct MPIR_Dynproc_service **service);
/* A service at this endpoint that no other call finds by its name. */
int MPIR_Dynproc_service_at(const struct MPIR_Dynproc_endpoint *endpoint,
                            struct MPIR_Dynproc_service **service);
void MPIR_Dynproc_service_close(struct MPIR_Dynproc_service *service);
/* Accepts clients.  Does not wait. */
void MPIR_Dynproc_service_poll(struct MPIR_Dynproc_service *service);
/* The next living client that `welcome` accepts (NULL: all are accepted); it has been notified.
 * NULL: there is none. */
struct MPIR_Dynproc_link *MPIR_Dynproc_service_take(struct MPIR_Dynproc_service *service,
                                                    MPIX_Key_function * welcome, void *extra_state);

/* parent.c: a service whose addresses are in `text`, for the processes of one
 * MPIX_Comm_parent_create. */
int MPIR_Dynproc_parent_listen(struct MPIR_Dynproc_service **service,
                               char text[MPIR_DYNPROC_PARENT]);
/* The connections to one listener by such a text: one to each of its addresses, until one of them
 * is taken. */
#define MPIR_DYNPROC_ADDRESSES 10       /* max per host, so that the text fits in a port name */
struct MPIR_Dynproc_ways {
    int n;
    struct MPIR_Dynproc_way {
        struct sockaddr_in address;
        struct MPIR_Dynproc_link *link;
        double again_at;
    } ways[MPIR_DYNPROC_ADDRESSES];
    unsigned char secret[MPIR_DYNPROC_SEAL];
    struct MPIR_Dynproc_hello hello;    /* set by the caller */
    /* time of a refusal by the listener's key function, on one of the ways; 0: none */
    double refused_at;
    double lived_at;            /* last time at which a process was reached on a way; 0: never */
};
/* False: the text is malformed; nothing needs to be freed. */
bool MPIR_Dynproc_read_ways(const char *text, struct MPIR_Dynproc_ways *ways);
/* Continues to connect; returns the accepted connection, which `ways` still owns, or NULL. */
struct MPIR_Dynproc_link *MPIR_Dynproc_take_way(struct MPIR_Dynproc_ways *ways);
void MPIR_Dynproc_free_ways(struct MPIR_Dynproc_ways *ways);
/* Address number `i` (any number) of the text, and the secret.  False: the text is malformed. */
bool MPIR_Dynproc_read_way(const char *text, int i, struct MPIR_Dynproc_endpoint *endpoint);

#endif /* SERVICE_H_INCLUDED */
