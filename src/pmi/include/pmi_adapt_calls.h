/*
 * Calls on the process' side of the PMI connection beyond PMI-1
 * (src/pmi/simple/simple_pmi_adapt.h): lines to the proxy, names, and a barrier that does not
 * block.  The caller holds the PMI lock.  Functions of type int return 0 or -1.
 */

#ifndef PMI_ADAPT_CALLS_H_INCLUDED
#define PMI_ADAPT_CALLS_H_INCLUDED

#include <stdbool.h>

#define PMIU_ADAPT_LINE_MAX 1024        /* bytes of a reply, as PMIU_MAXLINE */

int PMIU_Adapt_send(const char *line, int length);
int PMIU_Adapt_query(const char *line, int length, char answer[PMIU_ADAPT_LINE_MAX]);
int PMIU_Adapt_barrier_enter(void);
int PMIU_Adapt_barrier_test(bool * is_over);
bool PMIU_Adapt_has_manager(void);
int PMIU_Adapt_keep(void);
int PMIU_Adapt_publish(const char *name, const char *value);
int PMIU_Adapt_lookup(const char *name, char *value);
/* For MPI_Publish_name, MPI_Unpublish_name and MPI_Lookup_name, see simple_pmi_names.h.  `port` has
 * MPI_MAX_PORT_NAME bytes. progresses: the process makes progress meanwhile; not in a hook of
 * progress. */
int PMIU_Adapt_publish_name(const char *name, const char *port, bool progresses);
int PMIU_Adapt_unpublish_name(const char *name, bool progresses);
int PMIU_Adapt_lookup_name(const char *name, char *port, bool progresses);
/* Requests to withdraw a name of this job if `port` is its value (NULL: any).  Does not wait. */
int PMIU_Adapt_withdraw_name(const char *name, const char *port);
/* A lookup in steps that do not wait, for hooks of progress. 1: call it again with the same owner;
 * 0: `port` is written; -1: error.  An owner that does not call it again must call
 * PMIU_Adapt_forget_lookup. */
int PMIU_Adapt_step_lookup(const void *owner, const char *name, char *port);
void PMIU_Adapt_forget_lookup(const void *owner);
/* Sets the function that a process calls repeatedly while it waits for the reply to a spawn or
 * about a name.  The PMI lock is held.  The function lets other threads run, for at most `wait_ms`
 * or until `fd` is readable. */
void PMIU_Adapt_set_progress(void (*progress)(int fd, int wait_ms));
/* Called before a spawn: waits until no other thread awaits the reply to a spawn. */
int PMIU_Adapt_await_spawn_turn(void);

#endif /* PMI_ADAPT_CALLS_H_INCLUDED */
