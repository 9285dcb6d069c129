/* See api.h: elasticd and its whole cluster: version, health, metrics, sums, timeline. */

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "api/api.h"
#include "api/api_json.h"
#include "step/step_spec.h"

namespace elastic::rm {

void Api::get_version(Call &call)
{
    QueryReader(call.request.query).finish();
    Json user = nullptr;
    if (call.known)
        user = {{"name", call.caller.name},
                {"uid", call.caller.uid},
                {"administrator", call.caller.administrator}};
    const Settings &settings = daemon_.settings();
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    respond_json(call.responder, {{"name", "elasticd"},
                                  {"version", ELASTIC_VERSION},
                                  {"api", 1},
                                  {"cluster", settings.cluster},
                                  {"policy", settings.policy},
                                  {"backend", settings.backend},
                                  {"started_ms", daemon_.started_ms()},
                                  {"now_ms", unix_ms()},
                                  {"web_changes", settings.allow_web_changes},
                                  {"host", call.known ? Json(host) : Json()},
                                  {"boot_id", call.known ? Json(boot_id()) : Json()},
                                  {"user", user}});
}

void Api::get_health(Call &call)
{
    if (!daemon_.storage_works())
        throw ApiError{503, "storage", "the store cannot be written now: see the log of elasticd"};
    respond_json(call.responder, {{"ok", true}, {"backend", backend_json()}});
}

void Api::get_metrics(Call &call)
{
    respond(call,
            {200, "text/plain; version=0.0.4; charset=utf-8",
             daemon_.metrics().text(daemon_.state(),
                                    {daemon_.started_ms(), daemon_.connections(),
                                     daemon_.storage_works(), daemon_.sampler().counts()})});
}

void Api::get_summary(Call &call)
{
    QueryReader(call.request.query).finish();
    const State &state = daemon_.state();
    const JobCounts &jobs = state.indices().jobs;
    const NodeCounts &nodes = state.indices().nodes;
    Json states = Json::object();
    for (size_t i = 0; i < jobs.states.size(); i++)
        states[NamesOf<JobState>::names[i]] = jobs.states[i];
    respond_json(
        call.responder,
        {{"now_ms", unix_ms()},
         {"policy", daemon_.settings().policy},
         {"cores", nodes.cores},
         {"cores_used", nodes.used_cores},
         {"nodes",
          {{"up", nodes.of(NodeState::UP)},
           {"draining", nodes.of(NodeState::DRAINING) - nodes.drained},
           {"drained", nodes.drained},
           {"down", nodes.of(NodeState::DOWN)}}},
         {"jobs", std::move(states)},
         {"adaptations",
          {{"committed", jobs.committed}, {"withdrawn", jobs.withdrawn}, {"failed", jobs.failed}}},
         {"seq", state.records}});
}

void Api::get_timeline(Call &call)
{
    constexpr int64_t HOUR_MS = 3600 * 1000, GROUPS_MAX = 1000, COLUMNS_MAX = 1000,
                      SEGMENTS_MAX = 4000;
    QueryReader query(call.request.query);
    int64_t to_ms = query.number("to_ms", 0, INT64_MAX / 2, unix_ms());
    int64_t from_ms = query.number("from_ms", 0, INT64_MAX / 2, to_ms - HOUR_MS);
    Timeline::Query segments;
    segments.limit = static_cast<size_t>(query.number("limit", 1, SEGMENTS_MAX, SEGMENTS_MAX));
    segments.before = static_cast<uint64_t>(query.number("before", 0, INT64_MAX, INT64_MAX));
    auto groups = static_cast<size_t>(query.number("groups", 1, GROUPS_MAX, 0));
    auto columns = static_cast<size_t>(query.number("columns", 1, COLUMNS_MAX, 100));
    NodeRange range = read_range(query);
    query.finish();
    if (groups)
        send_use(call, range, from_ms, to_ms, groups, columns);
    else
        send_segments(call, range, from_ms, to_ms, segments);
}

/* The use of each group of neighbouring nodes: it shows no single job. */
void Api::send_use(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms,
                   size_t groups, size_t columns)
{
    const Timeline &timeline = daemon_.timeline();
    int64_t first_ms = timeline.first_ms();
    from_ms =
        std::min(to_ms, std::max(from_ms, first_ms == NEVER ? to_ms : daemon_.shown_ms(first_ms)));
    auto nodes = static_cast<size_t>(std::distance(range.begin, range.end));
    groups = std::max<size_t>(1, std::min(groups, nodes));
    struct Group {
        NodeName first, last;
        int64_t nodes, cores;
    };
    NodeTable group_of;
    std::vector<Group> found;
    size_t number = 0;
    for (auto entry = range.begin; entry != range.end; ++entry) {
        size_t group = number++ * groups / nodes;
        const Node &node = entry->second;
        if (group >= found.size())
            found.push_back({node.name, node.name, 0, 0});
        found[group].last = node.name;
        found[group].nodes++;
        found[group].cores += node.cores;
        group_of.set(node.name, static_cast<uint32_t>(group));
    }
    auto use = timeline.use(
        daemon_.core_ms(from_ms), daemon_.core_ms(to_ms), columns, group_of, found.size());
    Json list = Json::array();
    for (size_t group = 0; group < found.size(); group++) {
        const Group &here = found[group];
        for (double &cores : use[group])
            cores = std::round(cores * 10) / 10;
        list.push_back({{"first", here.first},
                        {"last", here.last},
                        {"nodes", here.nodes},
                        {"cores", here.cores},
                        {"used", std::move(use[group])}});
    }
    respond_json(call.responder,
                 {{"from_ms", from_ms}, {"to_ms", to_ms}, {"groups", std::move(list)}});
}

void Api::send_segments(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms,
                        Timeline::Query query)
{
    std::vector<std::pair<NodeName, int>> nodes;
    bool all = range.begin == daemon_.state().nodes.begin() &&
        range.end == daemon_.state().nodes.end();
    bool is_first = query.before == INT64_MAX;
    NodeTable wanted;
    for (auto entry = range.begin; entry != range.end; ++entry) {
        if (is_first)           /* further pages have the same values */
            nodes.emplace_back(entry->second.name, entry->second.cores);
        if (!all)
            wanted.set(entry->second.name, 0);
    }
    query.from_ms = daemon_.core_ms(from_ms);
    query.to_ms = daemon_.core_ms(to_ms);
    query.nodes = all ? nullptr : &wanted;
    auto found = std::make_shared<Timeline::Found>(daemon_.timeline().between(query));
    auto names = std::make_shared<std::unordered_map<JobId, std::string>>();
    for (Segment &segment : found->segments) {
        auto [name, is_new] = names->try_emplace(segment.job);
        const Job *job = daemon_.state().job(segment.job);
        if (is_new && job)
            name->second = job->spec.name;
        if (job)
            segment.uid = job->spec.uid;
    }
    auto visible = [private_jobs = daemon_.settings().private_jobs, caller = call.caller,
                    owners = std::unordered_map<JobId, std::optional<uint32_t>>()](
                       History &history, const Segment &segment) mutable {
        if (caller.administrator || !private_jobs)
            return true;
        if (segment.uid)
            return *segment.uid == caller.uid;
        auto [owner, is_new] = owners.try_emplace(segment.job);
        if (is_new)
            owner->second = stored(history.owner(segment.job));
        return owner->second == caller.uid;
    };
    auto task = [found, names, visible, from_ms, to_ms, nodes = std::move(nodes),
                 offset_ms = daemon_.shown_ms(0)](History &history) mutable {
        Json segments = Json::array();
        for (const Segment &segment : found->segments) {
            bool shown = visible(history, segment);
            std::string name = shown ? names->at(segment.job) : "";
            segments.push_back(
                {{"job", shown ? Json(segment.job) : Json()},
                 {"name", text_or_null(name)},
                 {"node", segment.node},
                 {"cores", segment.cores},
                 {"from_ms", segment.from_ms + offset_ms},
                 {"to_ms", segment.to_ms == NEVER ? Json() : Json(segment.to_ms + offset_ms)}});
        }
        Json shown_nodes = Json::array();
        for (const auto &[name, cores] : nodes)
            shown_nodes.push_back({{"name", name}, {"cores", cores}});
        Json json = {{"from_ms", from_ms},
                     {"to_ms", to_ms},
                     {"nodes", std::move(shown_nodes)},
                     {"segments", std::move(segments)},
                     {"next", found->older ? Json(found->segments.front().number) : Json()},
                     {"more", found->older || found->discarded}};
        return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    read<std::string>(call.caller, call.responder, std::move(task),
                      [this, responder = call.responder](std::string text) {
                          respond_text(responder, std::move(text));
                      });
}

}  // namespace elastic::rm
