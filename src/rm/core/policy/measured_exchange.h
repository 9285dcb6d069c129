/*
 * Policy `measured` (policy_measured.h): an exchange of cores between two running jobs.
 */

#ifndef ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED
#define ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED

#include "core/policy/measured_sizes.h"

namespace elastic::rm {

/* An exchange: one job releases cores so that another one becomes faster. */
struct Given {
    int size = 0;               /* of the donor, afterwards */
    int grown = 0;              /* of the recipient */
    double speed = 1;           /* of the recipient, relative to the present one */
};
/* `trial`: the exchange tests whether the donor needs the processes.  Nullopt: no exchange pays. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial);
/* The same including the loans of the donor, as far as all other jobs together can use the
 * cores. */
Given with_loan(Given given, const JobSpec &from, const MeasuredNumbers &gives, const JobSpec &to,
                const MeasuredNumbers &gets, int64_t wanted_cores);

/* The greatest size that the job may get by an exchange: it would also grow to it on idle cores, so
 * that the released cores do not go to another job. */
int most_exchanged(const JobSpec &spec, const MeasuredNumbers &numbers);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MEASURED_EXCHANGE_H_INCLUDED */
