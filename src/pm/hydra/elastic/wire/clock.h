/* The clock of mpiexec and of proxies. */

#ifndef WIRE_CLOCK_H_INCLUDED
#define WIRE_CLOCK_H_INCLUDED

#include <stdint.h>
#include <time.h>

static inline int64_t HYD_monotonic_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#endif /* WIRE_CLOCK_H_INCLUDED */
