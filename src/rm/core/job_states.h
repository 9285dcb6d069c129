/* The states of jobs and their names. */

#ifndef ELASTIC_RM_CORE_JOB_STATES_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_STATES_H_INCLUDED

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "core/fields.h"

namespace elastic::rm {

enum class JobState {
    PENDING,
    STARTING,
    RUNNING,
    ADAPTING,
    SUSPENDED,
    COMPLETING,
    DONE,
    FAILED,
    CANCELLED
};

struct JobStateNames {
    const char *name;
    const char *code;           /* as squeue shows it */
    const char *slurm;          /* name in squeue or sacct */
    bool is_end;
};
/* In the order of JobState. */
inline constexpr JobStateNames JOB_STATES[] = {
    {"PENDING", "PD", "PENDING", false},       {"STARTING", "ST", "CONFIGURING", false},
    {"RUNNING", "R", "RUNNING", false},        {"ADAPTING", "AD", "RESIZING", false},
    {"SUSPENDED", "S", "SUSPENDED", false},    {"COMPLETING", "CG", "COMPLETING", false},
    {"DONE", "CD", "COMPLETED", true},         {"FAILED", "F", "FAILED", true},
    {"CANCELLED", "CA", "CANCELLED", true},
};

template <> struct NamesOf<JobState> {
    static constexpr auto names = [] {
        std::array<const char *, std::size(JOB_STATES)> all = {};
        std::ranges::transform(JOB_STATES, all.begin(), &JobStateNames::name);
        return all;
    }();
};

constexpr const JobStateNames &names_of(JobState state)
{
    return JOB_STATES[static_cast<size_t>(state)];
}

/* The state with this name or code; nullptr: there is none. */
constexpr const JobStateNames *find_job_state(std::string_view text)
{
    const auto *found = std::ranges::find_if(JOB_STATES, [text](const JobStateNames &state) {
        return text == state.name || text == state.code;
    });
    return found == std::end(JOB_STATES) ? nullptr : found;
}

/* Whether a job in the state with this name or code has ended. */
constexpr bool is_end(std::string_view text)
{
    const JobStateNames *state = find_job_state(text);
    return state && state->is_end;
}

constexpr bool is_end(JobState state)
{
    return names_of(state).is_end;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_STATES_H_INCLUDED */
