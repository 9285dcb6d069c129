/* See history.h. */

#include "store/history.h"

#include <sqlite3.h>

#include "base/loop.h"
#include "store/rows.h"

namespace elastic::rm {

namespace {

/* instructions of SQLite's virtual machine, between checks of the time */
constexpr int STEPS_BETWEEN_CHECKS = 1000;
constexpr size_t STATEMENTS_MAX = 100;

std::string columns_where(const std::string &condition)
{
    return SELECT_RECORDS " AND number <= ?2" + condition;
}

/* Each has an index that gives its rows in order. */
std::string sql_of(const RecordQuery &query, const RecordView &view)
{
    std::string sql;
    if (query.job)
        sql = columns_where(" AND job = ?4") + (view.uid ? " AND uid = ?5" : "");
    else if (!query.node.empty())
        sql = columns_where(" AND node = ?4") +
            (view.uid ? " AND (job IS NULL OR uid = ?5)" : "");
    else if (view.uid)
        sql = columns_where(" AND uid = ?5") + " UNION ALL " +
            columns_where(" AND job IS NULL AND node IS NOT NULL");
    else
        sql = columns_where(view.of_something ? " AND (job IS NOT NULL OR node IS NOT NULL)" : "");
    return sql + " ORDER BY number LIMIT ?3";
}

}  // namespace

History::History(sqlite3 *database) : database_(database)
{
    sqlite3_busy_timeout(database_, 1000);
    auto is_late = [](void *limits) {
        return static_cast<int>(monotonic_ms() > static_cast<Limits *>(limits)->deadline_ms);
    };
    sqlite3_progress_handler(database_, STEPS_BETWEEN_CHECKS, is_late, limits_.get());
}

History::History(History &&other) noexcept
    : database_(std::exchange(other.database_, nullptr)), limits_(std::move(other.limits_)),
      statements_(std::exchange(other.statements_, {}))
{
}

History::~History()
{
    for (auto &[sql, statement] : statements_)
        sqlite3_finalize(statement);
    sqlite3_close(database_);
}

Result<History> History::open(const std::string &folder)
{
    std::string file = folder + "/" + STORE_FILE;
    sqlite3 *database = nullptr;
    int code = sqlite3_open_v2(
        file.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) {
        sqlite3_close(database);
        return Error{"cannot read the store " + file + ": " + sqlite3_errstr(code)};
    }
    return History(database);
}

sqlite3_stmt *History::prepare(const std::string &sql)
{
    auto found = statements_.find(sql);
    if (found != statements_.end())
        return found->second;
    if (statements_.size() >= STATEMENTS_MAX) {
        for (auto &[text, statement] : statements_)
            sqlite3_finalize(statement);
        statements_.clear();
    }
    sqlite3_stmt *statement = nullptr;
    sqlite3_prepare_v3(
        database_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (statement)              /* a failed one is tried again */
        statements_[sql] = statement;
    return statement;
}

Error History::problem() const
{
    if (sqlite3_errcode(database_) == SQLITE_INTERRUPT)
        return Error{"reading the history takes too long: request less of it"};
    return Error{std::string("cannot read the store: ") + sqlite3_errmsg(database_)};
}

/* ---- records --------------------------------------------------------------------------------- */

Result<RecordPage>
History::records(const RecordQuery &query, const RecordView &view, uint64_t last)
{
    RecordPage page;
    page.next = query.since;
    if (query.since <= last) {
        sqlite3_stmt *statement = prepare(sql_of(query, view));
        Statement row(statement);
        row.bind(static_cast<int64_t>(query.since))
            .bind(static_cast<int64_t>(last))
            .bind(static_cast<int64_t>(query.limit));
        if (query.job)
            row.bind(static_cast<int64_t>(query.job));
        else if (!query.node.empty())
            row.bind(query.node);
        else if (view.uid)
            row.bind_null();
        if (view.uid)
            row.bind(int64_t{*view.uid});
        auto read = read_page(statement, query, last);
        if (!read)
            return read;
        page = std::move(read.value());
    }
    Statement first(prepare("SELECT coalesce(min(number), 1) FROM record"));
    if (!first.row())
        return problem();
    page.oldest = static_cast<uint64_t>(first.number(0));
    return page;
}

Result<RecordPage>
History::read_page(sqlite3_stmt *statement, const RecordQuery &query, uint64_t last)
{
    RecordPage page;
    Statement row(statement);
    size_t bytes = 0;
    while (bytes < PAGE_BYTES_MAX && row.row()) {
        bytes += row.size(RECORD_DATA) + 100;
        page.next = static_cast<uint64_t>(row.number(0)) + 1;
        page.rows.push_back(read_record(row));
        Json &data = page.rows.back()["data"];
        if (!data.is_object())  /* damaged: clients expect an object */
            data = Json::object();
    }
    if (row.failed() && page.rows.empty())
        return problem();
    bool is_all = bytes < PAGE_BYTES_MAX && page.rows.size() < query.limit && !row.failed();
    if (is_all)
        page.next = last + 1;
    return page;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

Result<EndedPage> History::ended(const EndedQuery &query, const Wanted &wanted)
{
    /* For a job at another time only the number is read: so a page of such jobs has a next page,
     * too. */
    const std::string when = "CASE WHEN ended.ended_ms >= ?1 AND ended.submitted_ms <= ?2 THEN ";
    std::string sql = "SELECT ended.job, " + when + "ended.body END, ";
    sql += query.with_launch ? when + "(SELECT body FROM launch WHERE launch.job = "
                                      LAUNCH_OF("ended.job") ") END"
                             : "NULL";
    sql += " FROM ended WHERE ended.job > ?3 AND ended.job < ?4";
    if (query.uid)
        sql += " AND ended.uid = ?5";
    if (!query.ids.empty()) {
        sql += " AND ended.job IN (";
        for (size_t i = 0; i < query.ids.size(); i++)
            sql += (i ? ",?" : "?") + std::to_string(6 + i);
        sql += ")";
    }
    sql += query.newest_first ? " ORDER BY ended.job DESC" : " ORDER BY ended.job";
    Statement row(prepare(sql));
    row.bind(query.from_ms)
        .bind(query.to_ms)
        .bind(static_cast<int64_t>(query.after))
        .bind(query.before ? static_cast<int64_t>(query.before) : INT64_MAX);
    query.uid ? row.bind(int64_t{*query.uid}) : row.bind_null();
    for (JobId id : query.ids)
        row.bind(static_cast<int64_t>(id));
    EndedPage page;
    JobId last = 0;
    size_t bytes = 0;
    while (bytes < PAGE_BYTES_MAX && page.jobs.size() < query.limit && row.row()) {
        last = static_cast<JobId>(row.number(0));
        if (row.is_null(1))
            continue;
        std::string body = row.text(1);
        auto job = parse<Job>(Json::parse(body, nullptr, false));
        if (!job || !wanted(job.value()))
            continue;
        std::string launch = row.text(2);
        bytes += body.size() + launch.size();
        page.jobs.push_back({std::move(job.value()), Json::parse(launch, nullptr, false)});
    }
    if (row.failed() && last == 0)
        return problem();
    bool is_all = bytes < PAGE_BYTES_MAX && page.jobs.size() < query.limit && !row.failed();
    if (!is_all)
        page.last = last;
    return page;
}

Result<std::optional<LaunchRow>> History::launch(JobId job)
{
    Statement row(prepare(SELECT_LAUNCH));
    row.bind(static_cast<int64_t>(job));
    if (row.row())
        return std::optional<LaunchRow>(read_launch(row));
    return row.failed() ? Result<std::optional<LaunchRow>>(problem()) : std::optional<LaunchRow>();
}

Result<std::optional<uint32_t>> History::owner(JobId job)
{
    Statement row(prepare("SELECT uid FROM ended WHERE job = ?"));
    row.bind(static_cast<int64_t>(job));
    if (row.row())
        return std::optional<uint32_t>(static_cast<uint32_t>(row.number(0)));
    return row.failed() ? Result<std::optional<uint32_t>>(problem()) : std::optional<uint32_t>();
}

}  // namespace elastic::rm
