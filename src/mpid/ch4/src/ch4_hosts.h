/*
 * The hosts of the processes of a communicator, if they were not all started together.  SI9, DS5;
 * doc/developer/shm-channels.md.
 *
 * Upstream has nodes only for MPI_COMM_WORLD, by rank.  Processes that were started separately (by
 * MPI_Comm_spawn, or joining through process sets) exchange their hosts when their first common
 * communicator is made.  Each process numbers the hosts of such a communicator itself, in the order
 * in which it has received them; all processes agree on which processes share a host.
 */

#ifndef CH4_HOSTS_H_INCLUDED
#define CH4_HOSTS_H_INCLUDED

/* MPIDI_COMM(comm, hosts) */
enum {
    /* its processes were started together: their nodes are those of the world */
    MPIDI_HOSTS__TOGETHER = 0,
    MPIDI_HOSTS__UNKNOWN,    /* started separately, and only used to make another one: on no node */
    MPIDI_HOSTS__KNOWN,         /* started separately: see `host` of their addresses */
    /* the same, and all would execute collectives of a host in the same way (posix_flags.h) */
    MPIDI_HOSTS__HOMOGENEOUS
};

/* Called at the end of MPID_Comm_commit_pre_hook.  Collective if the processes were started
 * separately and no communicator that this one is derived from contains all of them; nonblocking
 * calls do not make such communicators. */
int MPIDI_Hosts_commit(MPIR_Comm * comm);

/* Whether this process knows the hosts of all members, which are in the first table. */
bool MPIDI_Hosts_know(const MPIR_Group * group);
/* The communicator that is committed next is not derived from others (ch4_session.c): its processes
 * exchange their hosts if one of them does not know them.  NULL: it has been committed. */
void MPIDI_Hosts_next(const MPIR_Comm * comm, bool unknown_hosts);

/* For MPID_Get_node_id: the node of the process with this lpid, or -1. */
int MPIDI_Hosts_node(MPIR_Comm * comm, int avtid, int lpid);
int MPIDI_Hosts_max_node(void);

/* Decides whether waiting processes yield (mpidu_oversubscribed.h), from all connected processes of
 * this host. */
void MPIDI_Hosts_give_way(void);

#endif /* CH4_HOSTS_H_INCLUDED */
