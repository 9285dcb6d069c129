/*
 * Speed-up models of simulated jobs: the speed of a program with more processes.
 */

#ifndef ELASTIC_RM_SIM_TRACES_SPEEDUP_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_SPEEDUP_H_INCLUDED

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

struct LinearSpeedup {};

struct AmdahlSpeedup {
    double serial = 0; /* share of the work that only one process can do, 0 to 1 */
};

/* Downey 1997, "A model for speedup of parallel programs": average parallelism A >= 1, variance of
 * it sigma >= 0. */
struct DowneySpeedup {
    double parallelism = 1;
    double sigma = 0;
};

/* Speeds for some sizes; linear between them, constant beyond the last. */
struct TableSpeedup {
    std::vector<std::pair<int, double>>
        points; /* size and speed, both rising; the first is (1, 1) */
};

using Speedup = std::variant<LinearSpeedup, AmdahlSpeedup, DowneySpeedup, TableSpeedup>;

/* Speed with this number of processes, >= 1; that of one process is 1. */
double speed(const Speedup &speedup, int processes);

/* "linear", "amdahl:0.02", "downey:64,0.5", "table:1=1,2=1.9,8=4"; or the error. */
Result<Speedup> read_speedup(const std::string &text);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_SPEEDUP_H_INCLUDED */
