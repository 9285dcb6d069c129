/*
 * The event loop of mpiexec and of proxies in jobs that adapt: it replaces Hydra's demux engine.
 * Callbacks are registered as before (demux.h).  Differences from the stock engine:
 *   - it serves channels (channel.h) and detects hosts that do not answer (keepalive.h);
 *   - it has timers, in milliseconds;
 *   - a descriptor may be paused, so that its data waits in the kernel;
 *   - a callback may deregister any descriptor: an event that was found before is then dropped
 *     (the stock engine assigns events by counting and would give it to another descriptor);
 *   - records of deregistered descriptors are freed: temporary groups would accumulate them.
 */

#ifndef EVENT_LOOP_H_INCLUDED
#define EVENT_LOOP_H_INCLUDED

#include "hydra.h"

struct HYD_loop_hooks {
    /* Milliseconds until `due` wants to be called, <0: never. */
    int64_t(*wait_ms) (void);
    void (*due) (void);
    /* After the events of each round. */
    void (*after) (void);
    /* Whether its data is served before all other data: a process may send a report and then, by
     * another descriptor, request the end of the job. */
    int (*is_first) (int fd);
};

/* Any hook may be NULL; what they point to stays the caller's. */
void HYD_loop_use(const struct HYD_loop_hooks *hooks);

/* The descriptor is not read until it is resumed, or for so long.  When the other end is closed it
 * is all the same, and bounded: what is left in a pipe or socket. */
void HYD_loop_pause(int fd, int paused);
void HYD_loop_rest(int fd, int ms);

/* A descriptor has been read outside of its callback: an event found before is checked again before
 * it is served. */
void HYD_loop_outdate(void);

/* Calls `due` once, `ms` from now, instead of at the time of the last call; `ms` < 0: never.  It
 * uses no descriptor: a proxy may have none free.  For a fixed set of functions. */
void HYD_loop_call(HYD_status(*due) (void), int64_t ms);

#endif /* EVENT_LOOP_H_INCLUDED */
