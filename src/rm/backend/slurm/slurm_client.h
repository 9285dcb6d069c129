/*
 * Slurm's commands, as child processes.  Each has a time limit; the loop reports its end once,
 * unless the client is destroyed before: then the commands are killed, and their effects are
 * unknown (a new client polls first).
 *
 * Owner of the running commands.  One thread, that of the loop.
 */

#ifndef ELASTIC_RM_SLURM_CLIENT_H_INCLUDED
#define ELASTIC_RM_SLURM_CLIENT_H_INCLUDED

#include <functional>
#include <map>
#include <memory>

#include "backend/slurm/slurm_command.h"

namespace elastic::rm {

/* All nodes and jobs of the partition; the jobs are never older than the nodes. */
struct SlurmReport {
    std::vector<SlurmNode> nodes;
    std::vector<SlurmJob> jobs;
};

class SlurmClient {
  public:
    using Done = std::function<void(const SlurmAnswer &)>;
    using Polled = std::function<void(const SlurmAnswer &, const SlurmReport &)>;

    explicit SlurmClient(Loop &loop) : loop_(loop) {}

    /* `wait_ms`: the time that the command itself may wait by its arguments. */
    void run(Words words, int64_t wait_ms, Done done);
    void poll(const std::string &partition, Polled done);
    /* Only jobs, including those that ended recently. */
    void list_ended(const std::string &partition, Polled done);

  private:
    void list_jobs(const std::string &partition, bool ended, SlurmReport poll, Polled done);
    void discard(uint64_t number);

    Loop &loop_;
    std::map<uint64_t, std::unique_ptr<Command>> commands_;
    uint64_t last_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_CLIENT_H_INCLUDED */
