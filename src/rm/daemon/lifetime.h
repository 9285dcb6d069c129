/*
 * The lifetime of elasticd without a signal: as long as the Slurm job in which it is nested, or
 * until there has been no job for some time (idle_exit).  Notifies systemd.  Runs on the daemon's
 * loop.
 */

#ifndef ELASTIC_RM_LIFETIME_H_INCLUDED
#define ELASTIC_RM_LIFETIME_H_INCLUDED

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/nested/allocation_watch.h"
#include "base/loop.h"
#include "settings/settings.h"

namespace elastic::rm {

class Lifetime {
  public:
    struct Daemon {
        std::function<size_t()> unfinished_jobs;
        std::function<bool()> is_waited_for;    /* by somebody connected */
        std::function<void()> cancel_all;
    };

    Lifetime(Loop &loop, const Settings &settings, Daemon daemon);

    /* All is ready; from now on it is watched. */
    void begin();
    void stopping();
    /* Removes the folder of an allocation that nobody comes back to. */
    void end();

  private:
    void watch_idleness();
    void allocation_is_over(const std::string &reason);

    Loop &loop_;
    const Settings &settings_;
    Daemon daemon_;
    std::unique_ptr<AllocationWatch> allocation_;
    int64_t idle_since_ms_ = 0;         /* monotonic */
    std::optional<int64_t> over_at_ms_; /* monotonic: the allocation is over, and we end by then */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LIFETIME_H_INCLUDED */
