/* The part of MPI in all time is the same for both forms of report. */

#include "core/mpi_share.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

TEST(MpiShareTest, it_agrees_with_the_share_of_the_sums)
{
    EXPECT_EQ(mpi_share_of_mtct(0), 0);
    EXPECT_DOUBLE_EQ(mpi_share_of_mtct(PPM), 0.5);
    for (const LoopSums &sums :
         {LoopSums{1, 100, 25}, LoopSums{7, 1000003, 999}, LoopSums{9, 400, 399}}) {
        double share = static_cast<double>(*mpi_share_ppm(sums)) / static_cast<double>(PPM);
        EXPECT_NEAR(mpi_share_of_mtct(*mtct_ppm(sums)), share, 2.0 / static_cast<double>(PPM));
    }
    EXPECT_LE(mpi_share_of_mtct(MTCT_MAX_PPM), 1.0);
}

}  // namespace
}  // namespace elastic::rm
