/*
 * The C interface of stepmgr.h over class Step.  No exception leaves this file.  If a call arrives
 * while another one runs (for example, a failed effect notifies the step manager at once), it is
 * deferred until that one has returned.  So the state of Step never changes within a call.
 */

#include "stepmgr/stepmgr.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "stepmgr/common/schedule.h"
#include "stepmgr/step/step.h"

struct stepmgr {
    std::unique_ptr<elastic::Step> step;
    step_effects effects;
    bool busy = false;
    std::deque<std::function<void()>> put_off;
};

namespace {

void copy_text(const std::string &text, char *buffer, size_t bytes)
{
    if (bytes == 0)
        return;
    size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
}

void guarded(stepmgr *core, const std::function<void()> &call)
{
    try {
        call();
    } catch (const std::exception &exception) {
        std::string text =
            std::string("internal error of the step manager: ") + exception.what();
        core->effects.notify_user(core->effects.context, text.c_str());
    }
}

/* Makes this call, then the calls that were deferred meanwhile.  No other call is under way. */
void run_now(stepmgr *core, const std::function<void()> &call)
{
    core->busy = true;
    guarded(core, call);
    while (!core->put_off.empty()) {
        auto next = std::move(core->put_off.front());
        core->put_off.pop_front();
        guarded(core, next);
    }
    core->busy = false;
}

/* `call` must own what it needs. */
void run(stepmgr *core, std::function<void()> call)
{
    if (core->busy)
        core->put_off.push_back(std::move(call));
    else
        run_now(core, call);
}

}  // namespace

extern "C" {

int stepmgr_parse_time(const char *text, int64_t *ms, char *error, size_t error_bytes)
{
    auto time = elastic::parse_time_ms(text);
    if (!time) {
        copy_text(time.error(), error, error_bytes);
        return -1;
    }
    *ms = time.value();
    return 0;
}

int stepmgr_parse_range(const char *text, int *min, int *max, char *error, size_t error_bytes)
{
    auto range = elastic::parse_range(text);
    if (!range) {
        copy_text(range.error(), error, error_bytes);
        return -1;
    }
    *min = range.value().min;
    *max = range.value().max;
    return 0;
}

struct stepmgr *stepmgr_create(const struct step_config *config,
                               const struct step_effects *effects, char *error,
                               size_t error_bytes)
{
    try {
        auto step = elastic::Step::create(*config, *effects);
        if (step)
            return new stepmgr{std::move(step.value()), *effects, false, {}};
        copy_text(step.error(), error, error_bytes);
    } catch (const std::exception &exception) {
        copy_text(exception.what(), error, error_bytes);
    }
    return nullptr;
}

void stepmgr_destroy(struct stepmgr *core)
{
    delete core;
}

void stepmgr_id(struct stepmgr *core, const char *step_id)
{
    run(core, [core, id = std::string(step_id)] { core->step->id(id); });
}

void stepmgr_group(struct stepmgr *core, int64_t now_ms, int group, int count,
                   const struct step_process *processes)
{
    std::vector<std::string> hosts;
    std::vector<int> proxies;
    for (int i = 0; i < count; i++) {
        hosts.emplace_back(processes[i].host ? processes[i].host : "");
        proxies.push_back(processes[i].proxy);
    }
    run(core, [=] {
        std::vector<step_process> copies;
        for (size_t i = 0; i < hosts.size(); i++)
            copies.push_back({proxies[i], hosts[i].c_str()});
        core->step->group(now_ms, group, copies);
    });
}

void stepmgr_report(struct stepmgr *core, int64_t now_ms, int group, int proxy,
                    enum step_report report, uint32_t epoch, const void *payload, size_t bytes)
{
    const auto *first = static_cast<const unsigned char *>(payload);
    elastic::Bytes whole(first, bytes);
    if (!core->busy)
        return run_now(core, [&] {
            core->step->report(now_ms, {group, proxy}, report, epoch, whole);
        });
    std::vector<unsigned char> copy(whole.begin(), whole.end());
    run(core, [=] { core->step->report(now_ms, {group, proxy}, report, epoch, copy); });
}

void stepmgr_proxy_up(struct stepmgr *core, int64_t now_ms, int group)
{
    run(core, [=] { core->step->proxy_up(now_ms, group); });
}

void stepmgr_proxy_disconnected(struct stepmgr *core, int64_t now_ms, int group, int proxy)
{
    run(core, [=] { core->step->proxy_disconnected(now_ms, {group, proxy}); });
}

void stepmgr_time(struct stepmgr *core, int64_t now_ms)
{
    run(core, [=] { core->step->time(now_ms); });
}

void stepmgr_terminate(struct stepmgr *core, int64_t now_ms, int signum)
{
    run(core, [=] { core->step->terminate(now_ms, signum); });
}

void stepmgr_spawned(struct stepmgr *core, int64_t now_ms, const struct step_spawned *spawned,
                     int n)
{
    std::map<std::string, int> hosts;
    for (int i = 0; i < n; i++)
        hosts[spawned[i].host] += spawned[i].processes;
    run(core, [=] { core->step->spawned(now_ms, hosts); });
}

int stepmgr_check_spawn(const struct stepmgr *core, int count, char *error, size_t error_bytes)
{
    std::string why;
    guarded(const_cast<stepmgr *>(core), [&] { why = core->step->why_no_spawn(count); });
    copy_text(why, error, error_bytes);
    return why.empty() ? 0 : -1;
}

void stepmgr_unauthenticated(struct stepmgr *core, int64_t now_ms, unsigned count)
{
    run(core, [=] { core->step->unauthenticated(now_ms, count); });
}

void stepmgr_host_lost(struct stepmgr *core, int64_t now_ms, const char *host)
{
    run(core, [=] { core->step->host_lost(now_ms, host); });
}

int stepmgr_add_set(struct stepmgr *core, const char *name, const uint32_t (*runs)[2], int n)
{
    bool added = false;
    guarded(core, [&] {
        std::vector<elastic::SetMembers::Run> list;
        for (int i = 0; i < n; i++)
            list.push_back({runs[i][0], runs[i][1]});
        auto members = elastic::SetMembers::of_runs(list);
        added = members && core->step->add_set(name, *members);
    });
    return added ? 0 : -1;
}

int stepmgr_has_sets(const struct stepmgr *core)
{
    return core->step->has_sets() ? 1 : 0;
}

int stepmgr_local_pre(const struct stepmgr *core, const char *host)
{
    return core->step->local_pre(host ? host : "");
}

int stepmgr_owns_failure(const struct stepmgr *core, int group)
{
    return core->step->owns_failure(group) ? 1 : 0;
}

int stepmgr_world_rank(const struct stepmgr *core, int group, int rank)
{
    return core->step->world_rank(group, rank);
}

void stepmgr_client_line(struct stepmgr *core, int64_t now_ms, int client, const char *line)
{
    run(core, [core, now_ms, client, text = std::string(line)] {
        core->step->client_line(now_ms, client, text);
    });
}

void stepmgr_client_disconnected(struct stepmgr *core, int client)
{
    run(core, [=] { core->step->client_disconnected(client); });
}

size_t stepmgr_summary(const struct stepmgr *core, char *text, size_t bytes)
{
    std::string summary;
    guarded(const_cast<stepmgr *>(core), [&] { summary = core->step->summary(); });
    copy_text(summary, text, bytes);
    return summary.size();
}

}  // extern "C"
