/* See schedule.h. */

#include "stepmgr/common/schedule.h"

#include <charconv>
#include <cmath>

namespace elastic {

namespace {

std::string_view trim(std::string_view text)
{
    const char *blanks = " \t\r";
    size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/* "leave=...", "hosts=..." or "program=..." after a '/'. */
std::optional<Error> parse_option(std::string_view text, ChangeRequest &change)
{
    std::string_view key = text.substr(0, text.find('='));
    std::string_view value = key.size() < text.size() ? text.substr(key.size() + 1) : "";
    if (key == "leave" && !change.leave) {
        auto ranks = parse_ranks(plain_list(value, '+'), '+');
        if (!ranks)
            return Error{ranks.error()};
        change.leave = ranks.value();
        return std::nullopt;
    }
    if (key == "hosts" && change.hosts.empty()) {
        auto hosts = parse_hosts(plain_list(value, '+'), '+');
        if (!hosts)
            return Error{hosts.error()};
        change.hosts = hosts.value();
        return std::nullopt;
    }
    if (key == "program" && !change.program) {
        auto program = parse_number(value, 0, PROGRAMS_MAX - 1);
        if (!program)
            return Error{"'" + std::string(value) + "' is not the number of a program: give 0 for "
                                                    "the first, 1 for the second, and so on"};
        change.program = static_cast<int>(*program);
        return std::nullopt;
    }
    if (key == "leave" || key == "hosts" || key == "program")
        return Error{"'" + std::string(key) + "' is given twice"};
    return Error{"'/" + std::string(text) + "' is not known: allowed are /leave=RANKS, "
                                            "/hosts=NAMES and /program=NUMBER, as in 3/leave=[0,2] "
                                            "or 8/hosts=[a,b]"};
}

Result<ScheduleEntry> parse_entry(std::string_view text)
{
    ScheduleEntry entry;
    size_t slash = text.find('/');
    std::string_view head = text.substr(0, slash);
    if (size_t colon = head.find(':'); colon != std::string_view::npos) {
        auto time = parse_time_ms(trim(head.substr(0, colon)));
        if (!time)
            return Error{time.error()};
        entry.at_ms = time.value();
        head = head.substr(colon + 1);
    }
    auto size = parse_number(trim(head), 1, SIZE_MAX_PROCESSES);
    if (!size)
        return Error{"'" + std::string(trim(head)) + "' is not a size: give 1 to " +
                     std::to_string(SIZE_MAX_PROCESSES)};
    entry.change.size = static_cast<int>(*size);
    while (slash != std::string_view::npos) {
        text.remove_prefix(slash + 1);
        slash = text.find('/');
        if (auto error = parse_option(trim(text.substr(0, slash)), entry.change))
            return *error;
    }
    return entry;
}

/* The end of the entry that begins at `at`: a comma outside of brackets, a newline or a comment. */
size_t end_of_entry(std::string_view text, size_t at)
{
    size_t end = text.find_first_of(",\n#[", at);
    while (end != std::string_view::npos && text[end] == '[') {
        size_t closed = text.find_first_of("]\n#", end);
        end = text.find_first_of(",\n#[", closed != std::string_view::npos && text[closed] == ']'
                                              ? closed
                                              : end + 1);
    }
    return end;
}

/* Splits at commas and newlines; comments and empty lines are skipped, empty entries are not. */
class EntryReader {
  public:
    explicit EntryReader(std::string_view text) : text_(text) {}

    /* The next entry, trimmed; nothing at the end. */
    std::optional<std::string_view> next()
    {
        while (!done_) {
            size_t end = end_of_entry(text_, position_);
            std::string_view part = trim(text_.substr(position_, end - position_));
            bool at_comma = end != std::string_view::npos && text_[end] == ',';
            bool at_end = end == std::string_view::npos;
            bool wanted = !part.empty() || at_comma || (after_comma_ && at_end);
            entry_start_ = position_;
            advance(end);
            after_comma_ = at_comma || (after_comma_ && part.empty());
            if (wanted)
                return part;
        }
        return std::nullopt;
    }

    size_t position() const { return entry_start_ + 1; }

  private:
    void advance(size_t end)
    {
        if (end != std::string_view::npos && text_[end] == '#')
            end = text_.find('\n', end);
        done_ = end == std::string_view::npos;
        position_ = done_ ? text_.size() : end + 1;
    }

    std::string_view text_;
    size_t position_ = 0, entry_start_ = 0;
    bool after_comma_ = false, done_ = false;
};

Error entry_error(size_t number, std::string_view text, size_t at, const std::string &why)
{
    return Error{"adaptation schedule, entry " + std::to_string(number) + " ('" +
                 std::string(text.substr(0, 60)) + "', at character " + std::to_string(at) +
                 "): " + why};
}

/* Checks an entry against the size before it, if that is known. */
std::optional<Error> check_entry(const ScheduleEntry &entry, int before, int programs)
{
    if (before == 0 || (!entry.change.leave && entry.change.size == before))
        return std::nullopt;
    auto change = resolve_change(before, entry.change, programs);
    if (change)
        return std::nullopt;
    return Error{change.error()};
}

}  // namespace

Result<int64_t> parse_time_ms(std::string_view text)
{
    double number = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number,
                                         std::chars_format::fixed);
    std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    double factor = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60000 : 0;
    if (unit.empty() && number == 0)
        factor = 1;
    bool sane = !text.empty() && status == std::errc() && factor > 0 && !std::signbit(number) &&
                number * factor <= static_cast<double>(TIME_MAX_MS);
    if (!sane)
        return Error{"'" + std::string(text.substr(0, 60)) +
                     "' is not a time: give a number and ms, s or m, such as 2s or 250ms"};
    return static_cast<int64_t>(std::llround(number * factor));
}

Result<Range> parse_range(std::string_view text)
{
    size_t colon = text.find(':');
    auto min = parse_number(text.substr(0, colon), 1, SIZE_MAX_PROCESSES);
    auto max = colon == std::string_view::npos
                   ? std::nullopt
                   : parse_number(text.substr(colon + 1), 1, SIZE_MAX_PROCESSES);
    if (!min || !max || *min > *max)
        return Error{"'" + std::string(text.substr(0, 60)) +
                     "' is not a range of sizes: give MIN:MAX, such as 1:8, with 1 <= MIN <= MAX"};
    return Range{static_cast<int>(*min), static_cast<int>(*max)};
}

Result<std::vector<ScheduleEntry>> parse_schedule(std::string_view text, int launch_size,
                                                  int programs)
{
    if (text.size() > SCHEDULE_MAX_BYTES)
        return Error{"the adaptation schedule is longer than " +
                     std::to_string(SCHEDULE_MAX_BYTES) + " bytes"};
    std::vector<ScheduleEntry> entries;
    EntryReader reader(text);
    int before = launch_size;
    while (auto part = reader.next()) {
        auto entry = part->empty() ? Result<ScheduleEntry>(Error{"nothing is given: give a size"})
                                   : parse_entry(*part);
        if (!entry)
            return entry_error(entries.size() + 1, *part, reader.position(), entry.error());
        if (auto error = check_entry(entry.value(), before, programs))
            return entry_error(entries.size() + 1, *part, reader.position(), error->message);
        if (entries.size() == SCHEDULE_MAX_ENTRIES)
            return Error{"the adaptation schedule has more than " +
                         std::to_string(SCHEDULE_MAX_ENTRIES) + " entries"};
        before = entry.value().change.size;
        entries.push_back(std::move(entry.value()));
    }
    if (entries.empty())
        return Error{"the adaptation schedule is empty: give sizes, such as 4,2,6,1"};
    return entries;
}

}  // namespace elastic
