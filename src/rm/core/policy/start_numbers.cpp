/* See start_numbers.h. */

#include "core/policy/start_numbers.h"

namespace elastic::rm {

namespace {

bool leaves(const ReservedStart &other, int64_t end_ms, int64_t cores)
{
    bool ends_before = end_ms != NEVER && (other.start_ms == NEVER || end_ms <= other.start_ms);
    bool is_left = other.start_ms != NEVER && cores <= other.cores_left;
    return ends_before || is_left || other.nodes_known;
}

}  // namespace

std::optional<StartRule> start_rule(const StartNumbers &numbers)
{
    if (numbers.fits <= 0 || numbers.fits > numbers.capacity)
        return std::nullopt;
    if (!numbers.backfill) {
        int fits = numbers.wanted <= numbers.capacity ? numbers.wanted : numbers.least;
        return numbers.fits == fits ? std::optional(StartRule::START) : std::nullopt;
    }
    /* The choice that fits beside the reservation also depends on nodes. */
    const BackfillNumbers &backfill = *numbers.backfill;
    int64_t cores = int64_t{numbers.fits} * numbers.cores_per_process;
    bool is_one = numbers.fits == numbers.wanted || numbers.fits == numbers.least;
    bool goes = is_one && leaves(backfill.promised, backfill.end_ms, cores) &&
                (!backfill.expected || leaves(*backfill.expected, backfill.end_ms, cores));
    return goes ? std::optional(StartRule::BACKFILL) : std::nullopt;
}

bool gives_size(const StartNumbers &numbers, int size)
{
    if (numbers.user_most)
        return size > 0 && size <= *numbers.user_most && size <= numbers.most;
    return size >= numbers.fits && size <= numbers.most;
}

}  // namespace elastic::rm
