/* See allocation_watch.h. */

#include "backend/nested/allocation_watch.h"

namespace elastic::rm {

namespace {

constexpr int64_t QUERY_MS = 15000;

/* States of a job that has its nodes, or will soon have them again. */
constexpr const char *LIVING[] = {"RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING",
                                  "PENDING", "STOPPED",   "SIGNALING",   "STAGE_OUT"};

}  // namespace

AllocationWatch::AllocationWatch(Loop &loop, std::string slurm_job, Over over)
    : loop_(loop), job_(std::move(slurm_job)), over_(std::move(over))
{
    query();
}

AllocationWatch::~AllocationWatch()
{
    loop_.cancel(timer_);
}

void AllocationWatch::query()
{
    timer_ = 0;
    CommandSpec spec;
    spec.words = {"squeue", "-h", "-j", job_, "-o", "%T"};
    squeue_ = std::make_unique<Command>(loop_, std::move(spec), [this](const CommandEnd &end) {
        answered(end);
    });
}

void AllocationWatch::answered(const CommandEnd &end)
{
    std::string reason = judge(job_, end);
    squeue_.reset();
    if (reason.empty())
        timer_ = loop_.after(QUERY_MS, [this] { query(); });
    else
        over_(reason);
}

std::string AllocationWatch::judge(const std::string &job, const CommandEnd &end)
{
    if (end.errors.find("Invalid job id") != std::string::npos)
        return "Slurm job " + job + " is over";
    std::string state = last_line(end.output, 40);
    if (!end.good())
        return "";
    for (const char *living : LIVING)
        if (state == living)
            return "";
    return "Slurm job " + job + " is over" + (state.empty() ? "" : " (" + state + ")");
}

}  // namespace elastic::rm
