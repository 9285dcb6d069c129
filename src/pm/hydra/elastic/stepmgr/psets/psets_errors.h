/*
 * Errors of calls on process sets, and the name of the set of all running processes, for the parts
 * of psets.h.
 */

#ifndef ELASTIC_PSETS_ERRORS_H_INCLUDED
#define ELASTIC_PSETS_ERRORS_H_INCLUDED

#include <cstdint>
#include <string>

#include "stepmgr/proto/pset_call.h"

namespace elastic::psets_errors {

inline constexpr const char *ALL = "mpix://ALL";

inline std::string unknown(const std::string &name)
{
    return SetAnswer::error(PMI_SET_UNKNOWN, "there is no process set " + name);
}

inline std::string full(const std::string &text)
{
    return SetAnswer::error(PMI_SET_FULL, text);
}

inline std::string member_ended(uint32_t uid, const std::string &of_what)
{
    return SetAnswer::error(PMI_SET_MEMBER_ENDED,
                            "process " + std::to_string(uid) + " of " + of_what + " has ended");
}

inline std::string foreign()
{
    return SetAnswer::error(PMI_SET_FOREIGN, "a process is not of this job");
}

}  // namespace elastic::psets_errors

#endif /* ELASTIC_PSETS_ERRORS_H_INCLUDED */
