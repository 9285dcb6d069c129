/* See hosts_backend.h. */

#include "backend/hosts/hosts_backend.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/lacks_resource.h"
#include "base/log.h"
#include "base/words.h"
#include "core/node_cores.h"

namespace elastic::rm {

namespace {

constexpr int64_t RETRY_MS = 5000;              /* maximum, after a failed probe */
constexpr int64_t SUSPECT_AFTER_MS = 2000;
/* after the last probe, for any number of failed steps */
constexpr int64_t HURRY_PAUSE_MS = 1000;
constexpr int64_t CLOCK_TOLERANCE_S = 5;
constexpr size_t FILE_BYTES_MAX = 16 * 1024 * 1024;

Result<std::string> read_text(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text(FILE_BYTES_MAX + 1, '\0');
    if (file.is_open())
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad())
        return Error{
            "cannot read the list of hosts " + path + " (backend.hosts_file): " + strerror(errno)};
    text.resize(static_cast<size_t>(file.gcount()));
    if (text.size() > FILE_BYTES_MAX)
        return Error{path + " is longer than 16 MiB: it is not a list of hosts"};
    return text;
}

/* Options for probes and for mpiexec: no person can answer a question. */
std::vector<std::string> ssh_options(const Settings &settings)
{
    std::vector<std::string> options;
    if (!settings.ssh_config.empty())
        options = {"-F", settings.ssh_config};
    int64_t seconds = std::max<int64_t>(settings.check_timeout_ms / 1000, 1);
    options.insert(options.end(),
                   {"-o", "BatchMode=yes", "-o", "ConnectTimeout=" + std::to_string(seconds)});
    return options;
}

}  // namespace

Result<ListedNodes> hosts_of(const Settings &settings)
{
    auto listed = parse_hosts(settings.hosts);
    if (!listed)
        return Error{"backend.hosts: " + listed.error()};
    ListedNodes hosts = listed.value();
    if (!settings.hosts_file.empty()) {
        auto text = read_text(settings.hosts_file);
        auto more = text ? parse_hosts_file(text.value(), settings.hosts_file)
                         : Result<ListedNodes>(Error{text.error()});
        if (!more)
            return Error{more.error()};
        for (ListedNode &host : more.value()) {
            for (const ListedNode &known : listed.value())
                if (known.name == host.name)
                    return Error{host.name + " is in backend.hosts and in " + settings.hosts_file};
            hosts.push_back(std::move(host));
        }
    }
    if (hosts.empty())
        return Error{"backend.kind is \"hosts\" and no host is named: give backend.hosts = "
                     "[\"NAME\", \"NAME:CORES\"] or "
                     "backend.hosts_file"};
    return hosts;
}

HostsBackend::HostsBackend(const Settings &settings, Loop &loop) : settings_(settings), loop_(loop)
{
}

HostsBackend::~HostsBackend()
{
    for (auto &[name, host] : hosts_) {
        loop_.cancel(host.timer);
        loop_.cancel(host.slow_timer);
    }
}

std::string HostsBackend::read_hosts()
{
    auto listed = hosts_of(settings_);
    if (!listed)
        return listed.error();
    for (const ListedNode &each : listed.value()) {
        Host &host = hosts_[each.name];
        host.name = each.name;
        host.cores = each.cores;
        host.cores_known = each.cores > 0;
    }
    return "";
}

std::string HostsBackend::start(const State &known, Notify notify)
{
    state_ = &known;
    notify_ = std::move(notify);
    std::string error = read_hosts();
    if (!error.empty())
        return error;
    files_ = installed_files(settings_.mpiexec);
    script_ = probe_script(files_);
    for (const auto &[name, node] : known.nodes)
        if (!hosts_.contains(name) && !node.removed)
            notify_(NodeRemoved{name});
    for (auto &[name, host] : hosts_) {
        const Node *before = node(host);
        host.cores_known = host.cores_known || (before && before->up);
        /* A host that is listed again, with jobs: until it has been checked, they continue. */
        if (before && before->removed && before->up)
            notify_(NodeUp{name, before->cores});
        else if (!before || before->removed)
            notify_(NodeDown{name, "host " + name + " has not been checked yet", host.cores});
        poll_soon(host);
    }
    return "";
}

bool HostsBackend::capacity_known() const
{
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [](const auto &entry) { return entry.second.cores_known; });
}

std::vector<std::string> HostsBackend::launcher_options() const
{
    return {"-launcher", "ssh"};
}

std::vector<std::string> HostsBackend::launcher_environment() const
{
    std::vector<std::string> variables = {
        "HYDRA_LAUNCHER=ssh", "HYDRA_LAUNCHER_EXTRA_ARGS=" + join_words(ssh_options(settings_))};
    if (settings_.ssh != "ssh")
        variables.push_back("HYDRA_LAUNCHER_EXEC=" + settings_.ssh);
    return variables;
}

/* ---- times of probes ------------------------------------------------------------------------- */

void HostsBackend::check_node(const std::string &name)
{
    auto found = hosts_.find(name);
    if (found == hosts_.end())
        return;
    poll_soon(found->second);
}

void HostsBackend::step_failed_on(const std::vector<std::string> &nodes)
{
    for (const std::string &name : nodes) {
        auto found = hosts_.find(name);
        if (found == hosts_.end())
            continue;
        Host &host = found->second;
        if (host.hurry)
            continue;
        host.hurry = true;
        loop_.cancel(host.timer);
        host.timer =
            loop_.after(host.polled_ms + HURRY_PAUSE_MS - monotonic_ms(), [this, same = &host] {
                same->timer = 0;
                poll_soon(*same);
            });
    }
}

