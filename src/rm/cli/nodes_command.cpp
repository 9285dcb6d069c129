/* `elastic nodes`: the nodes, one on each line, or in the form of sinfo. */

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/elasticd_client.h"
#include "cli/list_options.h"
#include "cli/node_names.h"
#include "cli/node_view.h"

namespace elastic {

namespace {

struct NodesOptions {
    bool json = false, each_node = false, summary = false, reasons = false, by_partition = false;
    std::string names, states, format;
    std::vector<std::string> arguments;
    ListOptions list;
    NodeFilter filter;
    Elasticd elasticd;
};

/* All pages of the list of nodes: each except the first begins with the last node of the
 * previous one. */
int get_nodes(Elasticd &elasticd, Json &answer)
{
    if (int code = elasticd.get("/v1/nodes", answer))
        return code;
    Json nodes = list_of(answer, "nodes");
    for (bool more = bool_or(answer, "more", false); more && !nodes.empty();) {
        Json page;
        std::string first = Elasticd::escaped(text_of(nodes.back(), "name"));
        if (int code = elasticd.get("/v1/nodes?first=" + first, page))
            return code;
        const Json &found = list_of(page, "nodes");
        for (size_t i = 1; i < found.size(); i++)
            nodes.push_back(found[i]);
        more = bool_or(page, "more", false) && found.size() > 1;
    }
    answer["nodes"] = std::move(nodes);
    return DONE;
}

/* DONE, or an exit code after a message. */
int read_filter(NodesOptions &options)
{
    auto states = parse_node_states(options.states);
    if (!states)
        return complain(USAGE, "--states: " + states.error());
    options.filter.states = std::move(states.value());
    options.filter.with_reason = options.reasons;
    std::vector<std::string> lists = options.arguments;
    if (!options.names.empty())
        lists.push_back(options.names);
    auto names = node_names("NODE", lists);
    if (!names)
        return complain(USAGE, names.error());
    options.filter.names.insert(names.value().begin(), names.value().end());
    return DONE;
}

/* DONE, or an exit code after a message. */
int check_names(const std::set<std::string> &names, const Json &nodes)
{
    std::set<std::string> unknown = names;
    for (const Json &node : nodes)
        unknown.erase(text_of(node, "name"));
    return unknown.empty() ? DONE
                           : complain(NOT_FOUND, "there is no node " + *unknown.begin() +
                                                     ": 'elastic nodes' lists them");
}

const char *format_of_flags(const NodesOptions &options, bool with_partitions)
{
    if (options.by_partition)
        return PARTITIONS_FORMAT;
    if (options.reasons)
        return REASONS_FORMAT;
    return with_partitions ? PARTITIONS_SUMMARY_FORMAT : SUMMARY_FORMAT;
}

int print_as_sinfo(const NodesOptions &options, const Json &nodes, const Json &partitions)
{
    auto format = ListFormat::of(NODE_FIELDS,
                                 options.format.empty()
                                     ? format_of_flags(options, !partitions.empty())
                                     : options.format);
    if (!format)
        return complain(USAGE, "--format: " + format.error());
    bool expands = shows_partitions(format.value()) && !partitions.empty();
    print_list(options.list, format.value(),
               group_nodes(expands ? by_partition(nodes, partitions) : nodes, format.value(),
                           options.each_node),
               0);
    return DONE;
}

/* All, or the selected one; DONE, or an exit code after a message. */
int choose_partitions(const std::string &name, const Json &all, Json &chosen)
{
    std::string names;
    for (const Json &each : all) {
        std::string known = text_of(each, "name");
        names += (names.empty() ? "" : ", ") + known;
        if (name.empty() || name == known)
            chosen.push_back(each);
    }
    if (name.empty() || !chosen.empty())
        return DONE;
    return complain(NOT_FOUND, "there is no partition " + name +
                                   (names.empty() ? ": there are none at all"
                                                  : ": there are " + names));
}

/* Properties of the back end, and why it does not work now. */
void print_backend(const Json &backend)
{
    for (const char *reports : {"about", "trouble"}) {
        if (backend.contains(reports) && backend[reports].is_string())
            print_line("# " + text_of(backend, "kind") + ": " + text_of(backend, reports));
    }
}

int run_nodes(NodesOptions &options)
{
    Json answer, nodes = Json::array(), partitions = Json::array();
    if (int code = read_filter(options))
        return code;
    if (int code = get_nodes(options.elasticd, answer))
        return code;
    if (int code = check_names(options.filter.names, list_of(answer, "nodes")))
        return code;
    if (int code = choose_partitions(options.filter.partition, list_of(answer, "partitions"),
                                     partitions))
        return code;
    for (const Json &node : list_of(answer, "nodes")) {
        if (options.filter.accepts(node))
            nodes.push_back(node);
    }
    if (options.json) {
        for (const Json &node : nodes)
            print_json(node);
        return DONE;
    }
    if (!options.format.empty() || options.summary || options.reasons || options.by_partition)
        return print_as_sinfo(options, nodes, partitions);
    NodeColumns columns = columns_of(nodes);
    Table table = node_table(columns);
    for (const Json &node : nodes)
        table.add(node_row(node, columns));
    options.list.print(table);
    if (options.filter.names.empty() && !options.list.no_header &&
        options.list.form() == Parsable::NO)
        print_backend(object_of(answer, "backend"));
    return DONE;
}

}  // namespace

void add_nodes(CLI::App &app, int &code)
{
    auto options = std::make_shared<NodesOptions>();
    CLI::App *command =
        add_command(app, "nodes", "list nodes and the jobs on them (JOB:CORES)", options->json);
    command->add_option("NODE", options->arguments, "only these, such as n[1-3]");
    command->add_option("-n,--nodes", options->names, "only these, such as n[1-3],n7");
    command->add_option("-t,--states,--state", options->states,
                        "only in these states, such as idle,mixed,drain");
    command->add_option("-p,--partition", options->filter.partition, "only in this partition");
    auto format = command->add_option("-o,--format", options->format,
                                      "fields as sinfo's, such as '%n %T %C'; nodes with "
                                      "equal fields share a line");
    auto summary = command->add_flag("-s,--summarize", options->summary,
                                     "counts of nodes: allocated/idle/other/total");
    auto reasons =
        command->add_flag("-R,--list-reasons", options->reasons, "why nodes are drained or down")
            ->excludes(summary)
            ->excludes(format);
    command
        ->add_flag("--by-partition", options->by_partition,
                   "as sinfo: a line for the nodes of each partition in each state")
        ->excludes(summary)
        ->excludes(format)
        ->excludes(reasons);
    summary->excludes(format);
    command->add_flag("-N,--Node", options->each_node, "with -o, -s or -R: a line for each node");
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = run_nodes(*options); });
}

}  // namespace elastic
