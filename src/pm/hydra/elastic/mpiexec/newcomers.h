/*
 * Unauthenticated connections, whose handshake (handshake.h) has not ended.  Their max number is
 * that of expected proxies plus STRANGERS_MAX.  Beyond that, the connection that has been silent
 * longest is closed.
 *
 * State: the list of them, used from the event loop only.
 */

#ifndef MPIEXEC_NEWCOMERS_H_INCLUDED
#define MPIEXEC_NEWCOMERS_H_INCLUDED

#include <stddef.h>
#include "wire/job_secret.h"

struct HYD_newcomer {
    int fd;
    int leaving;                /* it is being closed */
    size_t used;
    unsigned char bytes[sizeof(int) + HYD_SECRET_HALF_BYTES];
    struct HYD_newcomer *next;  /* the next newer connection */
};

/* A connection has been accepted on a control port. */
void HYD_newcomers_accepted(int fd);
/* The record of this descriptor, which is added if missing.  NULL: no memory. */
struct HYD_newcomer *HYD_newcomers_of(int fd);
/* Frees it; its descriptor stays open. */
void HYD_newcomers_remove(struct HYD_newcomer *newcomer);
/* The job ends: no further proxy is expected.  Hydra assumes that every proxy with a connection is
 * authenticated. */
void HYD_newcomers_await_nobody(void);

#endif /* MPIEXEC_NEWCOMERS_H_INCLUDED */
