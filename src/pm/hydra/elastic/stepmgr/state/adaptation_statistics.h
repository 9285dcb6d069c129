/*
 * Counts and times of the adaptations of a step, for its status and for the line that mpiexec
 * prints at the end.
 */

#ifndef ELASTIC_ADAPTATION_STATISTICS_H_INCLUDED
#define ELASTIC_ADAPTATION_STATISTICS_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stepmgr/state/adaptation.h"

namespace elastic {

class AdaptationStatistics {
  public:
    /* The new size of the world, after the launch or a commit. */
    void add_size(int size);
    /* Adds the times of the phases of a committed adaptation.  One that was not agreed on has no
     * time in the window. */
    void add_times(const Adaptation &adaptation, int64_t now_ms);
    void add_end(AdaptState end);

    uint64_t committed() const { return committed_; }
    uint64_t withdrawn() const { return withdrawn_; }
    uint64_t failed() const { return failed_; }

    /* One line; empty if no adaptation has ended. */
    std::string summary(int size_now) const;

  private:
    static constexpr size_t SIZES_MAX = 16;

    uint64_t committed_ = 0, withdrawn_ = 0, failed_ = 0;
    int64_t launch_ms_ = 0, agree_ms_ = 0, window_ms_ = 0;      /* sums over committed ones */
    std::vector<int> sizes_;    /* the first few */
};

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_STATISTICS_H_INCLUDED */