/* After the hosts before it: a probe in progress counts. */
void HostsBackend::poll_soon(Host &host)
{
    loop_.cancel(host.timer);
    host.timer = 0;
    if (host.hurry && !host.slow_timer)
        host.slow_timer = loop_.after(SUSPECT_AFTER_MS, [this, same = &host] {
            same->slow_timer = 0;
            suspect(
                *same,
                "host " + same->name +
                    " is being checked, because a step failed there; it has not answered yet");
        });
    if (host.waits || host.poll)
        return;
    host.waits = true;
    if (host.hurry)
        queue_.push_front(&host);
    else
        queue_.push_back(&host);
    poll_next();
}

void HostsBackend::poll_next()
{
    while (!queue_.empty() && polls_ < settings_.checks_at_once) {
        Host &host = *queue_.front();
        queue_.pop_front();
        host.waits = false;
        poll(host);
    }
}

std::vector<std::string> HostsBackend::ssh_words() const
{
    std::vector<std::string> words = ssh_options(settings_);
    words.insert(words.begin(), settings_.ssh);
    return words;
}

std::vector<std::string> HostsBackend::shell_on(const std::string &node) const
{
    std::vector<std::string> words = ssh_words();
    words.insert(words.end(), {"-x", "-T", node, "/bin/sh", "-s"});
    return words;
}

void HostsBackend::poll(Host &host)
{
    CommandSpec spec;
    spec.words = shell_on(host.name);
    spec.input = script_;
    /* So that ssh itself can report a failed connection (ConnectTimeout): a slow host has not
     * failed. */
    spec.limit_ms = 2 * settings_.check_timeout_ms;
    host.queried_ms = unix_ms();
    polls_++;
    host.poll = std::make_unique<Command>(
        loop_, std::move(spec),
        [this, same = &host](const CommandEnd &end) { polled(*same, end); });
}

int64_t HostsBackend::pause_ms(const Host &host) const
{
    const Node *known = node(host);
    bool sure = host.failures == 0 || (known && !known->up);
    return sure ? settings_.check_interval_ms : std::min(settings_.check_interval_ms, RETRY_MS);
}

/* ---- results of probes ----------------------------------------------------------------------- */

void HostsBackend::polled(Host &host, const CommandEnd &end)
{
    host.poll.reset();
    host.polled_ms = monotonic_ms();
    polls_--;
    loop_.cancel(host.slow_timer);
    host.slow_timer = 0;
    if (lacks_resource(end.start_error)) {      /* says nothing about the host */
        log_line(LogLevel::WARNING, "a host cannot be checked at present",
                 {{"host", host.name}, {"error", end.problem}});
        return poll_later(host, RETRY_MS);
    }
    std::string by_hand = join_words(ssh_words()) + " " + host.name;
    HostReport seen = judge(host.name, end, files_, host.queried_ms, unix_ms(), by_hand);
    if (seen.health == HostHealth::WELL)
        well(host, seen);
    else
        ill(host, seen);
    host.hurry = false;
    poll_later(host, pause_ms(host));
}

void HostsBackend::poll_later(Host &host, int64_t pause_ms)
{
    /* a step may have failed during the probe: then the result counts for it */
    loop_.cancel(host.timer);
    host.timer = loop_.after(pause_ms, [this, same = &host] {
        same->timer = 0;
        poll_soon(*same);
    });
    poll_next();
}

void HostsBackend::well(Host &host, const HostReport &poll)
{
    host.failures = 0;
    host.cores_known = true;
    check_clock(host, poll.clock_offset_s);
    const Node *known = node(host);
    int cores = host.cores > 0 ? host.cores : poll.cores;
    if (known && !can_have_cores(*state_, *known, cores)) {
        if (known->up && !known->removed)
            return suspect(host, why_cores_wait(*known, cores));
        cores = known->cores;
    }
    bool is_new = !known || !known->up || known->removed || !known->trouble.empty() ||
        known->cores != cores;
    if (is_new)
        notify_(NodeUp{host.name, cores});
}

void HostsBackend::ill(Host &host, const HostReport &poll)
{
    host.failures++;
    log_line(LogLevel::DEBUG, "a probe of a host failed",
             {{"host", host.name}, {"failures", host.failures}, {"reason", poll.reason}});
    const Node *known = node(host);
    if (!known || !known->up)
        return down(host, poll.reason);
    bool sure = poll.health == HostHealth::UNFIT || host.failures >= 2 || host.hurry;
    bool absent = poll.health == HostHealth::NO_ANSWER && host.failures >= settings_.check_failures;
    if (absent || (sure && known->used == 0))
        down(host, poll.reason);
    else if (sure)
        suspect(host, poll.reason);
}

void HostsBackend::down(const Host &host, const std::string &reason)
{
    const Node *known = node(host);
    if (!known || known->up || known->reason != reason)
        notify_(NodeDown{host.name, reason, host.cores});
}

void HostsBackend::suspect(const Host &host, const std::string &reason)
{
    const Node *known = node(host);
    if (known && known->up && known->trouble != reason)
        notify_(NodeSuspect{host.name, reason});
}

/* elasticd does not depend on the clocks of hosts, but programs of users may. */
void HostsBackend::check_clock(Host &host, int64_t offset_s)
{
    bool wrong = std::abs(offset_s) > CLOCK_TOLERANCE_S;
    if (wrong && !host.clock_reported)
        log_line(LogLevel::WARNING,
                 "the clock of a host differs from the one here: set them by NTP",
                 {{"host", host.name}, {"seconds_ahead", offset_s}});
    host.clock_reported = wrong;
}

}  // namespace elastic::rm
