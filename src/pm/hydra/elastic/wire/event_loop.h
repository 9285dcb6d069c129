/*
 * The event loop of mpiexec and of node daemons in jobs that adapt: it takes the place of Hydra's demux engine.
 * Callbacks are registered as ever (demux.h).  Differences from the stock engine:
 *   - it serves channels (channel.h) and watches for silent hosts (silence.h);
 *   - it wakes at times that are asked for, in milliseconds, and then calls who asked;
 *   - a descriptor may be left alone for a while, so that what comes from it waits where it is;
 *   - a callback may deregister any descriptor: an event that was found before is then dropped
 *     (the stock engine assigns events by counting and would give it to another descriptor);
 *   - records of deregistered descriptors are freed: groups that come and go would pile them up.
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
    /* Whether what comes from it is served before all else that has come: a process may say something and then, by
     * another descriptor, ask for the end of the job. */
    int (*is_first) (int fd);
};

/* Any hook may be NULL; what they point to stays the caller's. */
void HYD_loop_use(const struct HYD_loop_hooks *hooks);

/* The descriptor is not read until it is resumed, or for so long.  When the other end is closed it is all the same, and
 * bounded: what is left in a pipe or socket. */
void HYD_loop_pause(int fd, int paused);
void HYD_loop_rest(int fd, int ms);

/* A descriptor has been read outside of its callback: what was found before is looked at again before it is served. */
void HYD_loop_outdate(void);

/* Calls `due` once, `ms` from now, instead of at the time that was asked for before; `ms` < 0: not at all.  It takes no
 * descriptor: a daemon may have none left.  For some functions that are known beforehand. */
void HYD_loop_call(HYD_status(*due) (void), int64_t ms);

#endif /* EVENT_LOOP_H_INCLUDED */
