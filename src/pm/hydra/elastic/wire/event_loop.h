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
    /* Milliseconds until the next call of `due`, <0: never. */
    int64_t(*wait_ms) (void);
    void (*due) (void);
    /* Called after the events of each round. */
    void (*after) (void);
    /* Whether the data of this descriptor is served before all other data: a process may send a
     * report and then request the end of the job on another descriptor. */
    int (*is_first) (int fd);
};

/* Any hook may be NULL.  The caller keeps ownership of `hooks`. */
void HYD_loop_use(const struct HYD_loop_hooks *hooks);

/* pause: does not read the descriptor until it is resumed. rest: does not read it for `ms` ms.  It
 * is read nevertheless when the other end is closed: then only the rest in the pipe or socket is
 * left. */
void HYD_loop_pause(int fd, int paused);
void HYD_loop_rest(int fd, int ms);

/* A descriptor was read outside of its callback: known events are checked again before they are
 * served. */
void HYD_loop_outdate(void);

/* Calls `due` once, in `ms` ms; replaces an earlier time for `due`; `ms` < 0: never.  Uses no
 * descriptor, because a proxy may have no free one.  For a fixed set of functions. */
void HYD_loop_call(HYD_status(*due) (void), int64_t ms);

#endif /* EVENT_LOOP_H_INCLUDED */
