/*
 * The allocation of a batch system in which this process runs, as its environment describes it; and
 * the socket of the elasticd that manages only its nodes (`elasticd --nested`).  Shared by
 * elasticd, which listens there, and `elastic`, which connects to it or starts it.
 *
 * Pure except for getenv(), which the caller may replace.
 */

#ifndef ELASTIC_RM_ALLOCATION_H_INCLUDED
#define ELASTIC_RM_ALLOCATION_H_INCLUDED

#include <functional>
#include <optional>
#include <string>

namespace elastic::rm {

enum class BatchSystem { SLURM, PBS, LSF };

struct Allocation {
    BatchSystem system = BatchSystem::SLURM;
    std::string id;             /* of the job, in the form of the batch system */

    /* "Slurm", for people */
    const char *system_name() const;
    /* "slurm-12": a valid file name for any id */
    std::string short_name() const;
};

/* The value of a variable; empty: it is not set. */
using Variables = std::function<std::string(const char *name)>;
std::string environment_variable(const char *name);

/* nullopt: not in an allocation that describes its nodes. */
std::optional<Allocation> find_allocation(const Variables &variable = environment_variable);

/* `base`: the user's folder for sockets (runtime_directory(), step_socket_directory()). */
std::string nested_folder(const std::string &base, const std::string &short_name);
std::string nested_socket(const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_ALLOCATION_H_INCLUDED */
