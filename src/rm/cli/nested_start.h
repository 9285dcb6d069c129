/*
 * `elastic run` and `elastic submit` inside a plain allocation of Slurm, PBS or LSF: the elasticd
 * that manages just its nodes (elasticd --nested) is found, or started in the background and waited
 * for.  It ends by itself when it has had no job for a while.
 *
 * It does nothing outside of an allocation, or if ELASTICD_SOCKET or ELASTICD_URL names an
 * elasticd.
 */

#ifndef ELASTIC_CLI_NESTED_START_H_INCLUDED
#define ELASTIC_CLI_NESTED_START_H_INCLUDED

#include <string>

namespace elastic {

/* The socket of this allocation's elasticd, whether it runs or not; empty: in no allocation. */
std::string allocation_socket();

/* 0, or an exit code after an error message.  Prints one line on standard error that it has
 * started one, unless `quiet`. */
int start_in_allocation(bool quiet);

}  // namespace elastic

#endif /* ELASTIC_CLI_NESTED_START_H_INCLUDED */
