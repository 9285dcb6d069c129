/*
 * A replayed workload over time: means over equal intervals, from the first submission to the last
 * end.
 */

#ifndef ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED

#include "sim/traces/outcome.h"

namespace elastic::rm {

struct Series {
    double interval_ms = 0;             /* 0: no data */
    std::vector<double> waiting;        /* waiting jobs */
    std::vector<double> utilisation;    /* booked part of the cores */
    /* Mean of the running malleable jobs, in units of the size of each in the trace; NaN: none
     * runs. */
    std::vector<double> sizes;
};

/* The outcome must contain its changes of size (ReplayOptions::keep_sizes).  For a stopped
 * replay: up to its end. */
Series series_of(const Workload &workload, const Outcome &outcome, int64_t cores,
                 size_t intervals);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_SERIES_H_INCLUDED */
