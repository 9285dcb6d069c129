/*
 * The history, read from the store by a connection that cannot write: records, ended jobs,
 * programs of jobs.  For a thread beside the daemon's loop (daemon/history_reader.h).
 *
 * In pages: each has a bound of rows and of bytes, and returns the start of the next one.  After
 * the deadline nothing more is read: a page is shorter then, and an error if it is empty.
 *
 * Owner of the connection.  One thread, any.
 */

#ifndef ELASTIC_RM_STORE_HISTORY_H_INCLUDED
#define ELASTIC_RM_STORE_HISTORY_H_INCLUDED

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/job.h"
#include "store/store.h"

namespace elastic::rm {

/* Bytes of rows in one page of the history; the reader continues with the next page. */
constexpr size_t PAGE_BYTES_MAX = 1 << 20;

struct EndedQuery {
    std::optional<uint32_t> uid;
    JobId after = 0, before = 0;        /* 0: no bound */
    /* Jobs that waited or ran between these times. */
    int64_t from_ms = 0, to_ms = INT64_MAX;
    std::vector<JobId> ids;
    size_t limit = 1000;
    bool newest_first = false;
    bool with_launch = true;    /* with their programs */
};

/* The permitted part of the records: for an administrator, both are unset. */
struct RecordView {
    std::optional<uint32_t> uid;    /* only jobs of this user, and nodes */
    bool of_something = false;      /* only records with a job or node */
};

struct RecordPage {
    std::vector<Json> rows;
    uint64_t next = 1;              /* start of the next page */
    uint64_t oldest = 1;            /* oldest stored one */
};

struct EndedJob {
    Job job;
    Json launch;                    /* a Launch; null: it is no longer stored */
};

struct EndedPage {
    std::vector<EndedJob> jobs;
    /* The number of the last job that was read, if there are more. */
    std::optional<JobId> last;
};

class History {
  public:
    /* The store must exist. */
    static Result<History> open(const std::string &folder);
    ~History();
    History(History &&) noexcept;
    History &operator=(History &&) = delete;

    /* For all later calls. */
    void set_deadline(int64_t monotonic_ms) { limits_->deadline_ms = monotonic_ms; }

    /* Records up to the number `last`. */
    Result<RecordPage> records(const RecordQuery &query, const RecordView &view, uint64_t last);
    using Wanted = std::function<bool(const Job &)>;
    /* At most `query.limit` matching jobs. */
    Result<EndedPage> ended(const EndedQuery &query, const Wanted &wanted);
    Result<std::optional<LaunchRow>> launch(JobId job);
    /* nullopt: it has not ended, or is no longer stored. */
    Result<std::optional<uint32_t>> owner(JobId job);

  private:
    struct Limits {                 /* on the heap, because SQLite stores its address */
        int64_t deadline_ms = 0;
    };
    explicit History(sqlite3 *database);
    sqlite3_stmt *prepare(const std::string &sql);
    Error problem() const;
    Result<RecordPage> read_page(sqlite3_stmt *statement, const RecordQuery &query, uint64_t last);

    sqlite3 *database_ = nullptr;
    std::unique_ptr<Limits> limits_ = std::make_unique<Limits>();
    std::map<std::string, sqlite3_stmt *> statements_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_HISTORY_H_INCLUDED */
