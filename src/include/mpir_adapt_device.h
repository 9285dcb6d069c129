/*
 * The device's interface for the MPI layer's adaptations (ch4_adapt*.c), beside what
 * mpir_adapt.h declares.  Included by these files only, so that a change rebuilds little.
 */

#ifndef MPIR_ADAPT_DEVICE_H_INCLUDED
#define MPIR_ADAPT_DEVICE_H_INCLUDED

struct pmi_adapt_plan;
struct MPIR_Comm;

/* Settings that must be there before MPI is initialised, in a process that may take part in
 * adaptations; and their end, after it has been. */
void MPID_Adapt_before_init(void);
void MPID_Adapt_after_init(void);

/* After MPID_Adapt_prebuild on a process that was there before: makes the communicators of the
 * window, too. */
int MPID_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index);

/* After MPID_Adapt_prebuild on a process that was there before, when all joining processes know all
 * addresses: begins to connect to one of them.  Does not wait; 0: to be called again some time
 * later. */
int MPID_Adapt_preconnect(const struct pmi_adapt_plan *plan, int index);

/* After MPID_Adapt_prepare on a joining process: whether the processes of other hosts that
 * preconnect to it have done so. */
int MPID_Adapt_is_preconnected(const struct pmi_adapt_plan *plan);

/* After MPID_Adapt_prepare on a joining process: what begin does, as far as it needs joining
 * processes only.  These call it together. */
int MPID_Adapt_join(const struct pmi_adapt_plan *plan, int index);

/* Once, after MPI is initialised: context ids of an adaptive process (mpir_adapt_context.h).
 * in_use: the program has communicated already, so that MPI_COMM_SELF keeps its own, which is one
 * of the launch's generation. */
int MPID_Adapt_init_contexts(bool in_use);

/* After the commit of `epoch`, on the world's last `created` processes: the intercommunicator
 * between them and those who were there before.  It outlives adaptations; nobody of the others has
 * its other side. */
int MPID_Adapt_make_parent(unsigned epoch, int created, struct MPIR_Comm **parent);

/* A communicator that is the device's own: it is not met by MPIR_Adapt_foreach_comm, and ends when
 * it is released. */
void MPIR_Adapt_unlist(struct MPIR_Comm *comm);

/* Commit of `epoch`, when nobody communicates on the ending communicators any more and they are all
 * there: throws away the messages on them that have come and that nobody received, and reports each
 * to `note` (may be NULL).  source is a rank of the communicator (of the remote group, if it has
 * one).  A message that is still on its way is not reported; it never matches. */
typedef void (*MPID_Adapt_unreceived_fn) (struct MPIR_Comm * comm, int source, int tag,
                                          void *context);
int MPID_Adapt_discard_unreceived(unsigned epoch, MPID_Adapt_unreceived_fn note, void *context);

/* Before the application's reference to a communicator is released, outside of critical sections:
 * discards the messages on it that have arrived and that nobody can receive any more, so that the
 * next communicator with its context id does not receive them.  A message that arrives later is not
 * met. */
void MPID_Comm_discard_unreceived(struct MPIR_Comm *comm);

#endif /* MPIR_ADAPT_DEVICE_H_INCLUDED */
