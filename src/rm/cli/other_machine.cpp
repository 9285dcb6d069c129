/* See other_machine.h. */

#include "cli/other_machine.h"

#include <unistd.h>

#include <fstream>

namespace elastic {

namespace {

/* Another one after each start of a machine; containers of one machine share it. */
std::string boot_id()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

std::string other_machine(const Json &version)
{
    std::string theirs = string_or(version, "boot_id", ""), ours = boot_id();
    if (theirs.empty() || ours.empty() || theirs == ours)
        return "";
    return "elasticd runs on " + string_or(version, "host", "a host without a name") +
           ", which is another machine";
}

/* An object without members: it is not asked, or has not answered. */
Json version_of(Elasticd &elasticd)
{
    if (!elasticd.is_given())
        return Json::object();
    HttpAnswer answer = elasticd.request("GET", "/v1/version");
    return answer.ok() ? answer.body : Json::object();
}

}  // namespace

std::string other_machine(Elasticd &elasticd)
{
    return other_machine(version_of(elasticd));
}

std::string why_no_pipes(Elasticd &elasticd)
{
    const Json version = version_of(elasticd);
    if (std::string where = other_machine(version); !where.empty())
        return where;
    const Json &user = object_of(version, "user");
    auto us = static_cast<int64_t>(geteuid());
    int64_t uid = integer_or(user, "uid", us);
    return uid == us || uid == 0
               ? ""
               : "the job would run as " + string_or(user, "name", std::to_string(uid)) +
                     ", who may not open the pipes of this command";
}

}  // namespace elastic
