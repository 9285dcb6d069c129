/* See api.h: partitions of jobs and nodes, reservations of jobs. */

#include "api/api.h"
#include "api/api_json.h"

namespace elastic::rm {

/* The partition of the submission; if this system has none, a note reports that. */
void Api::read_partition(BodyReader &body, const Caller &caller, JobSpec &spec,
                         std::vector<std::string> &notes) const
{
    spec.partition = body.text("partition", PARTITION_NAMES_BYTES_MAX);
    if (!daemon_.partitions().all().empty())
        return enter_partition(body, caller, spec);
    constexpr const char *NOTE = "the requested partition has no effect: there are no partitions "
                                 "([[partitions]] in the configuration)";
    if (!spec.partition.empty())
        notes.emplace_back(NOTE);
    spec.partition.clear();
}

/* The core refuses a partition that does not exist, or does not accept the job. */
void Api::enter_partition(const BodyReader &body, const Caller &caller, JobSpec &spec) const
{
    if (spec.partition.find(',') != std::string::npos)
        body.fail("partition", "names several: a job is in one partition");
    spec = daemon_.state().unreserved(std::move(spec));
    const User *user = daemon_.users().known(caller.uid);
    if (!caller.administrator &&
        !daemon_.partitions().may_use(spec.partition, caller.name, user))
        throw ApiError{403, "forbidden",
                       "partition " + spec.partition +
                           " is restricted to users and groups, and you are not one of them: "
                           "choose another one ('elastic nodes --by-partition')",
                       "partition"};
}

/* The core refuses a reservation that does not exist, or into which the job does not fit. */
void Api::read_reservation(BodyReader &body, const Caller &caller, JobSpec &spec) const
{
    spec.reservation = body.text("reservation", RESERVATION_NAME_BYTES_MAX);
    if (!daemon_.state().reservation(spec.reservation) || caller.administrator)
        return;
    const User *user = daemon_.users().known(caller.uid);
    if (!daemon_.reservations().may_use(spec.reservation, caller.name, user))
        throw ApiError{403, "forbidden",
                       "reservation " + spec.reservation +
                           " is restricted to users and groups, and you are not one of them: leave "
                           "it out",
                       "reservation"};
}

Json Api::partitions_json() const
{
    Json all = Json::array();
    for (const Partition &each : daemon_.partitions().all())
        all.push_back({{"name", each.name},
                       {"default", each.is_default},
                       {"state", to_string(each.state)},
                       {"priority", each.priority},
                       {"default_time_ms", number_or_null(each.default_time_ms)},
                       {"max_time_ms", number_or_null(each.max_time_ms)},
                       {"max_cores", number_or_null(each.max_cores)}});
    return all;
}

Json Api::partitions_of(const Node &node) const
{
    Json names = Json::array();
    for (const Partition &each : daemon_.partitions().all()) {
        if (has_node(each, node.name))
            names.push_back(each.name);
    }
    return names;
}

}  // namespace elastic::rm
