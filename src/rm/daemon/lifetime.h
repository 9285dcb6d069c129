/*
 * The lifetime of elasticd without a signal: until the end of the Slurm job in which it is nested,
 * or until there has been no job for some time (idle_exit).  Notifies systemd.  Runs on the
 * daemon's loop.
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
        std::function<bool()> is_waited_for;    /* a connected client waits */
        std::function<void()> cancel_all;
    };

    Lifetime(Loop &loop, const Settings &settings, Daemon daemon);

    /* Everything is ready; the supervision begins. */
    void begin();
    void stopping();
    /* Removes the folder of an allocation that will not be used again. */
    void end();

  private:
    void watch_idleness();
    void allocation_is_over(const std::string &reason);

    Loop &loop_;
    const Settings &settings_;
    Daemon daemon_;
    std::unique_ptr<AllocationWatch> allocation_;
    int64_t idle_since_ms_ = 0;         /* monotonic */
    /* monotonic: the allocation has ended; elasticd ends by this time */
    std::optional<int64_t> over_at_ms_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LIFETIME_H_INCLUDED */
