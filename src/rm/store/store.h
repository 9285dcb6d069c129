/*
 * The persistent data of elasticd, in one SQLite file (write-ahead log, each commit synchronous):
 *
 *   event     every input of the core, numbered; all other data is derived
 *   snapshot  the core after some event: a restart replays only newer events
 *   snapshot_part   long parts of a snapshot, written before it; invalid without it
 *   launch    the part of each submission that the core does not need (program, environment,
 *             files), by the number of its event; `job` is set once the core has accepted it; the
 *             environment is deleted when the job has ended
 *   record    the history for display, derived from the events
 *   ended     each ended job in its last state; derived
 *   used      bytes of the rows of each user until they are deleted; maintained by triggers
 *   clock     the time of the last event by a clock that cannot be set (core/steady_clock.h)
 *
 * A turn of the daemon is one Batch, written in one transaction, completely or not at all.  Derived
 * rows of a turn are written with the next Batch, or alone and then without a synchronisation (a
 * restart derives them again), so that a turn costs one synchronisation.
 *
 * The disk may fail.  Unreadable data is an error, never the end of a table: a caller that gets a
 * value has all of it.  Events and snapshots carry a checksum; events are numbered without a gap.
 *
 * The folder is locked while the store is open: two daemons never share it.  One thread.
 */

#ifndef ELASTIC_RM_STORE_H_INCLUDED
#define ELASTIC_RM_STORE_H_INCLUDED

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "core/action.h"
#include "core/event.h"
#include "core/steady_clock.h"

struct sqlite3;
struct sqlite3_stmt;

namespace elastic::rm {

struct LaunchRow {
    uint64_t seq = 0;           /* number of the Submit */
    uint32_t uid = 0;
    Json body;                  /* a Launch, see launch.h */
    std::string script;         /* empty: none */
    int64_t bytes = 0;          /* approximate, of both; not stored */
};

struct EndedRow {
    JobId job = 0;
    uint32_t uid = 0;
    int64_t submitted_ms = 0, ended_ms = 0;
    Json body;                  /* the core's Job */
};

struct Batch {
    std::vector<Event> events;
    std::vector<LaunchRow> launches;
    /* Assigns a launch to the jobs from the first to the last; first 0: drops the launch. */
    struct Bound {
        uint64_t seq = 0;
        JobId job = 0, last = 0;
    };
    std::vector<Bound> bound;
    std::vector<Record> records;
    std::vector<EndedRow> ended;
    std::optional<SteadyClock::Mark> clock;  /* of the events; without events it is not committed */

    bool empty() const
    {
        return events.empty() && launches.empty() && bound.empty() && records.empty() &&
            ended.empty();
    }
    size_t rows() const { return bound.size() + records.size() + ended.size(); }
};

struct RecordQuery {
    uint64_t since = 1;
    size_t limit = 1000;
    JobId job = 0;              /* 0: all */
    std::string node;           /* empty: all */
};

class Store {
  public:
    /* Makes the folder (mode 0700) and the file if they do not exist. */
    static Result<Store> open(const std::string &folder);
    ~Store();
    Store(Store &&) noexcept;
    Store &operator=(Store &&) noexcept;

    /* Returns an error if nothing was written, or empty.  Afterwards events and launches are on
     * the disk; derived rows of earlier events may be lost at a power failure, with all later
     * data. */
    std::string write(const Batch &batch);
    /* Tests a write that changes nothing: whether writing is possible again. */
    std::string probe();
    /* A snapshot whose parts were written before.  An older one is deleted. */
    std::string write_snapshot(uint64_t seq, int64_t time_ms, const Json &head, uint64_t parts = 0);
    std::string write_snapshot_part(uint64_t seq, uint64_t number, const Json &part);
    /* Deletes at most this number of parts that belong to no snapshot.  True: there may be more. */
    Result<bool> tidy_snapshots(int64_t parts_max);
    /* Deletes data of jobs and events before this time, except data that a restart needs: at
     * most `rows_max` of each kind.  True: there is more. */
    Result<bool> remove_before(int64_t time_ms, int64_t rows_max);

    /* The last write failed because the disk is full. */
    bool is_full() const;

    Result<int64_t> used_bytes(uint32_t uid);
    Result<std::vector<uint32_t>> users_above(int64_t bytes);
    /* Deletes ended jobs of the user, the oldest first, with all their data: approximately this
     * number of rows.  False: there are none. */
    Result<bool> remove_oldest_of(uint32_t uid, int64_t rows_max);
    /* The time of the event after this number of oldest ones; nullopt: there are fewer. */
    Result<std::optional<int64_t>> time_of_oldest(int64_t events);
    struct Pages {
        int64_t used_bytes, unused_bytes;       /* of the file */
    };
    Pages pages();
    /* Reduces the file by this number of unused pages. */
    std::string return_pages(int64_t pages);

    struct Snapshot {
        uint64_t seq = 0;
        Json head;
        std::vector<Json> parts;
    };
    /* The newest readable one below `below`; nullopt: there is none. */
    Result<std::optional<Snapshot>> last_snapshot(uint64_t below = INT64_MAX);
    /* Passes the stored events above `seq` in order, without a gap between them; `take` may
     * return an error text, which ends the call. */
    /* `bad`: receives the number of the event that caused the error, if one did. */
    std::string each_event(uint64_t seq, const std::function<std::string(const Event &)> &take,
                           uint64_t *bad = nullptr);
    /* Replaces an event that ends the process by a Timer, which changes nothing, and stores the
     * event in the table `quarantined`.  Deletes later snapshots. */
    std::string quarantine(uint64_t seq, const EventContent &instead = Timer{});
    /* The data of a Submit in the rows that follow from it; nullopt: it created no job. */
    Result<std::optional<Submit>> submission(uint64_t seq);

    /* nullopt: none was written yet. */
    Result<std::optional<SteadyClock::Mark>> clock();
    /* Nullopt: there is no such launch or record. */
    Result<std::optional<LaunchRow>> launch(JobId job);
    struct LaunchSize {
        JobId job = 0;
        uint32_t uid = 0;
        int64_t bytes = 0;
    };
    /* For the jobs that have not ended. */
    Result<std::vector<LaunchSize>> launch_sizes();
    Result<std::vector<Json>> records(const RecordQuery &query);
    Result<uint64_t> last_record();
    /* The core's Job; nullopt: it has not ended, or is no longer stored. */
    Result<std::optional<Json>> ended(JobId job);
    const std::string &folder() const { return folder_; }

  private:
    Store(std::string folder, Descriptor lock, sqlite3 *database);
    sqlite3_stmt *prepare(const char *sql);
    std::string run(const char *sql);
    Result<uint64_t> read_number(const char *sql);
    Result<uint64_t> first_since(const std::string &table, const std::string &number,
                                 int64_t time_ms);
    std::string problem(const char *doing) const;
    std::string write_rows(const Batch &batch);
    std::string synchronise(bool at_each_commit);
    Result<bool> read_parts(uint64_t count, Snapshot &snapshot);

    std::string folder_;
    Descriptor lock_;
    sqlite3 *database_ = nullptr;
    std::map<std::string, sqlite3_stmt *> statements_;
    bool synchronises_ = true;          /* at each commit */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_H_INCLUDED */
