/*
 * The step manager's core in mpiexec (stepmgr/stepmgr.h).  These functions report events of Hydra
 * to it; effects.h performs its effects.
 *
 * The core must not be called from one of its own effects: such calls are deferred until it has
 * returned. Functions without another comment need a core (HYD_step.core).
 */

#ifndef MPIEXEC_CORE_H_INCLUDED
#define MPIEXEC_CORE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "wire/kinds.h"

struct HYD_step_group;

/* Makes the core.  Called when the first process reports that it is adaptive, or an option needs
 * the core. */
void HYD_core_create(void);
void HYD_core_destroy(void);
/* Sets the function that makes the core (effects.h). */
void HYD_core_set_creator(void (*create)(void));
/* Reports the processes of the launch; some may have ended before the core was made. */
void HYD_core_adopted(struct HYD_step_group *launch);
/* A time from the environment ("1s"), by the core's rules. */
int64_t HYD_core_env_ms(const char *name, int64_t otherwise);

/* Bracket several calls.  Deferred calls are made when the outermost bracket ends. */
void HYD_core_enter(void);
void HYD_core_leave(void);
void HYD_core_defer_assigned(struct HYD_step_group *group);
void HYD_core_defer_up(struct HYD_step_group *group);
void HYD_core_defer_disconnected(struct HYD_step_group *group, int proxy);

void HYD_core_report(int group, int proxy, enum step_report kind, uint32_t epoch,
                     const void *payload, size_t bytes);
/* REPORT_FROZEN has arrived from this proxy, directly or through the tree, as the reply to the
 * command with this sequence number. */
void HYD_core_frozen(int group, int proxy, uint32_t sequence, uint32_t epoch, uint64_t ceiling);
/* Calls the core if its time has come.  This function and the next three also work without
 * a core. */
void HYD_core_due(int64_t now_ms);
void HYD_core_notified_to_end(int signum);
void HYD_core_unauthenticated(unsigned count);
void HYD_core_host_lost(const char *host);

/* Reports all running processes of MPI_Comm_spawn: the host of each proxy, and the number of its
 * processes. */
void HYD_core_spawned(const char *const *hosts, const int *processes, int n);
/* Whether `count` more may start: 0, also without a core, or -1 with a message. */
int HYD_core_check_spawn(int count, char *error, size_t error_bytes);

/* The step protocol: one line of at most HYD_CORE_LINE_MAX bytes, without newline. */
#define HYD_CORE_LINE_MAX (4 * 1024 * 1024)
void HYD_core_client_line(int client, const char *line);
void HYD_core_client_disconnected(int client);
void HYD_core_id(const char *step_id);

/* See stepmgr_add_set, stepmgr_has_sets, stepmgr_local_pre,
 * stepmgr_owns_failure, stepmgr_world_rank, stepmgr_summary. */
int HYD_core_add_set(const char *name, const uint32_t (*runs)[2], int n);
int HYD_core_has_sets(void);
int HYD_core_local_pre(const char *host);
int HYD_core_owns_failure(int group);
int HYD_core_world_rank(int group, int rank);
size_t HYD_core_summary(char *text, size_t bytes);

#endif /* MPIEXEC_CORE_H_INCLUDED */
