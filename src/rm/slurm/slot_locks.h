/*
 * Locks of a file in the step's folder: they state which slots of a job its steps of srun use.  The
 * kernel releases them when the last process of a step has ended, however it ends.
 */

#ifndef ELASTIC_RM_SLURM_SLOT_LOCKS_H_INCLUDED
#define ELASTIC_RM_SLURM_SLOT_LOCKS_H_INCLUDED

#include <string>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

class SlotLocks {
  public:
    /* One file for all steps of the job. */
    static Result<SlotLocks> open(const std::string &path);
    SlotLocks(SlotLocks &&other) noexcept : file_(other.file_) { other.file_ = -1; }
    ~SlotLocks();

    /* No other step chooses slots between these. */
    void begin();
    void end();
    /* Whether another step uses each of the first `count` slots. */
    std::vector<bool> used(int count) const;
    /* Between begin and end, slots that are free: until all processes that inherit the file have
     * ended. */
    bool take(const std::vector<int> &slots);
    /* Between begin and end: 0, 1, 2, ... */
    int next_step();

  private:
    explicit SlotLocks(int file) : file_(file) {}
    bool lock(int type, int64_t byte, bool wait) const;

    int file_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_SLOT_LOCKS_H_INCLUDED */
