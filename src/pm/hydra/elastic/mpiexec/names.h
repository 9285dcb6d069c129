/*
 * Published names (MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name) of a step of elasticd:
 * all jobs of the user share them (clause DN1).  mpiexec queries elasticd by HTTP on its Unix
 * socket, PUT, GET and DELETE of /v1/names/NAME, and then answers the process.  Names that this
 * mpiexec has registered are in stock's list too, and found there.
 *
 * Queries are sent one after the other, each on a connection of its own.  A process has one at a
 * time, and further ones are refused, so that their number is at most that of processes.  Names
 * that processes withdraw without waiting for a reply wait in the same order, before what is
 * queried later; they are at most those that elasticd registers for a job.  No function blocks;
 * while elasticd does not run, is busy or has a full disk, a query is repeated, for 30 s.
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

/* A command of the process `pid` at the proxy's connection `fd`.  Whether it will be answered by
 * `reply` (0: stock answers now). */
int HYD_names_take(int fd, int pid, HYD_name_reply reply, enum HYD_name_call call, const char *name,
                   const char *port);

/* The command adapt_withdraw of PMI (doc/developer/pmi.md). */
HYD_status HYD_names_withdraw(int fd, int pid, int pgid, char *args[]);

int64_t HYD_names_next(void);
void HYD_names_time(int64_t now_ms);
/* Withdraws all names that are still registered: takes 2 s at most.  Of names that processes have
 * withdrawn it prints those that remain. */
void HYD_names_end(void);

#endif /* MPIEXEC_NAMES_H_INCLUDED */
