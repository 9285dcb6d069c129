/*
 * The message if elasticd does not answer: the sockets that were tried, their owners, and how to
 * start elasticd.
 */

#ifndef ELASTIC_CLI_UNREACHABLE_H_INCLUDED
#define ELASTIC_CLI_UNREACHABLE_H_INCLUDED

#include <string>
#include <vector>

#include "cli/elasticd_client.h"

namespace elastic {

/* After connections to all of these were refused. */
std::string why_unreachable(const std::vector<Address> &addresses);

}  // namespace elastic

#endif /* ELASTIC_CLI_UNREACHABLE_H_INCLUDED */
