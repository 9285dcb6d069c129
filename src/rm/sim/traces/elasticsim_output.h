/* The results of elasticsim: lines and tables for people, JSON, CSV and plots. */

#ifndef ELASTIC_RM_SIM_ELASTICSIM_OUTPUT_H_INCLUDED
#define ELASTIC_RM_SIM_ELASTICSIM_OUTPUT_H_INCLUDED

#include <map>
#include <ostream>

#include "sim/traces/elasticsim_options.h"
#include "sim/traces/outcome.h"
#include "sim/traces/series.h"

namespace elastic::rm {

struct Draw {
    uint64_t seed;
    OutcomeSums all;
    std::map<Elasticity, OutcomeSums> classes;
    std::map<std::string, OutcomeSums> users;
    int64_t makespan_ms;
    double utilisation;
    int64_t events, too_large, never_ran;
    double processor_seconds;
    bool whole; /* not interrupted */
    Series series; /* of the first draw, for plots */
};

Json to_json(const ElasticsimOptions &options, const Draw &draw);
void print(const ElasticsimOptions &options, const Draw &draw);
void print_means(const std::vector<Draw> &draws);

void write_csv_header(std::ostream &csv);
/* Writes a line for each job. */
void write_csv(std::ostream &csv, const ElasticsimOptions &options, uint64_t seed,
               const Workload &workload, const Outcome &outcome);

/* A page of plots of the draws of each policy. */
std::string page_of_plots(const std::vector<ElasticsimOptions> &runs,
                          const std::vector<std::vector<Draw>> &draws);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_ELASTICSIM_OUTPUT_H_INCLUDED */
