/*
 * Contacts of processes: the interface between session_addresses.c, session_rendezvous.c,
 * session_introduce.c and session_apart.c.  All functions except the marked ones are called under
 * the lock.
 */

#ifndef SESSION_CONTACT_H_INCLUDED
#define SESSION_CONTACT_H_INCLUDED

#include "session.h"

extern MPL_initlock_t MPIR_Session_contact_lock;

/* ---- session_addresses.c ---- */

/* This process' address as text, for the insertion in other processes. */
int MPIR_Session_write_bc(char *bc, int bytes);
/* Inserts an address, and offers a channel where there can be one. */
int MPIR_Session_take_bc(int lpid, const char *bc);
/* Inserts this process' own address: without a world it cannot send to itself otherwise. */
int MPIR_Session_take_own_bc(const char *own);
/* Whether the address is known, or comes with the world. */
bool MPIR_Session_knows(int lpid);
/* Inserts only the address: a ring in the other's memory is claimed when both make a communicator,
 * which may never happen. */
int MPIR_Session_insert_bc(int lpid, const char *bc);
/* The same for this process' own address, which is written to `bc`. */
int MPIR_Session_insert_own_bc(char *bc, int bytes);
/* Offers the channel that was inserted with the address; returns whether there was one. */
bool MPIR_Session_offer_channel(int lpid);
void MPIR_Session_offer_channels(const int *lpids, int n);
/* mpiexec has this process' address.  Without the lock. */
bool MPIR_Session_bc_is_given(void);

/* ---- session_introduce.c ---- */

/* The contact of a process, by its lpid, with this process; and of processes with each other. */
enum MPIR_Session_contact {
    MPIR_SESSION_NOT_CONNECTED,
    MPIR_SESSION_CONNECTED,
    /* connected, but as far as this process knows the other one has not decided about a channel
     * yet */
    MPIR_SESSION_INTRODUCED
};
bool MPIR_Session_needs_no_rendezvous(const MPIR_Group * group);
int MPIR_Session_note_contact(const int *lpids, int n, enum MPIR_Session_contact how);
/* Called after the rendezvous of all members.  Without the lock. */
void MPIR_Session_decide_channels(const MPIR_Group * group);
/* The same for members that need no rendezvous; `has_met`: this was the first time.  Waits, without
 * the lock. */
int MPIR_Session_decide_all(const MPIR_Group * group, bool * has_met);

#endif /* SESSION_CONTACT_H_INCLUDED */
