/* See section_list.h: partitions, groups and reservations of the configuration. */

#include "settings/section_list.h"

namespace elastic::rm {

namespace {

const SectionList<PartitionSettings> &partitions()
{
    using Of = PartitionSettings;
    static const std::vector<Setting<Of>> table = {
        {"partitions", "name", &Of::name, "As in --partition."},
        {"partitions", "nodes", &Of::nodes,
         "\"all\", or a list such as \"n[1-4],n7\".  Partitions may share nodes."},
        {"partitions", "default", &Of::is_default,
         "The partition of jobs that name none.  One at most."},
        {"partitions", "priority", &Of::priority, "Added to the priority of each of its jobs.",
         -PRIORITY_MAX, PRIORITY_MAX},
        {"partitions",
         "state",
         &Of::state,
         "up; down: its jobs wait; drain: its waiting jobs start, and it accepts no others.",
         0,
         0,
         false,
         "up, down, drain"},
        {"partitions", "default_time", &Of::default_time_ms,
         "The time limit of jobs that name none; 0: job.default_time_limit.", 0, YEAR_MS, true},
        {"partitions", "max_time", &Of::max_time_ms,
         "The longest time limit that may be requested; 0: job.max_time_limit.", 0, YEAR_MS, true},
        {"partitions", "max_cores", &Of::max_cores,
         "Cores that a job may have, at its largest size; 0: any number.", 0, 1000000000},
        {"partitions", "allow_users", &Of::allow_users,
         "Users who may use it, beside administrators.  Both lists empty: everybody."},
        {"partitions", "allow_groups", &Of::allow_groups,
         "And members of these groups, as they are when elasticd starts."},
    };
    static const SectionList<Of> list = {
        "a partition", "doc/admin/partitions.md", "batch",
        "Partitions: nodes, limits and priority of groups of jobs.", table};
    return list;
}

const SectionList<GroupSettings> &groups()
{
    using Of = GroupSettings;
    static const std::vector<Setting<Of>> table = {
        {"groups", "name", &Of::name, "A Unix group."},
        {"groups", "max_running", &Of::max_running,
         "Jobs of its members on nodes at once; more wait.  0: any number.", 0, 1000000},
        {"groups", "max_cores", &Of::max_cores,
         "Cores of these together; more wait, and elastic jobs are not grown beyond.  0: any "
         "number.",
         0, 1000000000},
        {"groups", "max_jobs", &Of::max_jobs,
         "Their jobs that have not ended; more are refused.  0: any number.", 0, 1000000},
        {"groups", "core_time_per_job", &Of::core_time_per_job_ms,
         "Of one job: cores at its largest size times its time limit.  0: any.", 0,
         CORE_TIME_MAX_MS, true},
        {"groups", "core_time", &Of::core_time_ms,
         "Of all these jobs in a period: cores times time.  Then running jobs continue, and no "
         "other starts or grows until the next period.  0: any.",
         0, CORE_TIME_MAX_MS, true},
        {"groups", "core_time_period", &Of::core_time_period_ms,
         "Length of these periods.  They follow one another: those of a day begin at midnight UTC.",
         HOUR_MS, YEAR_MS, true},
    };
    static const SectionList<Of> list = {
        "a group", "doc/admin/limits.md", "students",
        "Groups: limits of the jobs of all members of a Unix group together.", table};
    return list;
}

const SectionList<ReservationSettings> &reservations()
{
    using Of = ReservationSettings;
    static const std::vector<Setting<Of>> table = {
        {"reservations", "name", &Of::name, "As in --reservation."},
        {"reservations", "nodes", &Of::nodes, "\"all\", or a list such as \"n[1-4],n7\"."},
        {"reservations", "from", &Of::from, "Local time, YYYY-MM-DDTHH:MM."},
        {"reservations", "until", &Of::until, "The same; its jobs end before."},
        {"reservations", "allow_users", &Of::allow_users,
         "Users who may use it, beside administrators.  Both lists empty: these alone."},
        {"reservations", "allow_groups", &Of::allow_groups,
         "And members of these groups, as they are when elasticd starts."},
    };
    static const SectionList<Of> list = {
        "a reservation", "doc/admin/reservations.md", "maintenance",
        "Reservations: nodes for some users from a time to another.", table};
    return list;
}

}  // namespace

std::optional<std::string> take_list(const std::string &name, const toml::node &node,
                                     const std::string &file, Settings &settings)
{
    if (name == partitions().name())
        return take_sections(partitions(), node, file, settings.partitions);
    if (name == groups().name())
        return take_sections(groups(), node, file, settings.groups);
    if (name == reservations().name())
        return take_sections(reservations(), node, file, settings.reservations);
    return std::nullopt;
}

std::string format_lists(const Settings &settings)
{
    return format_sections(partitions(), settings.partitions) +
           format_sections(groups(), settings.groups) +
           format_sections(reservations(), settings.reservations);
}

}  // namespace elastic::rm
