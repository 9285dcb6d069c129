/*
 * Policy `measured` (policy_measured.h): an exchange between two jobs that run.
 */

#ifndef ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED
#define ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED

#include "core/policy/measured_sizes.h"

namespace elastic::rm {

/* An exchange: cores that one job gives so that another one becomes faster. */
struct Given {
    int size = 0;               /* of who gives, afterwards */
    int grown = 0;              /* of who gets */
    double speed = 1;           /* of who gets, over the present one */
};
/* `trial`: whether the processes that are given do anything is tried.  Nothing: it does not
 * pay. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial);
/* The same including the loans of the donor, as far as all other jobs together can use so many
 * cores. */
Given with_loan(Given given, const JobSpec &from, const MeasuredNumbers &gives, const JobSpec &to,
                const MeasuredNumbers &gets, int64_t wanted_cores);

/* The greatest size that the job is to have by an exchange. */
int most_exchanged(const JobSpec &spec, const MeasuredNumbers &numbers);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED */
