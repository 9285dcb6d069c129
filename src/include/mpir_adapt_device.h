/*
 * The device's interface for the MPI layer's adaptations (ch4_adapt*.c), beside what
 * mpir_adapt.h declares.  Included by these files only, so that a change rebuilds little.
 */

#ifndef MPIR_ADAPT_DEVICE_H_INCLUDED
#define MPIR_ADAPT_DEVICE_H_INCLUDED

struct pmi_adapt_plan;
struct MPIR_Comm;

/* Makes settings before MPI is initialised, in a process that may take part in adaptations; and
 * removes them after the initialisation. */
void MPID_Adapt_before_init(void);
void MPID_Adapt_after_init(void);

/* After MPID_Adapt_prebuild on a pre-existing process: makes the communicators of the window,
 * too. */
int MPID_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index);

/* After MPID_Adapt_prebuild on a pre-existing process, when all joining processes know all
 * addresses: begins to connect to one of them.  Does not wait; 0: to be called again some time
 * later. */
int MPID_Adapt_preconnect(const struct pmi_adapt_plan *plan, int index);

/* After MPID_Adapt_prepare on a joining process: whether the processes of other hosts that
 * preconnect to it have done so. */
int MPID_Adapt_is_preconnected(const struct pmi_adapt_plan *plan);

/* After MPID_Adapt_prepare on a joining process: the part of begin that needs joining processes
 * only.  They call it together. */
int MPID_Adapt_join(const struct pmi_adapt_plan *plan, int index);

/* Called once, after MPI is initialised: sets up the context ids of an adaptive process
 * (mpir_adapt_context.h). in_use: the program has communicated already, so that MPI_COMM_SELF keeps
 * its id, which has the launch's generation. */
int MPID_Adapt_init_contexts(bool in_use);

/* After the commit of `epoch`, on the world's last `created` processes: makes the intercommunicator
 * between them and the pre-existing processes.  It outlives adaptations.  The pre-existing
 * processes do not have it. */
int MPID_Adapt_make_parent(unsigned epoch, int created, struct MPIR_Comm **parent);

/* Marks a communicator as internal to the device: MPIR_Adapt_foreach_comm omits it, and it ends
 * when it is released. */
void MPIR_Adapt_unlist(struct MPIR_Comm *comm);

/* In the commit of `epoch`, when no process communicates on the ending communicators any more and
 * all of them still exist: discards the messages on them that have arrived and were not received,
 * and reports each to `note` (may be NULL).  source is a rank of the communicator (of the remote
 * group, if it has one).  A message that arrives later is not reported; it never matches. */
typedef void (*MPID_Adapt_unreceived_fn) (struct MPIR_Comm * comm, int source, int tag,
                                          void *context);
int MPID_Adapt_discard_unreceived(unsigned epoch, MPID_Adapt_unreceived_fn note, void *context);

/* Before the application's reference to a communicator is released, outside of critical sections:
 * discards the messages on it that have arrived and can no longer be received, so that the next
 * communicator with its context id does not receive them.  A message that arrives later is not
 * discarded. */
void MPID_Comm_discard_unreceived(struct MPIR_Comm *comm);

#endif /* MPIR_ADAPT_DEVICE_H_INCLUDED */
