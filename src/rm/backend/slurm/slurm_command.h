/*
 * The commands that elasticd sends to Slurm, and the meaning of their results.  All code that
 * depends on a version of Slurm is here and in slurm_text.  Pure.
 */

#ifndef ELASTIC_RM_SLURM_COMMAND_H_INCLUDED
#define ELASTIC_RM_SLURM_COMMAND_H_INCLUDED

#include "backend/slurm/slurm_text.h"
#include "base/command.h"

namespace elastic::rm {

/* The part of the configuration that applies to every allocation. */
struct SlurmOptions {
    std::string partition, account, qos;
    std::vector<std::string> more;      /* as written, for salloc */
};

struct SlurmAllocation {
    SlurmTag tag;
    NodeNames nodes;
    SlurmId expands = 0;        /* 0: a separate job */
    int64_t wait_s = 0;         /* maximum wait for the nodes; 0: no wait */
    int64_t limit_ms = 0;       /* required duration; 0: the maximum of the partition */
    bool for_user = false;      /* a user other than elasticd's own */
    uint32_t uid = 0, gid = 0;
};

using Words = std::vector<std::string>;

/* An allocation of whole nodes without a shell: it exists when the command has succeeded. */
Words allocate_command(const SlurmAllocation &allocation, const SlurmOptions &options);
/* The nodes of an expansion go to the job that it expands. */
Words merge_command(SlurmId id);
Words shrink_command(SlurmId id, const NodeNames &keep);
Words cancel_command(SlurmId id);
Words config_command();
/* "NAME" of each partition, the default one with a star. */
Words partitions_command();
Words nodes_command(const std::string &partition, const std::string &marker);
/* `ended`: including ended jobs that Slurm still knows. */
Words jobs_command(const std::string &partition, const std::string &marker, bool ended);

/* The end of a command, for its sender. */
struct SlurmAnswer {
    enum class Kind {
        GOOD,
        REFUSED,        /* Slurm refuses it */
        /* result unknown: Slurm could not be reached, or does not answer */
        NONE
    };
    Kind kind = Kind::NONE;
    std::string output;
    std::string problem;        /* one line, for people */
    bool good() const { return kind == Kind::GOOD; }
};
SlurmAnswer answer_of(const CommandEnd &end);

/* Other jobs come first, but the request might be met between two of them; or the reason of the
 * waiting request is clearer than the refusal.  `expands`: of an expansion. */
bool may_be_had_by_waiting(const SlurmAnswer &answer, bool expands);
/* The meaning of a refusal, and its text for users; a waiting request has a more precise one
 * (pending_kind). */
PendingKind refusal_kind(const SlurmAnswer &answer);
std::string refusal_text(const SlurmAnswer &answer);
/* The nodes are not available now; the form of the request may be correct. */
bool is_busy(const SlurmAnswer &answer);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_COMMAND_H_INCLUDED */
