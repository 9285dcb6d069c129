/* The file of a store and its tables; their content: store.h. */

#ifndef ELASTIC_RM_STORE_SCHEMA_H_INCLUDED
#define ELASTIC_RM_STORE_SCHEMA_H_INCLUDED

#include <string>

struct sqlite3;

namespace elastic::rm {

/* 2: checksums of events and snapshots; 3: snapshots in parts; 4: records have their user; 5:
 * sizes of users' rows; 6: launches of arrays */
constexpr int STORE_VERSION = 6;
constexpr const char *STORE_FILE = "store.sqlite";
constexpr int STORE_APPLICATION_ID = 0x656c6173;        /* "elas" */

/* In SQL: the key of a job's launch, which may be the launch of its array. */
#define LAUNCH_OF(job_number)                                                                      \
    "(SELECT near.job FROM (SELECT job, last FROM launch WHERE job <= " job_number                 \
    " ORDER BY job DESC LIMIT 1) AS near WHERE coalesce(near.last, near.job) >= " job_number ")"

/* Makes the tables of a new store, or checks those of an existing one and converts them to this
 * version.  Returns the error, or empty. */
std::string prepare_schema(sqlite3 *database, const std::string &file);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_SCHEMA_H_INCLUDED */
