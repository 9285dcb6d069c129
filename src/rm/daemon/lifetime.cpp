/* See lifetime.h. */

#include "daemon/lifetime.h"

#include <filesystem>

#include "base/log.h"
#include "base/systemd_notify.h"

namespace elastic::rm {

namespace {

constexpr int64_t LOOK_MS = 500;
/* time in which the jobs of an ended allocation must end */
constexpr int64_t OVER_GRACE_MS = 60000;

}  // namespace

Lifetime::Lifetime(Loop &loop, const Settings &settings, Daemon daemon)
    : loop_(loop), settings_(settings), daemon_(std::move(daemon))
{
}

void Lifetime::begin()
{
    notify_systemd("READY=1");
    if (!settings_.nested_slurm_job.empty())
        allocation_ = std::make_unique<AllocationWatch>(
            loop_, settings_.nested_slurm_job,
            [this](const std::string &reason) { allocation_is_over(reason); });
    idle_since_ms_ = monotonic_ms();
    if (settings_.idle_exit_ms > 0)
        watch_idleness();
}

void Lifetime::stopping()
{
    notify_systemd("STOPPING=1");
}

void Lifetime::watch_idleness()
{
    int64_t now_ms = monotonic_ms();
    size_t unfinished = daemon_.unfinished_jobs();
    if (unfinished > 0 || daemon_.is_waited_for())
        idle_since_ms_ = now_ms;
    bool is_over = over_at_ms_ && (now_ms >= *over_at_ms_ || unfinished == 0);
    bool is_idle = settings_.idle_exit_ms > 0 && now_ms - idle_since_ms_ >= settings_.idle_exit_ms;
    if (!is_over && !is_idle) {
        loop_.after(LOOK_MS, [this] { watch_idleness(); });
        return;
    }
    log_line(LogLevel::INFO,
             is_over ? "elasticd ends with its allocation"
                     : "elasticd ends: there has been no job for a while");
    loop_.stop();
}

/* Its nodes belong to others now. */
void Lifetime::allocation_is_over(const std::string &reason)
{
    log_line(LogLevel::WARNING, reason + "; all jobs in it are cancelled",
             {{"jobs", daemon_.unfinished_jobs()}});
    daemon_.cancel_all();
    over_at_ms_ = monotonic_ms() + OVER_GRACE_MS;
    if (settings_.idle_exit_ms == 0)
        watch_idleness();
}

/* The state of an allocation without running jobs will not be used again. */
void Lifetime::end()
{
    if (settings_.nested_folder.empty() || (daemon_.unfinished_jobs() > 0 && !over_at_ms_))
        return;
    std::error_code code;
    std::filesystem::remove_all(settings_.nested_folder, code);
    if (code)
        log_line(LogLevel::WARNING, "cannot remove the folder of this allocation",
                 {{"folder", settings_.nested_folder}, {"error", code.message()}});
}

}  // namespace elastic::rm
