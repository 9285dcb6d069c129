/*
 * Calls to the step manager, and its replies, for the folders of the MPI layer.  src/mpi/session
 * has the functions; src/mpi/process uses them, too.  session_calls.h, which is generated from
 * src/pmi/messages.txt, has an encoder for each call.  All functions are called inside the
 * library's critical section.
 */

#ifndef MPIR_SESSION_CALL_H_INCLUDED
#define MPIR_SESSION_CALL_H_INCLUDED

#include "mpiimpl.h"
#include "pmi_adapt_set.h"

/* ---- session_life.c ---- */

/* Whether this process was started by our launcher.  Queries PMI if that is not known yet. */
bool MPIR_Session_find_proxy(void);

/* ---- session_call.c: a query of the step manager (pmi_adapt_set.h), and its reply ---- */

struct MPIR_Session_call {
    unsigned char *bytes;
    size_t used, capacity;
    bool failed;                /* out of memory, or too large */
    bool waits;                 /* its reply may need other calls first, also of this process */
    bool is_slow;               /* its reply may take long */
};
/* Appends parts of a call, for its encoder.  A lack of memory is reported when the call is sent. */
void MPIR_Session_call_begin(struct MPIR_Session_call *call, enum pmi_set_call kind);
/* Frees a call that is not sent; sending frees it, too. */
void MPIR_Session_call_free(struct MPIR_Session_call *call);
void MPIR_Session_call_number(struct MPIR_Session_call *call, uint32_t number);
void MPIR_Session_call_text(struct MPIR_Session_call *call, const char *text);
/* All keys and values, NULL: none. */
void MPIR_Session_call_data(struct MPIR_Session_call *call, MPIR_Info * info);
/* A set as an operand: by its members if its name means another set in each process. */
void MPIR_Session_call_operand(struct MPIR_Session_call *call, const char *name);

struct MPIR_Session_answer {
    enum pmi_set_code code;
    unsigned char *bytes;
    size_t used, at;
    bool bad;                   /* more was read than it contains */
};
/* Sends the query and waits for the reply; the call is freed.  Any code but OK is an error, which
 * `code` identifies; the caller frees a reply that is OK. */
int MPIR_Session_call_query(struct MPIR_Session_call *call, struct MPIR_Session_answer *answer);
/* The same without waiting: has_capacity returns whether one more query can be pending; send frees
 * the call, also if it fails; test is called until it completes with a reply or an error. */
struct MPIR_Session_sent {
    uint32_t id, seen, *answered;
    bool waits;
};
bool MPIR_Session_call_has_capacity(const struct MPIR_Session_call *call);
int MPIR_Session_call_send(struct MPIR_Session_call *call, struct MPIR_Session_sent *sent);
int MPIR_Session_call_test(struct MPIR_Session_sent *sent, struct MPIR_Session_answer *answer,
                           bool *complete);
/* Sends a call that has no reply, because it cannot fail. */
int MPIR_Session_call_post(struct MPIR_Session_call *call);
/* As query, for calls whose only successful reply is OK without data. */
int MPIR_Session_call_notify(struct MPIR_Session_call *call);

/* ---- session_answer.c: reading a reply ---- */

uint32_t MPIR_Session_answer_number(struct MPIR_Session_answer *answer);
/* Reads at most `max` bytes, and appends a 0. */
void MPIR_Session_answer_text(struct MPIR_Session_answer *answer, char *text, size_t max);
void MPIR_Session_answer_free(struct MPIR_Session_answer *answer);
/* The error for its code, with its text. */
int MPIR_Session_answer_error(struct MPIR_Session_answer *answer);

/* ---- session_members.c ---- */

/* Ranks of the world as members; NULL: all. */
void MPIR_Session_call_members(struct MPIR_Session_call *call, const int *ranks, int n);

/* ---- session_iget.c ---- */

/* Starts a query whose reply completes a request: `take` is called first, and its result is that of
 * the request.  `state` is freed then, or if this call fails (NULL: out of memory). */
int MPIR_Session_call_start(struct MPIR_Session_call *call,
                            int (*take)(struct MPIR_Session_answer * answer, void *state),
                            void *state, MPIR_Request ** request);

#include "session_calls.h"

#endif /* MPIR_SESSION_CALL_H_INCLUDED */
