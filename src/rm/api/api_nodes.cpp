/* See api.h: nodes, and their back end. */

#include <algorithm>

#include "api/api.h"
#include "api/api_json.h"

namespace elastic::rm {

/* The users of these nodes: one pass over all blocks, for any number of nodes. */
Api::NodeUsers Api::node_users(const std::vector<const Node *> &nodes) const
{
    NodeUsers users(nodes.size());
    NodeTable index;
    for (size_t i = 0; i < nodes.size(); i++)
        index.set(nodes[i]->name, static_cast<uint32_t>(i));
    if (nodes.empty())
        return users;
    for (JobId id : daemon_.state().indices().allocated) {
        const Job &job = daemon_.state().jobs.at(id);
        auto add = [&](const Blocks &blocks, int NodeUser::*what) {
            for (const Block &block : blocks) {
                uint32_t number = index.of(block.node);
                if (number == NodeTable::NONE)
                    continue;
                UsersOfNode &here = users[number];
                if (here.empty() || here.back().job != &job)
                    here.push_back({&job, 0, 0, 0});
                here.back().*what += block.processes;
            }
        };
        add(job.blocks, &NodeUser::processes);
        for (const Departure &departure : job.departures)
            add(departure.blocks, &NodeUser::processes);
        add(slots_of(job), &NodeUser::extra_slots);
        for (size_t i = 0; job.slots && i < job.slots->spawned.size(); i++) {
            const NodeProcesses &each = job.slots->spawned[i];
            if (const Node *node = daemon_.state().node(each.node))
                add({{node->name, each.processes}}, &NodeUser::spawned);
        }
    }
    return users;
}

Json Api::node_json(const Caller &caller, const Node &node) const
{
    return node_json(caller, node, node_users({&node})[0]);
}

Json Api::node_json(const Caller &caller, const Node &node, const UsersOfNode &users) const
{
    Json jobs = Json::array();
    for (const auto &[job, processes, extra_slots, spawned] : users)
        jobs.push_back({{"job", may_see(caller, job->spec.uid) ? Json(job->id) : Json()},
                        {"processes", processes},
                        {"places", extra_slots},
                        {"spawned", spawned},
                        {"cores", (processes + extra_slots) * job->spec.cores_per_process}});
    return {{"name", node.name},
            {"cores", node.cores},
            {"state", state_of(node)},
            {"reason", text_or_null(node.why())},
            {"cores_used", node.used},
            {"gpus", node.gpus},
            {"gpus_used", numbers_of(node.gpus_used)},
            {"partitions", partitions_of(node)},
            {"jobs", std::move(jobs)}};
}

Json Api::backend_json() const
{
    return {{"kind", daemon_.settings().backend},
            {"about", text_or_null(daemon_.backend().about())},
            {"trouble", text_or_null(daemon_.backend().trouble())}};
}

std::string Api::state_of(const Node &node)
{
    return node.state() == NodeState::DRAINING && node.used == 0
        ? "drained"
        : to_string(node.state());
}

/* The nodes from `first` to `last`, by name; both may be missing. */
Api::NodeRange Api::read_range(QueryReader &query) const
{
    const auto &nodes = daemon_.state().nodes;
    std::string first = query.text("first"), last = query.text("last");
    NodeRange range{first.empty() ? nodes.begin() : nodes.lower_bound(first),
                    last.empty() ? nodes.end() : nodes.upper_bound(last)};
    if (!first.empty() && !last.empty() && last < first)
        throw ApiError{400, "field", "'last' must not be before 'first'", "last"};
    return range;
}

/* A list of nodes in progress. */
struct Api::NodeList {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    std::vector<std::string> names;
    int64_t cores = 0, used = 0;
    bool more = false;
    size_t written = 0;
    std::string text;
};

void Api::get_nodes(Call &call)
{
    QueryReader query(call.request.query);
    NodeRange range = read_range(query);
    auto list = std::make_shared<NodeList>();
    list->responder = call.responder;
    list->caller = call.caller;
    auto states = query.list("state");
    auto limit = static_cast<size_t>(query.number("limit", 1, INT32_MAX, INT32_MAX));
    query.finish();
    for (auto entry = range.begin; entry != range.end; ++entry) {
        const Node &node = entry->second;
        list->cores += node.cores;
        list->used += node.used;
        if (!states.empty() &&
            std::find(states.begin(), states.end(), state_of(node)) == states.end())
            continue;
        if (list->names.size() < limit)
            list->names.push_back(node.name);
        else
            list->more = true;
    }
    daemon_.user_slots().take(call.caller.uid, [this, list](UserSlots::Slot slot) {
        list->slot = std::move(slot);
        in_slices(list->responder, [this, list] { return write_nodes(list); });
    });
}

/* Writes some more of them. */
bool Api::write_nodes(const std::shared_ptr<NodeList> &list)
{
    constexpr size_t AT_ONCE = 50;
    std::vector<const Node *> shown;
    for (; list->written < list->names.size() && shown.size() < AT_ONCE; list->written++)
        if (const Node *node = daemon_.state().node(list->names[list->written]))
            shown.push_back(node);
    NodeUsers users = node_users(shown);
    for (size_t i = 0; i < shown.size(); i++)
        list->text += (list->text.empty() ? "" : ",") +
            node_json(list->caller, *shown[i], users[i])
                .dump(-1, ' ', false, Json::error_handler_t::replace);
    bool is_full = list->text.size() > ANSWER_BYTES_MAX;
    if (list->written < list->names.size() && !is_full)
        return true;
    Json rest = {{"more", list->more || list->written < list->names.size()},
                 {"cores", list->cores},
                 {"cores_used", list->used},
                 {"partitions", partitions_json()},
                 {"backend", backend_json()}};
    std::string end = rest.dump(-1, ' ', false, Json::error_handler_t::replace);
    respond_text(list->responder, "{\"nodes\":[" + list->text + "]," + end.substr(1) + "\n");
    return false;
}

void Api::get_node(Call &call)
{
    QueryReader(call.request.query).finish();
    const Node *node = daemon_.state().node(call.argument);
    if (!node)
        throw ApiError{
            404, "not_found",
            "there is no node " + call.argument.substr(0, 80) + ": 'elastic nodes' lists them"};
    respond_json(call.responder, {{"node", node_json(call.caller, *node)}});
}

}  // namespace elastic::rm
