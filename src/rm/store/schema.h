/* How the file of a store is known; store.h has the rest. */

#ifndef ELASTIC_RM_STORE_SCHEMA_H_INCLUDED
#define ELASTIC_RM_STORE_SCHEMA_H_INCLUDED

namespace elastic::rm {

constexpr const char *STORE_FILE = "store.sqlite";
constexpr int STORE_APPLICATION_ID = 0x656c6173;        /* "elas" */

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_SCHEMA_H_INCLUDED */
