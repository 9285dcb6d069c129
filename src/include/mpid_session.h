/*
 * The device's part of MPI Sessions (src/mpid/ch4/src/ch4_session.c, ch4_dynproc.c,
 * ch4_channels.c), for the MPI layer and for the files of the device among themselves.  An lpid is
 * an index in the device's first table of addresses.
 */

#ifndef MPID_SESSION_H_INCLUDED
#define MPID_SESSION_H_INCLUDED

#include "mpiimpl.h"
#include "mpir_device_callbacks.h"
#include "pmi_adapt_set.h"

#define MPID_SESSION_LPIDS_MAX PMI_SET_PROCESSES_MAX

/* ---- members that have ended, by their lpids ---- */

/* No message of it arrives any more: receives from it, posted now or later, end with an error, as
 * do sends to it. */
void MPID_Session_mark_exited(int lpid);
/* Also ends its messages in progress, because the process may have ended in the middle of one. */
void MPID_Session_mark_silent(int lpid);
bool MPID_Session_has_exited(int lpid);
/* Removes all marks: lpids refer to other processes from now on. */
void MPID_Session_depart_nobody(void);
/* Sends and probes on this communicator take into account that a member may end. */
void MPID_Session_watch_comm(MPIR_Comm * comm);

/* ---- addresses, channels and communicators ---- */

/* This process' address as text without blanks, for MPID_Session_insert of other processes. */
int MPID_Session_address(char *text, int bytes);
/* From now on this process can send to, and receive from, the process with this rank of the
 * world. */
int MPID_Session_insert(int rank, const char *text);
/* Shared memory with processes of this host (ch4_channels.h).  MPID_Channels_bc: the business card
 * of this process, "" if it can have none.  MPID_Channels_offer: called with the business card of
 * another process when its address is known.  MPID_Channels_decide: called when the other process
 * has that of this one, too.  A business card has no spaces or commas. */
void MPID_Channels_bc(char *bc, int bytes);
void MPID_Channels_offer(int lpid, const char *bc);
void MPID_Channels_decide(int lpid);
/* Called before further channels are offered. */
void MPID_Channels_remove_exited(void);
/* Whether a channel is offered to this process, and that process has not decided since. */
bool MPID_Channels_undecided(int lpid);
/* Returns pointers to the number of open channels and to the number of all messages sent on
 * them. */
void MPID_Channels_counts(unsigned **open, unsigned long long **sent);
/* The table gets lpids for all processes, once; existing entries move by `shift`. */
int MPID_Session_reserve_lpids(int shift);
/* The communicator over which processes that know each other agree on ids, also across start
 * groups.  Its ranks are lpids and it has no group: it serves only messages of an agreement. */
int MPID_Session_bridge(MPIR_Comm ** bridge);
/* MPI_Comm_create_group over it.  `has_met`: the members come from a rendezvous. */
int MPID_Session_create_over(MPIR_Comm * bridge, MPIR_Group * group, int tag, bool has_met,
                             MPIR_Comm ** comm);
bool MPID_Session_knows(int rank);
/* The communicator over which ids of communicators are agreed on: MPI_COMM_WORLD, or, before that
 * exists, an object with the same context id and ranks. */
int MPID_Session_parent(MPIR_Comm ** parent);
/* After the library has been initialised by a session. */
int MPID_Session_start(void);
/* Allocates memory for the first messages and communicators of a process for which others will
 * wait. */
void MPID_Session_prepare(void);
/* Returns when no message that this process has sent needs its progress any more. */
void MPID_Session_drain(void);
/* Whether the table has lpids for processes of other start groups; and the rank in this process'
 * start group of the process with this lpid, -1 for processes of other start groups. */
bool MPIDI_Session_has_foreign_lpids(void);
int MPIDI_Session_mate(int lpid);
/* Whether processes agree on communicators over this one, and detect ends themselves
 * (session_liveness.c). */
bool MPIDI_Session_is_parent(const MPIR_Comm * comm);

#endif /* MPID_SESSION_H_INCLUDED */
