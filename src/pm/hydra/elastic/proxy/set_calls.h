/*
 * Calls on process sets that have no answer yet, or one that is not fetched: the guarantees that
 * the files of sets.h give each other.  sets.c has the table, set_sharing.c finds queries whose
 * answer several processes may have, set_starts.c has the connections.
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
    /* not passed on: it waits for the answer to this one, which is the same */
    struct HYD_set_call *followers;
    uint32_t invalidations;     /* of the board when it was passed on */
    int by_board;               /* the process searches for the answer on the board first */
    unsigned char *bytes;       /* a head and the call; its answer */
    size_t used;
    struct HYD_set_call *next;
};

/* The content of STEP_SET_SHARED, after its head. */
struct HYD_set_shared {
    /* runs of uids, after their number; who may have it, and whose addresses are sent */
    const char *others, *bcs;
    uint32_t n_others, n_bcs;
    const char *answer;
    size_t bytes;
};

/* ---- sets.c ---- */

extern struct HYD_set_call *HYD_set_calls;
/* To mpiexec.  One that is not answered has the number 0 further up, and is dropped. */
HYD_status HYD_set_call_pass_on(struct HYD_set_call **slot, int one_way);
/* Its answer: on the board, or to be fetched. */
HYD_status HYD_set_call_give(struct HYD_set_call **slot, const char *answer, size_t bytes);

/* ---- set_sharing.c ---- */

int HYD_set_call_is_query(const struct HYD_set_call *c);
/* A whole call: it gets a cached answer, waits for another process' same query, or is passed on. */
HYD_status HYD_set_call_query(struct HYD_set_call **slot);
/* 0: malformed. */
int HYD_set_shared_read(const char *bytes, size_t n, struct HYD_set_shared *shared);
/* The answer to this one was for one process; or several may have it, and it is stored. */
void HYD_set_call_note_unshared(const struct HYD_set_call *c);
void HYD_set_call_keep_latest(const struct HYD_set_call *c, const char *payload, size_t bytes);
/* Queries that wait for the reply to this one get it, if they may have it (NULL: none may), or are
 * passed on. */
HYD_status HYD_set_call_answer_others(const struct HYD_set_call *c,
                                      const struct HYD_set_shared *shared);
/* It will not be answered: the first of those that wait for it queries instead of it. */
void HYD_set_call_replace(const struct HYD_set_call *c);

/* ---- set_starts.c ---- */

/* Number here of the process with this uid, -1: it is not here. */
int HYD_sets_process_of(uint32_t uid);

#endif /* PROXY_SET_CALLS_H_INCLUDED */
