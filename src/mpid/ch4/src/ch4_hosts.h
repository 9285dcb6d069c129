/*
 * The hosts of the processes of a communicator that were not all started together.  SI9, DS5;
 * doc/developer/shm-channels.md.
 *
 * Upstream knows nodes of MPI_COMM_WORLD only, by their rank there.  Processes that were started
 * separately (by MPI_Comm_spawn, or joining through process sets) exchange their hosts when the
 * first communicator that holds them is made.  Each process numbers the hosts of such a
 * communicator itself, in the order in which it has received them; which processes share one is the
 * same for all.
 */

#ifndef CH4_HOSTS_H_INCLUDED
#define CH4_HOSTS_H_INCLUDED

/* MPIDI_COMM(comm, hosts) */
enum {
    /* its processes were started together: their nodes are those of the world */
    MPIDI_HOSTS__TOGETHER = 0,
    MPIDI_HOSTS__UNKNOWN,       /* started apart, and only used to make another one: on no node */
    MPIDI_HOSTS__KNOWN,         /* started separately: see `host` of their addresses */
    /* the same, and all would do collectives of a host in the same way (posix_flags.h) */
    MPIDI_HOSTS__HOMOGENEOUS
};

/* End of MPID_Comm_commit_pre_hook.  Collective if the processes were started apart and no
 * communicator that this one is derived from holds all of them; those are not made by nonblocking
 * calls. */
int MPIDI_Hosts_commit(MPIR_Comm * comm);

/* Whether the hosts of all members, which are in the first table, are known here. */
bool MPIDI_Hosts_know(const MPIR_Group * group);
/* This communicator, which is committed next, is not made from others (ch4_session.c): its
 * processes exchange their hosts, if one of them does not know them.  NULL: it has been
 * committed. */
void MPIDI_Hosts_next(const MPIR_Comm * comm, bool unknown_hosts);

/* For MPID_Get_node_id: the node of the process with this lpid, or -1. */
int MPIDI_Hosts_node(MPIR_Comm * comm, int avtid, int lpid);
int MPIDI_Hosts_max_node(void);

/* Decides whether waiting gives way (mpidu_oversubscribed.h) by all processes of this host that
 * were met. */
void MPIDI_Hosts_give_way(void);

#endif /* CH4_HOSTS_H_INCLUDED */
