/* The part of MPI in all time, from the ratio of MPI time to computing time
 * (core/job_performance.h).  Pure. */

#ifndef ELASTIC_RM_CORE_MPI_SHARE_H_INCLUDED
#define ELASTIC_RM_CORE_MPI_SHARE_H_INCLUDED

#include "core/job_performance.h"

namespace elastic::rm {

/* Between 0 and 1; `mtct_ppm`: MPI time / computing time. */
inline double mpi_share_of_mtct(int64_t mtct_ppm)
{
    auto mpi = static_cast<double>(mtct_ppm);
    return mpi / (mpi + static_cast<double>(PPM));
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MPI_SHARE_H_INCLUDED */
