/*
 * Monitors the Slurm job of a nested elasticd: queries squeue periodically, and notifies once when
 * the job has ended.  A missing answer of Slurm does not count as an end.  Runs on the daemon's
 * loop.
 */

#ifndef ELASTIC_RM_ALLOCATION_WATCH_H_INCLUDED
#define ELASTIC_RM_ALLOCATION_WATCH_H_INCLUDED

#include "base/command.h"

namespace elastic::rm {

class AllocationWatch {
  public:
    using Over = std::function<void(const std::string &reason)>;

    AllocationWatch(Loop &loop, std::string slurm_job, Over over);
    ~AllocationWatch();

    /* Result of squeue: why the job has ended, or empty. */
    static std::string judge(const std::string &job, const CommandEnd &end);

  private:
    void query();
    void answered(const CommandEnd &end);

    Loop &loop_;
    std::string job_;
    Over over_;
    std::unique_ptr<Command> squeue_;
    Loop::TimerId timer_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_ALLOCATION_WATCH_H_INCLUDED */
