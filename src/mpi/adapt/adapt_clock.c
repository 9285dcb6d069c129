/* See adapt_clock.h. */

#include "adapt_clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNTER_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CALIBRATION_NS 20000000 /* an error of 50 ns at its ends is 5 parts in a million */

struct MPIR_Measure_clock MPIR_Measure_clock;

static struct {
    bool has_counter;
    uint64_t ticks, ns;         /* of the first reading, 0: none */
} calibration;

/* The kernel uses the counter only if it has a constant rate and is synchronous on all
 * processors. */
void MPIR_Measure_clock_init(void)
{
#ifdef __x86_64__
    char name[8] = "";
    int fd = open(COUNTER_FILE, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    calibration.has_counter = read(fd, name, sizeof(name) - 1) == 4 && strcmp(name, "tsc\n") == 0;
    close(fd);
#endif
}

static uint64_t system_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

#ifdef __x86_64__
static void calibrate(uint64_t ns)
{
    uint64_t ticks = __builtin_ia32_rdtsc();

    if (!calibration.ns) {
        calibration.ns = ns;
        calibration.ticks = ticks;
    } else if (ns - calibration.ns >= CALIBRATION_NS && ticks > calibration.ticks) {
        uint64_t scale = (uint64_t) (((unsigned __int128) (ns - calibration.ns) <<
                                      32) / (ticks - calibration.ticks));
        MPIR_Measure_clock.ticks = ticks;
        MPIR_Measure_clock.ns = ns;
        __atomic_store_n(&MPIR_Measure_clock.scale, scale, __ATOMIC_RELEASE);
    }
}
#endif

uint64_t MPIR_Measure_clock_read(void)
{
    uint64_t ns = system_ns();

#ifdef __x86_64__
    if (calibration.has_counter)
        calibrate(ns);
#endif
    return ns;
}
