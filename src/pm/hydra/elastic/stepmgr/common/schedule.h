/*
 * The text of --adapt-schedule: sizes of the world, their times, the leaving processes, the hosts
 * of the joining processes, and the program that these run.
 *
 *   schedule = entry *("," entry)          newlines separate entries too; "#" starts a comment
 *   entry    = [TIME ":"] SIZE ["/leave=" RANKS] ["/hosts=" HOSTS] ["/program=" NUMBER]
 *   TIME     = number ("ms" | "s" | "m")   after launch, fractions allowed ("0.5s")
 *   RANKS    = rank or rank-rank, joined by "+", or by "," in brackets, as in [0,2]; ranks before
 *            the change
 *   HOSTS    = names joined likewise, for the joining processes
 *   NUMBER   = of the programs launched together, from 0: what the joining processes run
 *
 * Pure; an error names the entry and its position in the text.
 */

#ifndef ELASTIC_SCHEDULE_H_INCLUDED
#define ELASTIC_SCHEDULE_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/change.h"
#include "base/result.h"

namespace elastic {

inline constexpr size_t SCHEDULE_MAX_BYTES = 1 << 20;
inline constexpr size_t SCHEDULE_MAX_ENTRIES = 100000;
inline constexpr int64_t TIME_MAX_MS = int64_t{1000} * 60 * 60 * 24 * 365;

struct ScheduleEntry {
    std::optional<int64_t> at_ms;       /* after launch; none: when the entry before is committed */
    ChangeRequest change;
};

/* `launch_size` 0: not known yet; the first entry is then checked when it is applied.  `programs`:
 * as in resolve_change. */
Result<std::vector<ScheduleEntry>> parse_schedule(std::string_view text, int launch_size,
                                                  int programs = 0);

/* "2s", "250ms", "1m", "0.5s"; "0" needs no unit. */
Result<int64_t> parse_time_ms(std::string_view text);

/* "MIN:MAX", 1 <= MIN <= MAX. */
struct Range {
    int min = 0, max = 0;
    bool holds(int size) const { return min <= size && size <= max; }
};
Result<Range> parse_range(std::string_view text);

}  // namespace elastic

#endif /* ELASTIC_SCHEDULE_H_INCLUDED */
