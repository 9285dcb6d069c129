/* See store.h: reading launches, records and ended jobs. */

#include "store/rows.h"

namespace elastic::rm {

Result<std::optional<LaunchRow>> Store::launch(JobId job)
{
    Statement row(prepare(SELECT_LAUNCH));
    row.bind(static_cast<int64_t>(job));
    if (!row.row())
        return row.failed() ? Result<std::optional<LaunchRow>>(Error{problem("read")})
                            : std::optional<LaunchRow>();
    return std::optional<LaunchRow>(read_launch(row));
}

Result<std::vector<Store::LaunchSize>> Store::launch_sizes()
{
    /* Read as bytes: for the length of a text, SQLite would count through all of it. */
    Statement row(prepare(
        "WITH RECURSIVE task (job, last, uid, bytes) AS (SELECT job, coalesce(last, job), uid, "
        "(length(CAST(body AS BLOB)) + length(CAST(script AS BLOB))) "
        "/ (coalesce(last, job) - job + 1) FROM launch WHERE job IS NOT NULL "
        "UNION ALL SELECT job + 1, last, uid, bytes FROM task WHERE job < last) "
        "SELECT job, uid, bytes FROM task WHERE job NOT IN (SELECT job FROM ended)"));
    std::vector<LaunchSize> sizes;
    while (row.row())
        sizes.push_back({static_cast<JobId>(row.number(0)), static_cast<uint32_t>(row.number(1)),
                         row.number(2)});
    if (row.failed())
        return Error{problem("read")};
    return sizes;
}

Result<std::vector<Json>> Store::records(const RecordQuery &query)
{
    const char *sql = query.job ? SELECT_RECORDS " AND job = ?3 ORDER BY number LIMIT ?2"
        : !query.node.empty()   ? SELECT_RECORDS " AND node = ?3 ORDER BY number LIMIT ?2"
                                : SELECT_RECORDS " ORDER BY number LIMIT ?2";
    Statement row(prepare(sql));
    row.bind(static_cast<int64_t>(query.since)).bind(static_cast<int64_t>(query.limit));
    if (query.job)
        row.bind(static_cast<int64_t>(query.job));
    else if (!query.node.empty())
        row.bind(query.node);
    std::vector<Json> records;
    while (row.row())
        records.push_back(read_record(row));
    if (row.failed())
        return Error{problem("read")};
    return records;
}

Result<uint64_t> Store::read_number(const char *sql)
{
    Statement row(prepare(sql));
    if (!row.row())
        return Error{problem("read")};
    return static_cast<uint64_t>(row.number(0));
}

Result<uint64_t> Store::last_record()
{
    return read_number("SELECT coalesce(max(number), 0) FROM record");
}

Result<std::optional<Json>> Store::ended(JobId job)
{
    Statement row(prepare("SELECT body FROM ended WHERE job = ?"));
    row.bind(static_cast<int64_t>(job));
    if (row.row())
        return std::optional<Json>(Json::parse(row.text(0), nullptr, false));
    return row.failed() ? Result<std::optional<Json>>(Error{problem("read")})
                        : std::optional<Json>();
}

}  // namespace elastic::rm
