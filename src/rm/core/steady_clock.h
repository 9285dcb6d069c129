/*
 * The clock of all durations.  It counts like a clock that cannot be set and that includes sleep
 * (CLOCK_BOOTTIME), also over restarts of the daemon within one boot.  It approaches the wall clock
 * by at most a thousandth of the time.  So setting the wall clock forward ends no job, and setting
 * it back stops no time-out.  Displays use its time plus offset_ms().  Pure: readings in, time out.
 */

#ifndef ELASTIC_RM_CORE_STEADY_CLOCK_H_INCLUDED
#define ELASTIC_RM_CORE_STEADY_CLOCK_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::rm {

class SteadyClock {
  public:
    /* The start of the clock after a restart: stored with the events. */
    struct Mark {
        std::string boot;       /* the boot in which it was set */
        int64_t boot_ms = 0, clock_ms = 0;
    };

    /* After another boot only the wall clock shows the elapsed time.  Never before
     * `not_before_ms`. */
    void start(const std::optional<Mark> &mark, int64_t not_before_ms, const std::string &boot,
               int64_t boot_ms, int64_t wall_ms);
    /* In milliseconds since 1970, as far as the wall clock was right; never decreases. */
    int64_t now_ms(int64_t boot_ms, int64_t wall_ms);
    Mark mark() const { return {boot_, boot_ms_, clock_ms_}; }
    /* Add it to show a time to people: 0 as long as the clocks agree to some seconds. */
    int64_t offset_ms() const;

  private:
    std::string boot_;
    int64_t boot_ms_ = 0, clock_ms_ = 0, wall_ms_ = 0;
    /* The amount by which it may approach the wall clock.  Hardly any amount accumulates while
     * both agree, so that it is a thousandth of any span of time. */
    int64_t allowed_us_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_STEADY_CLOCK_H_INCLUDED */
