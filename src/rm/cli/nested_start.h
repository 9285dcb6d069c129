/*
 * `elastic run` and `elastic submit` inside a plain allocation of Slurm, PBS or LSF: finds the
 * elasticd that manages only its nodes (elasticd --nested), or starts it in the background and
 * waits for it.  That elasticd ends by itself when it has had no job for some time.
 *
 * Does nothing outside of an allocation, or if ELASTICD_SOCKET or ELASTICD_URL names an elasticd.
 */

#ifndef ELASTIC_CLI_NESTED_START_H_INCLUDED
#define ELASTIC_CLI_NESTED_START_H_INCLUDED

#include <string>

namespace elastic {

/* The socket of this allocation's elasticd, whether it runs or not; empty: not in an allocation. */
std::string allocation_socket();

/* 0, or an exit code after an error message.  If it starts one, it prints a line on standard
 * error, unless `quiet`. */
int start_in_allocation(bool quiet);

}  // namespace elastic

#endif /* ELASTIC_CLI_NESTED_START_H_INCLUDED */
