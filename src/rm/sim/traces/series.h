/*
 * A replayed workload over time: means over equal intervals, from the first submission to the last
 * end.
 */

#ifndef ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED

#include "sim/traces/outcome.h"

namespace elastic::rm {

struct Series {
    double interval_ms = 0;             /* 0: there is nothing */
    std::vector<double> waiting;        /* jobs that wait */
    std::vector<double> utilisation;    /* part of the cores that is booked */
    /* Of the malleable jobs that run, in units of the size that each has in the trace; NaN: none
     * runs. */
    std::vector<double> sizes;
};

/* The outcome must have its changes of size (ReplayOptions::keep_sizes).  Of a replay that was
 * stopped: as far as it went. */
Series series_of(const Workload &workload, const Outcome &outcome, int64_t cores,
                 size_t intervals);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED */
