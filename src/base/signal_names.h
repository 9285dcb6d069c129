/*
 * The signals that a user may send to a job, by their names.  Pure.
 */

#ifndef ELASTIC_RM_SIGNAL_NAMES_H_INCLUDED
#define ELASTIC_RM_SIGNAL_NAMES_H_INCLUDED

#include <string>
#include <string_view>

namespace elastic::rm {

/* "USR1", "SIGUSR1", "usr1" and "10" are the same signal; 0: not a signal for jobs. */
int signal_number(std::string_view text);
/* Without SIG; "?": not one of these. */
const char *signal_name(int number);
/* "HUP, INT, ...", for messages. */
std::string known_signals();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIGNAL_NAMES_H_INCLUDED */
