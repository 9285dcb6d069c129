/*
 * What the MPI layer's adaptations (src/mpi/adapt) ask of the device (ch4_adapt*.c), beside what
 * mpir_adapt.h declares.  Included by these files only, so that a change rebuilds little.
 */

#ifndef MPIR_ADAPT_DEVICE_H_INCLUDED
#define MPIR_ADAPT_DEVICE_H_INCLUDED

struct pmi_adapt_plan;

/* Settings that must be there before MPI is initialised, in a process that may take part in adaptations;
 * and their end, after it has been. */
void MPID_Adapt_before_init(void);
void MPID_Adapt_after_init(void);

/* After MPID_Adapt_ahead on a process that was there before, when all joining processes know all addresses:
 * begins to connect to one of them.  Does not wait; 0: to be called again some time later. */
int MPID_Adapt_greet(const struct pmi_adapt_plan *plan, int index);

/* After MPID_Adapt_prepare on a joining process: whether those that greet it from other hosts have done so. */
int MPID_Adapt_is_greeted(const struct pmi_adapt_plan *plan);

/* After MPID_Adapt_prepare on a joining process: makes the communicators of the window, which needs nobody else. */
int MPID_Adapt_make_comms(const struct pmi_adapt_plan *plan, int index);

#endif /* MPIR_ADAPT_DEVICE_H_INCLUDED */
