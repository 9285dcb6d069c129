/* How the file of a store is known; store.h has the rest. */

#ifndef ELASTIC_RM_STORE_SCHEMA_H_INCLUDED
#define ELASTIC_RM_STORE_SCHEMA_H_INCLUDED

namespace elastic::rm {

constexpr const char *STORE_FILE = "store.sqlite";
constexpr int STORE_APPLICATION_ID = 0x656c6173;        /* "elas" */

/* In SQL: the key of the launch that is a job's, which may be that of its array. */
#define LAUNCH_OF(job_number)                                                                      \
    "(SELECT near.job FROM (SELECT job, last FROM launch WHERE job <= " job_number                 \
    " ORDER BY job DESC LIMIT 1) AS near WHERE coalesce(near.last, near.job) >= " job_number ")"

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_SCHEMA_H_INCLUDED */
