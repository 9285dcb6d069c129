/*
 * Why nobody answers: which sockets were tried, whose they are, and how elasticd is started.
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
