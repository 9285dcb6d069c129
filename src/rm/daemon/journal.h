/*
 * The journal makes each event durable before the core sees it.
 *
 * Events are collected for a turn of the loop; commit() numbers them, writes them at once, and
 * hands each to the core, in this turn and the following ones, so that other work is served in
 * between; then the next events are committed.  Rows that follow from them are written in parts,
 * with the next commits or soon.  Periodic snapshots shorten a restart (snapshot_writer.h).
 *
 * If a write fails, requests of people are refused with the reason; events of steps and of the
 * back end stay in memory and are written again.  Before that, a full disk uses the reserve
 * (store/disk_reserve.h): until there is space again no job is accepted, and all other work
 * continues.
 *
 * Owner of the store and of the events that wait for it.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_JOURNAL_H_INCLUDED
#define ELASTIC_RM_JOURNAL_H_INCLUDED

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/loop.h"
#include "core/core.h"
#include "core/steady_clock.h"
#include "daemon/snapshot_writer.h"
#include "monitor/prometheus_metrics.h"
#include "store/disk_reserve.h"
#include "store/store.h"

namespace elastic::rm {

class Journal {
  public:
    /* Null answer: the event could not be stored.  `is_new`: a Submit has created a job. */
    using Done = std::function<void(const Answer *answer, bool is_new)>;
    struct Entry {
        EventContent content;
        std::optional<LaunchRow> launch;
        Done done; /* for a request of a person; null: event of a step or the back end */
    };
    struct Parts {
        Loop &loop;
        Core &core;             /* source of the snapshots */
        SteadyClock &clock;
        Metrics &metrics;
    };
    /* Hands a durable event to the core, and performs what follows until the thread has used
     * `until_s` of processor time.  False: there is more to do; it is called again with the same
     * event. */
    using Handle = std::function<bool(const Event &event, Entry &entry, double until_s)>;

    Journal(Parts parts, Store store, uint64_t snapshot_seq, int64_t snapshot_events,
            int64_t reserve_bytes, Handle handle);

    void notify(EventContent content);
    /* Before all events that have arrived. */
    void notify_first(Configure configure);
    void request(Entry entry);
    /* The rows that follow from an action for `event`, see store/derive.h. */
    void derive(const Event &event, const Action &action, JobId last_job);

    void end_of_turn();
    /* False: the write failed, see error(). */
    bool commit();
    /* Handles all durable events at once. */
    void handle_accepted();
    /* Writes all pending data, if possible. */
    void close();
    /* Removes a bounded part of older data.  True: there is more. */
    bool remove_before(int64_t time_ms);
    /* The same for data beyond the bounds: of ended jobs of users with more than
     * `user_bytes_max`, then of the oldest history while the store has more than `bytes_max`;
     * and for unused space of the file. */
    bool remove_beyond(int64_t user_bytes_max, int64_t bytes_max);

    /* Calls back when all rows of the events so far are written, or cannot be. */
    void when_written(std::function<void()> task);
    /* Jobs that have ended, including those whose rows are not written yet. */
    Result<std::optional<Json>> ended(JobId job);
    /* The launch of a job, which may be assigned to it by the last events. */
    Result<std::optional<LaunchRow>> launch(JobId job);
    /* Rows of the last events may not be written yet. */
    Store &store() { return store_; }
    const std::string &error() const { return error_; }     /* empty: the last write succeeded */
    /* New jobs are accepted: the disk has enough space for them. */
    bool has_space() const { return reserve_.is_filled(); }
    /* Files of `bytes` for a step can be written: half of the reserve is left to ends of jobs and
     * decisions.  Releases the reserve if necessary. */
    bool make_space(int64_t bytes);

  private:
    size_t number(Batch &batch);
    std::string write(const Batch &batch);
    void watch_disk();
    void release_reserve(const std::string &error);
    void handle_some(double ms);
    void failed(const std::string &error);
    void try_again();
    bool rows_come_first() const;
    bool write_some_rows();
    void flush_soon(int64_t ms);
    void flush();
    void notify_written();
    void request_snapshot();
    void go_on_with_snapshot();
    int64_t now_ms() { return parts_.clock.now_ms(monotonic_ms(), unix_ms()); }

    Parts parts_;
    Store store_;
    Handle handle_;
    std::deque<Entry> inbox_;
    std::deque<std::pair<Event, Entry>> accepted_;      /* durable, but not handled yet */
    bool is_partial_ = false;           /* the first of them is handled in part */
    size_t requests_waiting_ = 0;       /* requests of people in the inbox */
    std::deque<Batch> derived_;         /* rows, in parts that are written at once */
    uint64_t parts_written_ = 0;
    struct Waiting {
        uint64_t parts;                 /* have to be written before */
        std::function<void()> task;
    };
    std::deque<Waiting> waiting_;
    std::deque<std::function<void()>> waiting_for_event_;   /* the one that is handled in part */
    bool snapshot_waits_ = false;       /* for the rows of the events so far */
    SnapshotWriter snapshot_;
    DiskReserve reserve_;
    Loop::TimerId flush_timer_ = 0, retry_timer_ = 0, snapshot_timer_ = 0;
    std::string error_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_JOURNAL_H_INCLUDED */
