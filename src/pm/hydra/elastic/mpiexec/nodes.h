/*
 * Assignment of joining processes to nodes and slots, and GPUs of all processes.
 *
 * Hydra's own rule over the known nodes applies (free cores first, in the order of the host list,
 * then round robin), or over the given hosts.  A group has copies of the nodes, numbered from 0,
 * because its processes use node numbers.  Occupied slots are counted on the originals in
 * HYD_server_info.node_list, and in `guests` for hosts that are not in that list.
 */

#ifndef MPIEXEC_NODES_H_INCLUDED
#define MPIEXEC_NODES_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Copies of the nodes that a group may use, in order. */
HYD_status HYD_step_candidate_nodes(const char *const *hosts, int n_hosts, struct HYD_node **list);
/* One copy for each run of equal hosts, with as many cores as the run is long: then ranks follow
 * the order of the hosts. */
HYD_status HYD_step_stretches_of_nodes(const char *const *hosts, int n_hosts,
                                       struct HYD_node **list);
/* Counts the processes of the group on the known nodes from now on. */
HYD_status HYD_step_count_on_nodes(struct HYD_step_group *group);
/* The slots of the processes of proxy number i, for binding. */
HYD_status HYD_step_choose_slots(struct HYD_step_group *group, int i);

/* ELASTIC_STEP_GPUS has the GPUs that a resource manager has reserved for the step:
 * VARIABLE,...:COUNT:HOST,...=NUMBER,...;HOST,...=..., or @FILE with such a text.  COUNT: GPUs of
 * each process, 0: all GPUs of its host.  A request names the GPUs of joining processes with their
 * hosts: NAME:COUNT=NUMBER,... */

/* Adds the GPUs of a proxy's processes to its arguments: --adapt-gpus
 * VARIABLE,...:COUNT:NUMBER,... */
HYD_status HYD_step_gpu_args(const struct HYD_proxy *proxy, struct HYD_string_stash *stash);
/* The hosts of joining processes whose proxies are started now; NULL: none are joining.  The list
 * is not copied. */
void HYD_step_set_joining_hosts(const char *const *hosts, int n_hosts);

#endif /* MPIEXEC_NODES_H_INCLUDED */
