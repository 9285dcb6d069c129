/* See change.h. */

#include "base/change.h"

#include <algorithm>
#include <charconv>

namespace elastic {

namespace {

std::string count_of(int number, const char *singular, const char *plural)
{
    return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::vector<int> highest_ranks(int present, int count)
{
    std::vector<int> ranks;
    for (int rank = present - count; rank < present; rank++)
        ranks.push_back(rank);
    return ranks;
}

/* Why these ranks cannot leave a world of `present`, or nullopt. */
std::optional<Error> check_leaving(int present, const std::vector<int> &ascending)
{
    if (!ascending.empty() && (ascending.front() < 0 || ascending.back() >= present)) {
        int bad = ascending.front() < 0 ? ascending.front() : ascending.back();
        return Error{"rank " + std::to_string(bad) + " cannot leave: there " +
                     (present == 1 ? "is" : "are") + " " +
                     count_of(present, "process, rank 0", "processes, ranks 0 to ") +
                     (present == 1 ? "" : std::to_string(present - 1))};
    }
    auto twice = std::adjacent_find(ascending.begin(), ascending.end());
    if (twice != ascending.end())
        return Error{"rank " + std::to_string(*twice) + " is listed twice among the leaving ranks"};
    return std::nullopt;
}

/* Why joining processes cannot run the requested program, or nullopt. */
std::optional<Error> check_program(const ChangeRequest &request, int joining, int programs)
{
    if (!request.program)
        return std::nullopt;
    if (joining == 0)
        return Error{"a program is given, but no process joins: leave the program out"};
    if (programs == 0 || (*request.program >= 0 && *request.program < programs))
        return std::nullopt;
    return Error{"there is no program " + std::to_string(*request.program) + ": " +
                 count_of(programs, "program was", "programs were") + " launched, give " +
                 (programs == 1 ? "0, or leave it out" : "0 to " + std::to_string(programs - 1))};
}

template <class Parse>
std::optional<Error> for_each_part(std::string_view text, char separator, Parse parse)
{
    while (true) {
        size_t end = text.find(separator);
        std::optional<Error> error = parse(text.substr(0, end));
        if (error || end == std::string_view::npos)
            return error;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

Result<Change> resolve_change(int present, const ChangeRequest &request, int programs)
{
    if (request.size < 1 || request.size > SIZE_MAX_PROCESSES)
        return Error{"size " + std::to_string(request.size) + " is not possible: give 1 to " +
                     std::to_string(SIZE_MAX_PROCESSES)};
    Change change;
    change.new_size = request.size;
    if (request.leave) {
        change.leaving = *request.leave;
        std::sort(change.leaving.begin(), change.leaving.end());
        if (auto error = check_leaving(present, change.leaving))
            return *error;
    } else if (request.size < present) {
        change.leaving = highest_ranks(present, present - request.size);
    }
    int left = present - static_cast<int>(change.leaving.size());
    change.joining = request.size - left;
    if (change.joining < 0)
        return Error{"of " + count_of(present, "process ", "processes ") +
                     std::to_string(change.leaving.size()) + " would leave, so that " +
                     std::to_string(left) + " stay, more than the size " +
                     std::to_string(request.size) + " that is requested: list " +
                     count_of(-change.joining, "more rank", "more ranks")};
    if (change.joining == 0 && change.leaving.empty())
        return Error{"the size is " + std::to_string(present) + " already"};
    if (change.joining == 0 && !request.hosts.empty())
        return Error{"hosts are given, but no process joins: leave the hosts out"};
    if (auto error = check_program(request, change.joining, programs))
        return *error;
    return change;
}

std::optional<long long> parse_number(std::string_view text, long long low, long long high)
{
    long long number = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || status != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    if (number < low || number > high)
        return std::nullopt;
    return number;
}

std::string plain_list(std::string_view text, char separator)
{
    bool in_brackets = text.size() >= 2 && text.front() == '[' && text.back() == ']';
    std::string list(in_brackets ? text.substr(1, text.size() - 2) : text);
    if (in_brackets)
        std::erase_if(list, [](char c) { return c == ' ' || c == '\t'; });
    std::ranges::replace_if(list, [](char c) { return c == ',' || c == '+'; }, separator);
    return list;
}

Result<std::vector<int>> parse_ranks(std::string_view text, char separator)
{
    std::vector<int> ranks;
    auto parse = [&](std::string_view part) -> std::optional<Error> {
        size_t dash = part.find('-');
        auto first = parse_number(part.substr(0, dash), 0, SIZE_MAX_PROCESSES - 1);
        auto last = dash == std::string_view::npos
                        ? first
                        : parse_number(part.substr(dash + 1), 0, SIZE_MAX_PROCESSES - 1);
        if (!first || !last || *first > *last)
            return Error{"'" + std::string(part) + "' is not a rank: give ranks such as 0" +
                         separator + "2 or 0-3"};
        if (ranks.size() + static_cast<size_t>(*last - *first) >= size_t{SIZE_MAX_PROCESSES})
            return Error{"too many ranks are listed"};
        for (long long rank = *first; rank <= *last; rank++)
            ranks.push_back(static_cast<int>(rank));
        return std::nullopt;
    };
    if (auto error = for_each_part(text, separator, parse))
        return *error;
    std::vector<int> ascending = ranks;
    std::sort(ascending.begin(), ascending.end());
    auto twice = std::adjacent_find(ascending.begin(), ascending.end());
    if (twice != ascending.end())
        return Error{"rank " + std::to_string(*twice) + " is listed twice"};
    return ranks;
}

bool valid_host_name(std::string_view name)
{
    auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    return !name.empty() && name.size() <= HOST_NAME_MAX_BYTES && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), allowed);
}

bool valid_host_slot(std::string_view slot)
{
    size_t colon = slot.find(':');
    return valid_host_name(slot.substr(0, colon)) &&
           (colon == std::string_view::npos ||
            parse_number(slot.substr(colon + 1), 1, SIZE_MAX_PROCESSES));
}

bool valid_host_of_joining(std::string_view slot)
{
    constexpr size_t GPUS_BYTES_MAX = 4096;
    constexpr long long GPU_NUMBER_MAX = 1 << 24;
    size_t sign = slot.find('=');
    std::string_view host = slot.substr(0, sign);
    if (sign == std::string_view::npos)
        return valid_host_slot(host);
    std::string_view gpus = slot.substr(sign + 1);
    auto parse = [](std::string_view number) -> std::optional<Error> {
        if (parse_number(number, 0, GPU_NUMBER_MAX))
            return std::nullopt;
        return Error{"'" + std::string(number) + "' is not the number of a GPU"};
    };
    return host.find(':') != std::string_view::npos && valid_host_slot(host) &&
           gpus.size() <= GPUS_BYTES_MAX && !for_each_part(gpus, ',', parse);
}

Result<std::vector<std::string>> parse_hosts(std::string_view text, char separator)
{
    std::vector<std::string> hosts;
    auto parse = [&](std::string_view part) -> std::optional<Error> {
        if (!valid_host_name(part))
            return Error{"'" + std::string(part) + "' is not a host name: give names such as a" +
                         separator + "b, of letters, digits, '.', '-' and '_'"};
        if (hosts.size() == HOSTS_MAX)
            return Error{"more than " + std::to_string(HOSTS_MAX) + " hosts are listed"};
        hosts.emplace_back(part);
        return std::nullopt;
    };
    if (auto error = for_each_part(text, separator, parse))
        return *error;
    return hosts;
}

std::string format_ranks(const std::vector<int> &ranks)
{
    std::string text;
    for (size_t i = 0; i < ranks.size();) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
            last++;
        text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
        if (last > i)
            text += "-" + std::to_string(ranks[last]);
        i = last + 1;
    }
    return text;
}

namespace {

/* Bytes of the UTF-8 character at the front of this text; 0: it is not well formed. */
size_t character_bytes(std::string_view text)
{
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80)
        return 1;
    size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    }
    bool is_longer_than_needed =
        (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
    bool is_surrogate = byte(0) == 0xed && byte(1) > 0x9f;
    bool is_beyond_the_last = byte(0) == 0xf4 && byte(1) > 0x8f;
    return is_longer_than_needed || is_surrogate || is_beyond_the_last ? 0 : bytes;
}

/* U+0000 to U+001F, U+007F to U+009F */
bool is_control(std::string_view character)
{
    auto first = static_cast<unsigned char>(character[0]);
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

}  // namespace

std::string printable(std::string_view text, Charset charset, size_t bytes_max)
{
    std::string line;
    for (size_t taken = 0; !text.empty(); text.remove_prefix(taken)) {
        bool is_ascii = static_cast<unsigned char>(text[0]) < 0x80;
        size_t bytes = is_ascii || charset == Charset::UTF_8 ? character_bytes(text) : 0;
        taken = std::max<size_t>(bytes, 1);
        std::string_view shown = text.substr(0, taken);
        if (shown == "\n" || shown == "\r" || shown == "\t")
            shown = " ";
        else if (bytes == 0 || is_control(shown))
            shown = "?";
        if (line.size() + shown.size() > bytes_max)
            break;
        line += shown;
    }
    return line;
}

std::string shorten(std::string list, size_t bytes)
{
    if (list.size() <= bytes)
        return list;
    size_t comma = list.rfind(',', bytes);
    list.resize(comma == std::string::npos ? bytes : comma);
    return list + " ...";
}

}  // namespace elastic
