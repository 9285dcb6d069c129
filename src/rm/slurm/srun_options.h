/*
 * The arguments of srun in a script that elasticd runs (srun_main.cpp).  Options as of Slurm's
 * srun; one that has no effect here is reported, unless it requests what holds anyway.
 */

#ifndef ELASTIC_RM_SLURM_SRUN_OPTIONS_H_INCLUDED
#define ELASTIC_RM_SLURM_SRUN_OPTIONS_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

constexpr int SRUN_TASKS_MAX = 1 << 20;

struct SrunOptions {
    int tasks = 0;              /* 0: not given; so are the next ones */
    int nodes = 0;
    int tasks_per_node = 0;
    int cpus_per_task = 0;
    int relative = 0;           /* so many nodes of the job come before the first one */
    bool cyclic = false;        /* neighbouring ranks are on different nodes */
    bool overcommit = false;    /* more processes than cores */
    bool overlap = false;       /* on cores of other steps, too */
    bool immediate = false;     /* an error instead of waiting for cores */
    bool label = false;
    bool append = false;        /* to output files */
    bool help = false, version = false;
    std::vector<std::string> node_names, excluded;
    std::string directory;
    std::string output, error, input;   /* patterns; input: a file, "none", "all" or a rank */
    std::string binding;        /* an argument of mpiexec -bind-to; empty: not given */
    int time_limit_s = 0;       /* 0: none */
    /* --export: nullopt: all; else names and NAME=VALUE, after ALL if `export_all` */
    std::optional<std::vector<std::string>> exported;
    bool export_all = false;
    bool multi_prog = false;    /* the command is a file of programs (task_programs.h) */
    std::vector<std::string> command;
    std::vector<std::string> warnings;  /* options without effect, and why */
};

/* Without the name of the program. */
Result<SrunOptions> parse_srun(const std::vector<std::string> &words);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_SRUN_OPTIONS_H_INCLUDED */
