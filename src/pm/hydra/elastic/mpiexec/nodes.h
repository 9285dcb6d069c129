/*
 * Assignment of joining processes: nodes, and slots on them.  GPUs of all processes.
 *
 * Hydra's own rule over the known nodes applies (free cores first, in the order of the host list,
 * then round robin), or over the given hosts.  A group works on copies of the nodes, numbered from
 * 0, because its processes know node numbers; occupied slots are counted on the originals in
 * HYD_server_info.node_list, and for hosts that were never listed in `guests`.
 */

#ifndef MPIEXEC_NODES_H_INCLUDED
#define MPIEXEC_NODES_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Copies of the nodes that a group may use, in order. */
HYD_status HYD_step_candidate_nodes(const char *const *hosts, int n_hosts, struct HYD_node **list);
/* One copy for each stretch of equal hosts, with so many cores: ranks then lie as the hosts do. */
HYD_status HYD_step_stretches_of_nodes(const char *const *hosts, int n_hosts,
                                       struct HYD_node **list);
/* From here on the group's processes are counted on the known nodes. */
HYD_status HYD_step_count_on_nodes(struct HYD_step_group *group);
/* The slots of the processes of proxy number i, for binding. */
HYD_status HYD_step_choose_slots(struct HYD_step_group *group, int i);

/* GPUs that a resource manager has booked for the step are in ELASTIC_STEP_GPUS, which is
 * VARIABLE,...:COUNT:HOST,...=NUMBER,...;HOST,...=..., or @FILE with such a text; COUNT is that of
 * each process, 0: all of its host.  A request names the GPUs of joining processes with their
 * hosts, NAME:COUNT=NUMBER,... */

/* Adds the GPUs of a proxy's processes to its arguments: --adapt-gpus
 * VARIABLE,...:COUNT:NUMBER,... */
HYD_status HYD_step_gpu_args(const struct HYD_proxy *proxy, struct HYD_string_stash *stash);
/* The hosts of processes whose proxies are started now; NULL: they join nobody.  They are not
 * copied. */
void HYD_step_set_joining_hosts(const char *const *hosts, int n_hosts);

#endif /* MPIEXEC_NODES_H_INCLUDED */
