/*
 * Rows of the store that its writer (store.h) and its reader (history.h) both read: records and
 * launches.
 */

#ifndef ELASTIC_RM_STORE_ROWS_H_INCLUDED
#define ELASTIC_RM_STORE_ROWS_H_INCLUDED

#include "store/schema.h"
#include "store/statement.h"
#include "store/store.h"

namespace elastic::rm {

/* In stored form: one line, invalid UTF-8 replaced. */
inline std::string text_of(const Json &json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/* Further conditions follow. */
#define SELECT_RECORDS                                                                             \
    "SELECT number, time_ms, event, job, node, data FROM record WHERE number >= ?1"
constexpr int RECORD_DATA = 5;      /* column of the data */

inline Json read_record(const Statement &row)
{
    return {{"seq", row.number(0)},
            {"time_ms", row.number(1)},
            {"event", row.text(2)},
            {"job", row.is_null(3) ? Json() : Json(row.number(3))},
            {"node", row.is_null(4) ? Json() : Json(row.text(4))},
            {"data", Json::parse(row.text(RECORD_DATA), nullptr, false)}};
}

/* For the job ?1. */
constexpr const char *SELECT_LAUNCH =
    "SELECT seq, uid, body, script FROM launch WHERE job = " LAUNCH_OF("?1");

inline LaunchRow read_launch(const Statement &row)
{
    return {static_cast<uint64_t>(row.number(0)), static_cast<uint32_t>(row.number(1)),
            Json::parse(row.text(2), nullptr, false), row.text(3)};
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_ROWS_H_INCLUDED */
