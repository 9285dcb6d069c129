/*
 * The mail about a job that has started, ended or waits again (--mail-type).  Each text of a user
 * is one line of printable ASCII, so that no user can add a header; the address is checked before
 * (wrong_with_address).  Pure.
 */

#ifndef ELASTIC_RM_DAEMON_MAIL_MESSAGE_H_INCLUDED
#define ELASTIC_RM_DAEMON_MAIL_MESSAGE_H_INCLUDED

#include <optional>
#include <string>

#include "core/job.h"
#include "step/launch.h"

namespace elastic::rm {

constexpr size_t ADDRESS_BYTES_MAX = 254;

/* For the name of a user, or NAME@HOST; empty, or the error. */
std::string wrong_with_address(const std::string &address);

/* The subject of a mail. */
enum class Occasion { BEGAN, ENDED, REQUEUED };

/* The occasion for a record's event, if the job's user wants a mail about it.  An array counts
 * as one job unless its user wants mails of its tasks; `array` is null if the job is not in one,
 * or the array is no longer known. */
std::optional<Occasion> occasion_of(const std::string &event, const Job &job, const JobArray *array,
                                    const std::vector<MailEvent> &wanted);

/* Header and text.  `offset_ms` is added to the core's times. */
std::string mail_message(Occasion occasion, const Job &job, const JobArray *array,
                         const Launch &launch, const std::string &cluster, int64_t offset_ms);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_MAIL_MESSAGE_H_INCLUDED */
