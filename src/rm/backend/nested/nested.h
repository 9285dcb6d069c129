/*
 * `elasticd --nested`: the settings of an elasticd that manages only the nodes of one allocation,
 * for its user.  The nodes come from the environment (Slurm, PBS, LSF) or a file; state and socket
 * are in a folder of the allocation, which `elastic` finds without options; processes start as the
 * batch system requires: by srun under Slurm, by blaunch under LSF, else by ssh.
 *
 * Pure except for reading the node file and getenv(), which the caller may replace.
 */

#ifndef ELASTIC_RM_NESTED_H_INCLUDED
#define ELASTIC_RM_NESTED_H_INCLUDED

#include "backend/nested/allocation.h"
#include "backend/node_list.h"
#include "settings/settings.h"

namespace elastic::rm {

/* The nodes of an allocation, and how processes start there. */
struct NestedNodes {
    std::string name;                   /* Allocation::short_name(), or of the file */
    std::string source;                 /* for people: "Slurm job 12" */
    std::string launcher;               /* of mpiexec: slurm, lsf or ssh */
    std::string slurm_job;              /* empty: not a Slurm job */
    ListedNodes nodes;                  /* each with its cores */
};

/* `file`: empty, or a list that replaces that of the batch system. */
Result<NestedNodes> nested_nodes(const std::string &file,
                                 const Variables &variable = environment_variable);

/* The settings that differ in a nested elasticd. */
void set_nested(Settings &settings, const NestedNodes &nodes);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NESTED_H_INCLUDED */
