/*
 * Calls on process sets without a reply, or with a reply that is not fetched.  Internal interface
 * of the files of sets.h: sets.c has the table, set_sharing.c finds queries whose reply several
 * processes may share, set_starts.c has the connections.
 */

#ifndef PROXY_SET_CALLS_H_INCLUDED
#define PROXY_SET_CALLS_H_INCLUDED

#include "hydra.h"
#include <stddef.h>
#include <stdint.h>
#include "pmi_adapt_set.h"

/* The head of REPORT_SET_CALL, STEP_SET_ANSWER and STEP_SET_SHARED. */
struct HYD_set_head {
    uint32_t who;               /* rank in the group; uid */
    uint32_t id;
};

struct HYD_set_call {
    int process;
    uint32_t id;
    int whole, answered;
    /* equal calls that were not passed on, and wait for the reply to this one */
    struct HYD_set_call *followers;
    uint32_t invalidations;     /* of the board, when the call was passed on */
    int by_board;               /* the process polls the board for the reply */
    unsigned char *bytes;       /* a head and the call; later the reply */
    size_t used;
    struct HYD_set_call *next;
};

/* The content of STEP_SET_SHARED, after its head. */
struct HYD_set_shared {
    /* each a number and runs of uids: processes that may have the reply; processes whose business
     * cards are in it */
    const char *others, *bcs;
    uint32_t n_others, n_bcs;
    const char *answer;
    size_t bytes;
};

/* ---- sets.c ---- */

extern struct HYD_set_call *HYD_set_calls;
/* Sends a call to mpiexec.  One without a reply is sent with number 0, and dropped here. */
HYD_status HYD_set_call_pass_on(struct HYD_set_call **slot, int one_way);
/* Puts the reply on the board, or stores it to be fetched. */
HYD_status HYD_set_call_give(struct HYD_set_call **slot, const char *answer, size_t bytes);

/* ---- set_sharing.c ---- */

int HYD_set_call_is_query(const struct HYD_set_call *c);
/* A complete call: takes a cached reply, waits for the reply to an equal query of another process,
 * or passes the call on. */
HYD_status HYD_set_call_query(struct HYD_set_call **slot);
/* 0: malformed. */
int HYD_set_shared_read(const char *bytes, size_t n, struct HYD_set_shared *shared);
/* The reply to this call was for one process only. */
void HYD_set_call_note_unshared(const struct HYD_set_call *c);
/* Several processes may have the reply to this call: stores it. */
void HYD_set_call_keep_latest(const struct HYD_set_call *c, const char *payload, size_t bytes);
/* Queries that wait for the reply to this call get it if they may have it (NULL: none may); else
 * they are passed on. */
HYD_status HYD_set_call_answer_others(const struct HYD_set_call *c,
                                      const struct HYD_set_shared *shared);
/* This call gets no reply: the first call that waits for it is passed on instead. */
void HYD_set_call_replace(const struct HYD_set_call *c);

/* ---- set_starts.c ---- */

/* The number on this proxy of the process with this uid, -1: not on this proxy. */
int HYD_sets_process_of(uint32_t uid);

#endif /* PROXY_SET_CALLS_H_INCLUDED */
