/*
 * One page with plots of replays, as SVG: queue length, utilisation and sizes over time, a line for
 * each policy; below, a comparison of the policies over all draws.
 */

#ifndef ELASTIC_RM_SIM_TRACES_PLOTS_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_PLOTS_H_INCLUDED

#include "sim/traces/series.h"

namespace elastic::rm {

/* A mean, and half the width of its 95 % interval (0 for a single value). */
struct Mean {
    double mean = 0, half = 0;
};
Mean mean_of(const std::vector<double> &values);

/* The results of one policy. */
struct PolicyPlot {
    std::string policy;
    Series series;              /* of the first draw */
    std::vector<OutcomeSums> draws;
};

std::string plots(const std::string &title, const std::vector<PolicyPlot> &policies);

/* 1, 2 or 5 times a power of ten, such that at most `most` of them are in `range` > 0. */
double tick_width(double range, int most);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_PLOTS_H_INCLUDED */
