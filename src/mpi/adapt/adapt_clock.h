/*
 * The clock of measurements: CLOCK_MONOTONIC, or the processor's counter where the kernel uses that
 * as its clock.  The counter takes half as long and does not wait for preceding instructions.
 */

#ifndef ADAPT_CLOCK_H_INCLUDED
#define ADAPT_CLOCK_H_INCLUDED

#include <stdint.h>

/* The counter in nanoseconds: ns + (counter - ticks) * scale / 2^32.  Never changes once scale is
 * not 0. */
struct MPIR_Measure_clock {
    uint64_t ticks, ns, scale;
};
extern struct MPIR_Measure_clock MPIR_Measure_clock;

/* Once, before the first use. */
void MPIR_Measure_clock_init(void);
/* Reads the system's clock; also measures the rate of the counter, between two calls some time
 * apart. */
uint64_t MPIR_Measure_clock_read(void);

/* Nanoseconds, never 0. */
static inline uint64_t MPIR_Measure_now_ns(void)
{
#ifdef __x86_64__
    const struct MPIR_Measure_clock *clock = &MPIR_Measure_clock;
    uint64_t scale = __atomic_load_n(&clock->scale, __ATOMIC_ACQUIRE);
    if (scale)
        return clock->ns + (uint64_t) (((unsigned __int128) (__builtin_ia32_rdtsc() -
                                                             clock->ticks) * scale) >> 32);
#endif
    return MPIR_Measure_clock_read();
}

#endif /* ADAPT_CLOCK_H_INCLUDED */
