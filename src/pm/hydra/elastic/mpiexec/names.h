/*
 * Published names (MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name) of a step of elasticd:
 * all jobs of the user share them (clause DN1).  mpiexec queries elasticd by HTTP on its Unix
 * socket, PUT, GET and DELETE of /v1/names/NAME, and then answers the process.  Names that this
 * mpiexec has registered are also in stock's list, where lookups find them first.
 *
 * Queries are sent one after the other, each on a connection of its own.  A process may have one
 * query at a time, and further ones are refused, so there are at most as many queries as processes.
 * Withdrawals for which processes do not wait are queued in the same order, before later queries;
 * their number is limited by the names that elasticd registers for a job.  No function blocks.
 * While elasticd does not run, is busy or has a full disk, a query is repeated for 30 s.
 */

#ifndef MPIEXEC_NAMES_H_INCLUDED
#define MPIEXEC_NAMES_H_INCLUDED

#include "hydra.h"

enum HYD_name_call {
    HYD_NAME_PUBLISH,
    HYD_NAME_LOOKUP,
    HYD_NAME_UNPUBLISH
};
typedef HYD_status(*HYD_name_reply) (int fd, int pid, const char *line);

/* Takes a command of the process `pid` at the proxy's connection `fd`. Returns whether `reply` will
 * be called for it (0: stock replies now). */
int HYD_names_take(int fd, int pid, HYD_name_reply reply, enum HYD_name_call call, const char *name,
                   const char *port);

/* The command adapt_withdraw of PMI (doc/developer/pmi.md). */
HYD_status HYD_names_withdraw(int fd, int pid, int pgid, char *args[]);

int64_t HYD_names_next(void);
void HYD_names_time(int64_t now_ms);
/* Withdraws all names that are still registered; takes 2 s at most.  Prints the names that
 * processes have withdrawn but that remain registered. */
void HYD_names_end(void);

#endif /* MPIEXEC_NAMES_H_INCLUDED */
