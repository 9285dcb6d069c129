/* See step.h: outposts, node daemons for places on hosts where no process of the world runs.  DA3, DA12.
 *
 * One is started when a place is given there, in a process group of its own; what the program starts meanwhile waits
 * for it.  It ends when nothing runs there and no place is held: of a job with a resource manager at once, as the host
 * may be somebody else's then, else after a while.  None of its ends matters to the job. */

#include <algorithm>

#include "stepmgr/step.h"

namespace elastic {

namespace {

constexpr int64_t OUTPOST_LINGER_MS = 10000;    /* a farm will be back */

}  // namespace

bool Step::has_member_on(const std::string &host) const
{
    return std::ranges::any_of(world_.members(),
                               [&](const Process *member) { return !member->ended && member->host == host; });
}

bool Step::is_outpost(int group) const
{
    return std::ranges::any_of(outposts_, [group](const auto &entry) { return entry.second.group == group; });
}

bool Step::is_apart(int group) const
{
    return killed_groups_.contains(group) || task_worlds_.contains(group) || is_outpost(group);
}

/* An outpost is no daemon of the world. */
void Step::send_order(const Places::Order &order)
{
    const Agent agent = agent_of(order.agent);
    const std::string payload = write_task_head(order.head) + order.bytes;
    const step_agent to = {agent.group, agent.proxy};
    if (is_outpost(agent.group))
        effects_.send(effects_.context, &to, 1, STEP_TASK, 0, payload.data(), payload.size());
    else
        post({agent}, STEP_TASK, 0, payload);
}

/* After the hosts of the world: those that mpiexec was given, and those where places are held already. */
void Step::add_outposts(std::vector<Places::Host> &hosts) const
{
    auto add = [&](const std::string &name) {
        if (std::ranges::find(hosts, name, &Places::Host::name) != hosts.end())
            return;
        auto post = outposts_.find(name);
        if (post != outposts_.end() && post->second.is_up)
            hosts.push_back({name, number_of({post->second.group, 0})});
        else
            hosts.push_back({name, 0, false});
    };
    for (size_t i = 0; !managed_ && i < launch_hosts_.size(); i++) {
        if (!unreachable_.contains(launch_hosts_[i]))
            add(launch_hosts_[i]);
    }
    for (const auto &[name, places] : places_.given())
        add(name);
}

/* At the end of the job only what still runs there counts. */
bool Step::is_needed(const std::string &host, const Outpost &post, const Places::HostCounts &used) const
{
    return (!over_ && used.contains(host) && !has_member_on(host)) ||
           (post.is_up && places_.any_at(number_of({post.group, 0})));
}

void Step::tend_outposts()
{
    const Places::HostCounts used = places_.given();
    for (const auto &[host, places] : used) {
        bool tries = !unreachable_.contains(host) || places_.awaits_daemon(host);
        if (tries && !outposts_.contains(host) && !has_member_on(host) && !over_)
            open_outpost(host);
    }
    for (auto it = outposts_.begin(); it != outposts_.end();) {
        Outpost &post = it->second;
        if (is_needed(it->first, post, used))
            post.idle_since_ms = -1;
        else if (post.idle_since_ms < 0)
            post.idle_since_ms = now_ms_;
        bool lingers = !managed_ && !ending_ && !over_ && now_ms_ < post.idle_since_ms + OUTPOST_LINGER_MS;
        if (post.idle_since_ms < 0 || lingers) {
            ++it;
            continue;
        }
        killed_groups_.insert(post.group);
        effects_.kill_group(effects_.context, post.group);
        it = outposts_.erase(it);
    }
}

int64_t Step::outposts_next_ms() const
{
    int64_t next = -1;
    for (const auto &[host, post] : outposts_) {
        if (post.idle_since_ms >= 0 && (next < 0 || post.idle_since_ms + OUTPOST_LINGER_MS < next))
            next = post.idle_since_ms + OUTPOST_LINGER_MS;
    }
    return next;
}

void Step::open_outpost(const std::string &host)
{
    constexpr uint32_t NOBODY = UINT32_MAX;     /* as uid */
    const char *name = host.c_str();
    char error[512] = "";
    int group = -1;
    if (effects_.launch(effects_.context, 0, 1, STEP_NO_PROGRAM, world_.size(), NOBODY, 0, &name, 1, &group, error,
                        sizeof error) == 0) {
        outposts_[host].group = group;
        return;
    }
    unreachable_.insert(host);
    places_.daemon_failed(host, host + ": " + error);
}

void Step::daemon_up(int64_t now_ms, int group)
{
    now_ms_ = now_ms;
    for (auto &[host, post] : outposts_) {
        if (post.group != group)
            continue;
        post.is_up = true;
        unreachable_.erase(host);
        places_.daemon_came(host, number_of({group, 0}));
    }
    size_up_places();
    carry_out_tasks();
    settle();
}

/* It may have been one. */
void Step::outpost_lost(const Agent &agent)
{
    auto lost = std::ranges::find_if(outposts_, [&](const auto &entry) { return entry.second.group == agent.group; });
    if (lost == outposts_.end())
        return;
    std::string host = lost->first;
    killed_groups_.insert(agent.group);
    outposts_.erase(lost);
    unreachable_.insert(host);
    places_.daemon_failed(host, host + ": its node daemon could not be started, or has ended");
    size_up_places();
}

}  // namespace elastic
