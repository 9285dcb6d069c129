/*
 * Slurm's commands, given beside the loop.  Each has a time limit; its end is told once, from the
 * loop, unless the client is destroyed before: then the commands are killed, and what they were
 * about to do may be done or not (whoever starts again looks).
 *
 * Owner of the commands that run.  One thread, that of the loop.
 */

#ifndef ELASTIC_RM_SLURM_CLIENT_H_INCLUDED
#define ELASTIC_RM_SLURM_CLIENT_H_INCLUDED

#include <functional>
#include <map>
#include <memory>

#include "backend/slurm/slurm_command.h"

namespace elastic::rm {

/* All nodes and jobs of the partition; the jobs are never older than the nodes. */
struct SlurmLook {
    std::vector<SlurmNode> nodes;
    std::vector<SlurmJob> jobs;
};

class SlurmClient {
  public:
    using Done = std::function<void(const SlurmAnswer &)>;
    using Looked = std::function<void(const SlurmAnswer &, const SlurmLook &)>;

    explicit SlurmClient(Loop &loop) : loop_(loop) {}

    /* `wait_ms`: that the command itself may take by what it was told. */
    void run(Words words, int64_t wait_ms, Done done);
    void look(const std::string &partition, Looked done);
    /* Jobs alone, and those that have ended of late. */
    void look_at_ended(const std::string &partition, Looked done);

  private:
    void list_jobs(const std::string &partition, bool ended, SlurmLook look, Looked done);
    void forget(uint64_t number);

    Loop &loop_;
    std::map<uint64_t, std::unique_ptr<Command>> commands_;
    uint64_t last_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_CLIENT_H_INCLUDED */
