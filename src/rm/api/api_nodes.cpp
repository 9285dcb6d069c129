/* See api.h: nodes, and their back end. */

#include <algorithm>

#include "api/api.h"
#include "api/api_json.h"

namespace elastic::rm {

Json Api::node_json(const Caller &caller, const Node &node,
                    const std::vector<NodeUser> &users) const
{
    Json jobs = Json::array();
    for (const NodeUser &user : users)
        jobs.push_back({{"job", may_see(caller, user.uid) ? Json(user.job) : Json()},
                        {"processes", user.processes},
                        {"places", user.extra_slots},
                        {"spawned", user.spawned},
                        {"cores", (user.processes + user.extra_slots) * user.cores_per_process}});
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

/* A list of nodes in progress: the nodes are searched, then their users, then they are written. */
struct Api::NodeList {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    std::string next, last;             /* names; empty: of the first and of the last node */
    std::vector<std::string> states;
    size_t limit = 0;
    std::vector<NodeName> names;
    int64_t cores = 0, used = 0;
    bool more = false;
    std::optional<NodeUsers> users;
    size_t written = 0;
    std::string text;
};

void Api::get_nodes(Call &call)
{
    QueryReader query(call.request.query);
    auto list = std::make_shared<NodeList>();
    list->responder = call.responder;
    list->caller = call.caller;
    read_range(query);
    list->next = query.text("first");
    list->last = query.text("last");
    list->states = query.list("state");
    list->limit = static_cast<size_t>(query.number("limit", 1, INT32_MAX, INT32_MAX));
    query.finish();
    daemon_.user_slots().take(call.caller.uid, [this, list](UserSlots::Slot slot) {
        list->slot = std::move(slot);
        in_slices(list->responder, [this, list] { return find_nodes(list); });
    });
}

/* Some more nodes of the list. */
bool Api::find_nodes(const std::shared_ptr<NodeList> &list)
{
    constexpr size_t AT_ONCE = 500;
    const auto &nodes = daemon_.state().nodes;
    auto entry = list->next.empty() ? nodes.begin() : nodes.lower_bound(list->next);
    auto end = list->last.empty() ? nodes.end() : nodes.upper_bound(list->last);
    for (size_t examined = 0; entry != end && examined < AT_ONCE; ++entry, examined++) {
        const Node &node = entry->second;
        list->cores += node.cores;
        list->used += node.used;
        if (!list->states.empty() &&
            std::ranges::find(list->states, state_of(node)) == list->states.end())
            continue;
        if (list->names.size() < list->limit)
            list->names.push_back(node.name);
        else
            list->more = true;
    }
    if (entry != end) {
        list->next = entry->first;
        return true;
    }
    list->users.emplace(list->names);
    in_slices(list->responder, [this, list] {
        return list->users->add_some(daemon_.state()) || write_nodes(list);
    });
    return false;
}

/* Writes some more of them. */
bool Api::write_nodes(const std::shared_ptr<NodeList> &list)
{
    constexpr size_t AT_ONCE = 50;
    for (size_t i = 0; i < AT_ONCE && list->written < list->names.size(); i++, list->written++) {
        const Node *node = daemon_.state().node(list->names[list->written]);
        if (node)
            list->text += (list->text.empty() ? "" : ",") +
                node_json(list->caller, *node, list->users->of(list->written))
                    .dump(-1, ' ', false, Json::error_handler_t::replace);
    }
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
    if (!daemon_.state().node(call.argument))
        throw ApiError{
            404, "not_found",
            "there is no node " + call.argument.substr(0, 80) + ": 'elastic nodes' lists them"};
    respond_node(call.responder, call.caller, call.argument);
}

void Api::respond_node(const Responder &responder, const Caller &caller, const std::string &name)
{
    auto users = std::make_shared<NodeUsers>(std::vector<NodeName>{name});
    in_slices(responder, [this, responder, caller, name, users] {
        if (users->add_some(daemon_.state()))
            return true;
        const Node *node = daemon_.state().node(name);
        respond_json(responder, {{"node", node ? node_json(caller, *node, users->of(0)) : Json()}});
        return false;
    });
}

}  // namespace elastic::rm
