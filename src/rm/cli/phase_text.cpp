/* See phase_text.h. */

#include "cli/phase_text.h"

namespace elastic {
namespace {

constexpr double ITERATIONS_MIN = 3;    /* before that the duration of one is unknown (J7) */

std::string number(double value, const char *form)
{
    char text[64];
    snprintf(text, sizeof text, form, value);
    return text;
}

/* The remaining time, if iterations continue at their rate. */
std::string remaining_text(const Json &phase)
{
    double done = number_or(phase, "iteration", 0), total = number_or(phase, "total", -1);
    double round_us = number_or(phase, "iteration_us", -1);
    if (total < 0 || done < ITERATIONS_MIN || round_us < 0)
        return "";
    double seconds = std::max(total - done, 0.0) * round_us / 1e6;
    if (seconds < 100)
        return number(seconds, ", about %.0f s left");
    return seconds < 6000 ? number(seconds / 60, ", about %.0f min left")
                          : number(seconds / 3600, ", about %.0f h left");
}

/* The stragglers. */
std::string stragglers_text(const Json &phase)
{
    std::string text;
    for (const Json &rank : list_of(phase, "behind"))
        text += (text.empty() ? "; straggler in iteration " : ", ") + text_of(rank, "iteration") +
                ": rank " + text_of(rank, "rank") + " on " + string_or(rank, "host", "?");
    return text;
}

}  // namespace

std::string phase_text(const Json &phase)
{
    if (!phase.is_object() || !phase.contains("iteration"))
        return "";
    std::string name = string_or(phase, "name", "");
    if (name.empty())
        name = "phase " + text_of(phase, "element");
    bool rigid = bool_or(phase, "rigid", false);
    if (rigid && number_or(phase, "total", -1) == 1)
        return name + ", a rigid phase" + stragglers_text(phase);
    std::string total = number_or(phase, "total", -1) < 0 ? "" : " of " + text_of(phase, "total");
    return name + ": " + text_of(phase, "iteration") + total + " iterations" +
        (rigid ? " of a rigid phase" : "") + remaining_text(phase) + stragglers_text(phase);
}

}  // namespace elastic
