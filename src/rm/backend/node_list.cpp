/* See node_list.h. */

#include "backend/node_list.h"

#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/change.h"

namespace elastic::rm {

namespace {

constexpr std::string_view BLANKS = " \t\r\n";

std::string shown(std::string_view text)
{
    constexpr size_t SHOWN_MAX = 80;
    std::string line = printable(text, Charset::UTF_8, SHOWN_MAX);
    return "'" + line + (text.size() > SHOWN_MAX ? "..." : "") + "'";
}

std::string_view trim(std::string_view text)
{
    size_t begin = text.find_first_not_of(BLANKS);
    if (begin == std::string_view::npos)
        return "";
    return text.substr(begin, text.find_last_not_of(BLANKS) - begin + 1);
}

/* 0: not a number from 1 to `highest`. */
int parse_count(std::string_view text, int highest = LISTED_CORES_MAX)
{
    int value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 1 &&
            value <= highest
        ? value
        : 0;
}

std::vector<std::string_view> words_of(std::string_view text)
{
    std::vector<std::string_view> words;
    for (size_t begin; (begin = text.find_first_not_of(BLANKS)) != std::string_view::npos;) {
        text.remove_prefix(begin);
        size_t length = std::min(text.find_first_of(BLANKS), text.size());
        words.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return words;
}

/* NAME or NAME:CORES */
Result<ListedNode> parse_entry(std::string_view text)
{
    size_t colon = text.rfind(':');
    std::string_view name = text.substr(0, colon);
    if (std::string wrong = check_host_name(name); !wrong.empty())
        return Error{shown(text) + ": " + wrong};
    ListedNode node{std::string(name), 0};
    if (colon != std::string_view::npos && (node.cores = parse_count(text.substr(colon + 1))) == 0)
        return Error{shown(text) + ": NAME:CORES has a number of cores from 1 to " +
                     std::to_string(LISTED_CORES_MAX)};
    return node;
}

/* Nodes in the order in which they first occur; the cores of repeated names are added. */
class Adder {
  public:
    /* Empty, or the error. */
    std::string add(std::string_view name, int cores)
    {
        auto [found, is_new] = indices_.try_emplace(std::string(name), nodes_.size());
        if (is_new) {
            if (nodes_.size() == LISTED_NODES_MAX)
                return "more than " + std::to_string(LISTED_NODES_MAX) + " nodes";
            nodes_.push_back({found->first, cores});
            return "";
        }
        ListedNode &node = nodes_[found->second];
        if (cores > LISTED_CORES_MAX - node.cores)
            return node.name + " has more than " + std::to_string(LISTED_CORES_MAX) + " cores";
        node.cores += cores;
        return "";
    }
    ListedNodes take() { return std::move(nodes_); }

  private:
    ListedNodes nodes_;
    std::unordered_map<std::string, size_t> indices_;
};

/* ---- Slurm ----------------------------------------------------------------------------------- */

/* Splits at the commas that are outside of brackets. */
Result<std::vector<std::string_view>> split_list(std::string_view text)
{
    std::vector<std::string_view> parts;
    size_t begin = 0;
    bool inside = false;
    for (size_t i = 0; i <= text.size(); i++) {
        char c = i < text.size() ? text[i] : ',';
        if ((c == '[' && inside) || (c == ']' && !inside) || (i == text.size() && inside))
            return Error{shown(text) + " has brackets that do not match"};
        inside = c == '[' || (inside && c != ']');
        if (c != ',' || inside)
            continue;
        parts.push_back(text.substr(begin, i - begin));
        begin = i + 1;
    }
    return parts;
}

/* Appends each number of "1-3,07" to each name. */
std::string multiply(std::vector<std::string> &names, std::string_view ranges, size_t most)
{
    std::vector<std::string> longer;
    while (!ranges.empty() || longer.empty()) {
        size_t comma = std::min(ranges.find(','), ranges.size());
        std::string_view range = ranges.substr(0, comma);
        ranges.remove_prefix(std::min(comma + 1, ranges.size()));
        size_t dash = std::min(range.find('-'), range.size());
        std::string_view first = range.substr(0, dash),
                         last = dash < range.size() ? range.substr(dash + 1) : first;
        constexpr size_t DIGITS_MAX = 9;
        auto is_number = [](std::string_view text) {
            return !text.empty() && text.size() <= DIGITS_MAX &&
                text.find_first_not_of("0123456789") == text.npos;
        };
        if (!is_number(first) || !is_number(last))
            return shown(range) + " is not a range of numbers such as 1-3 or 07";
        long low = std::stol(std::string(first)), high = std::stol(std::string(last));
        if (high < low)
            return shown(range) + " is descending";
        if (static_cast<size_t>(high - low) >= most ||
            longer.size() + names.size() * static_cast<size_t>(high - low + 1) > most)
            return shown(range) + " makes more than " + std::to_string(most) + " nodes";
        for (const std::string &name : names)
            for (long number = low; number <= high; number++) {
                std::string digits = std::to_string(number);
                longer.push_back(
                    name +
                    std::string(first.size() > digits.size() ? first.size() - digits.size() : 0,
                                '0') +
                    digits);
            }
    }
    names = std::move(longer);
    return "";
}

/* "rack[0-1]-n[01-03]": the last numbers vary fastest. */
Result<std::vector<std::string>> expand(std::string_view part, size_t most)
{
    std::vector<std::string> names = {""};
    while (!part.empty()) {
        size_t open = std::min(part.find('['), part.size());
        for (std::string &name : names)
            name += part.substr(0, open);
        part.remove_prefix(open);
        if (part.empty())
            break;
        size_t close = part.find(']');          /* split_list has checked that it exists */
        std::string error = multiply(names, part.substr(1, close - 1), most);
        if (!error.empty())
            return Error{error};
        part.remove_prefix(close + 1);
    }
    return names;
}

/* "4(x2),8": one number for each node. */
Result<std::vector<int>> expand_counts(std::string_view text, size_t most)
{
    std::vector<int> counts;
    while (!text.empty()) {
        size_t comma = std::min(text.find(','), text.size());
        std::string_view part = trim(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        size_t open = part.find("(x");
        int times = 1;
        if (open != std::string_view::npos)
            times = part.ends_with(")")
                ? parse_count(part.substr(open + 2, part.size() - open - 3), LISTED_NODES_MAX)
                : 0;
        int count = parse_count(part.substr(0, open));
        if (count == 0 || times == 0)
            return Error{shown(part) + " is not a number of CPUs such as 4 or 4(x2)"};
        if (counts.size() + static_cast<size_t>(times) > most)
            return Error{"there are more numbers of CPUs than nodes"};
        counts.insert(counts.end(), static_cast<size_t>(times), count);
    }
    return counts;
}

}  // namespace

std::string check_host_name(std::string_view name)
{
    if (name.empty())
        return "a host's name is missing";
    if (name.size() > HOST_NAME_BYTES_MAX)
        return "a host's name has at most " + std::to_string(HOST_NAME_BYTES_MAX) + " characters";
    constexpr std::string_view ALLOWED =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (name.find_first_not_of(ALLOWED) != std::string_view::npos || name[0] == '-' ||
        name[0] == '.')
        return "a host's name has letters, digits, '-', '_' and '.'; a user's name or a port "
               "belong into the "
               "configuration of ssh";
    return "";
}

Result<ListedNodes> parse_hosts(const std::vector<std::string> &entries)
{
    ListedNodes nodes;
    std::unordered_set<std::string> names;
    for (const std::string &entry : entries) {
        auto node = parse_entry(entry);
        if (!node)
            return Error{node.error()};
        if (!names.insert(node.value().name).second)
            return Error{node.value().name + " is listed twice"};
        nodes.push_back(std::move(node.value()));
    }
    if (nodes.size() > LISTED_NODES_MAX)
        return Error{"more than " + std::to_string(LISTED_NODES_MAX) + " hosts"};
    return nodes;
}

Result<ListedNodes> parse_hosts_file(std::string_view text, const std::string &name)
{
    Adder adder;
    /* bare: names that occurred once, without a number */
    std::unordered_set<std::string> seen, bare;
    for (size_t number = 1; !text.empty(); number++) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trim(text.substr(0, std::min(end, text.substr(0, end).find('#'))));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty())
            continue;
        auto node = parse_entry(line);
        std::string error = node ? "" : node.error();
        if (node) {
            const ListedNode &entry = node.value();
            error = adder.add(entry.name, std::max(entry.cores, 1));
            if (seen.insert(entry.name).second && entry.cores == 0)
                bare.insert(entry.name);
            else
                bare.erase(entry.name);
        }
        if (!error.empty())
            return Error{name + ":" + std::to_string(number) + ": " + error};
    }
    ListedNodes nodes = adder.take();
    if (nodes.empty())
        return Error{name + " names no node"};
    for (ListedNode &node : nodes)
        node.cores = bare.contains(node.name) ? 0 : node.cores;
    return nodes;
}

Result<ListedNodes> parse_slurm_nodes(std::string_view nodes, std::string_view cpus_per_node,
                                      size_t most)
{
    auto parts = split_list(trim(nodes));
    if (!parts)
        return Error{parts.error()};
    ListedNodes list;
    std::unordered_set<std::string> names;
    for (std::string_view part : parts.value()) {
        auto expanded = expand(part, most);
        if (!expanded)
            return Error{expanded.error()};
        for (std::string &name : expanded.value()) {
            std::string wrong = check_host_name(name);
            if (wrong.empty() && !names.insert(name).second)
                wrong = "it is listed twice";
            if (!wrong.empty())
                return Error{shown(name) + " in " + shown(nodes) + ": " + wrong};
            list.push_back({std::move(name), 0});
        }
        if (list.size() > most)
            return Error{"more than " + std::to_string(most) + " nodes"};
    }
    auto counts = expand_counts(trim(cpus_per_node), list.size());
    if (!counts)
        return Error{counts.error()};
    if (!counts.value().empty() && counts.value().size() != list.size())
        return Error{std::to_string(list.size()) + " nodes and " +
                     std::to_string(counts.value().size()) + " numbers of CPUs"};
    for (size_t i = 0; i < counts.value().size(); i++)
        list[i].cores = counts.value()[i];
    return list;
}

Result<ListedNodes> parse_lsf_mcpu_hosts(std::string_view text)
{
    Adder adder;
    auto words = words_of(text);
    if (words.empty() || words.size() % 2 != 0)
        return Error{shown(text) + " is not a list of hosts and numbers such as: a 4 b 8"};
    for (size_t i = 0; i < words.size(); i += 2) {
        int cores = parse_count(words[i + 1]);
        std::string error = check_host_name(words[i]);
        if (error.empty() && cores == 0)
            error = shown(words[i + 1]) + " is not a number of slots";
        if (error.empty())
            error = adder.add(words[i], cores);
        if (!error.empty())
            return Error{shown(words[i]) + ": " + error};
    }
    return adder.take();
}

Result<ListedNodes> parse_lsf_hosts(std::string_view text)
{
    Adder adder;
    auto words = words_of(text);
    if (words.empty())
        return Error{"the list of hosts is empty"};
    for (std::string_view word : words) {
        std::string error = check_host_name(word);
        if (error.empty())
            error = adder.add(word, 1);
        if (!error.empty())
            return Error{shown(word) + ": " + error};
    }
    return adder.take();
}

}  // namespace elastic::rm
