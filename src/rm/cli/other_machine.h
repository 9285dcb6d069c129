/*
 * Whether the jobs of an elasticd can open files and pipes of this machine.  `elastic run` and
 * `elastic alloc` need it, `elastic attach` reads such files.
 *
 * Asks only an elasticd that the user has named (ELASTICD_URL, or a socket that may be forwarded);
 * those that are found by default are on this machine.
 */

#ifndef ELASTIC_CLI_OTHER_MACHINE_H_INCLUDED
#define ELASTIC_CLI_OTHER_MACHINE_H_INCLUDED

#include <string>

#include "cli/elasticd_client.h"

namespace elastic {

/* "elasticd runs on b7, which is another machine"; empty: on this one, or it is not known. */
std::string other_machine(Elasticd &elasticd);
/* The same; or its user of these requests may not open pipes of this process. */
std::string why_no_pipes(Elasticd &elasticd);

}  // namespace elastic

#endif /* ELASTIC_CLI_OTHER_MACHINE_H_INCLUDED */
