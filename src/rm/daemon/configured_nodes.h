/* Lists of nodes in the configuration.  Pure. */

#ifndef ELASTIC_RM_DAEMON_CONFIGURED_NODES_H_INCLUDED
#define ELASTIC_RM_DAEMON_CONFIGURED_NODES_H_INCLUDED

#include "base/result.h"
#include "core/node_set.h"

namespace elastic::rm {

/* "all" gives an empty set, else a list such as "n[1-4],n7"; `whose` is for messages: "partition
 * batch". */
Result<NodeSet> parse_configured_nodes(const std::string &text, const std::string &whose);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_CONFIGURED_NODES_H_INCLUDED */
