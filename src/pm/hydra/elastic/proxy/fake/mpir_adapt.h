/*
 * The part of mpir_adapt.h that the litmus test's part of src/mpi/adapt needs; the rest needs more
 * of MPICH.
 */

#ifndef MPIR_ADAPT_H_INCLUDED
#define MPIR_ADAPT_H_INCLUDED

struct pmi_adapt_plan;

int MPIR_Probe_adapt_impl(int *pending_adaptation, int *local_status, MPI_Info * info);
int MPID_Adapt_prebuild(const struct pmi_adapt_plan *plan, int index);
int MPID_Adapt_discard_prebuilt(const struct pmi_adapt_plan *plan);
int MPID_Adapt_reclaim(void);

#endif
