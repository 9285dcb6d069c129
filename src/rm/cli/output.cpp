/* See output.h. */

#include "cli/output.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>

namespace elastic {

void print_note(const std::string &message)
{
    std::istringstream lines(message);
    std::string text;
    for (std::string line; std::getline(lines, line);)
        text += (text.empty() ? "" : "\n") + printable(line);
    std::cerr << "elastic: " << text << std::endl;
}

int complain(ExitCode code, const std::string &message)
{
    print_note(message);
    return code;
}

void print_line(const std::string &line)
{
    std::cout << printable(line) << std::endl;
}

std::string json_line(const Json &json)
{
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace), line;
    for (size_t i = 0; i < text.size(); i++) {
        auto byte = static_cast<unsigned char>(text[i]);
        bool is_long = byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (!is_long && byte != 0x7f) {
            line += text[i];
            continue;
        }
        char code[8];
        snprintf(code, sizeof code, "\\u%04x",
                 is_long ? static_cast<unsigned char>(text[++i]) : byte);
        line += code;
    }
    return line;
}

void print_json(const Json &json)
{
    std::cout << json_line(json) << std::endl;
}

std::string text_of(const Json &object, const char *name)
{
    Json value = object.value(name, Json());
    return value.is_string() ? value.get<std::string>() : value.dump();
}

namespace {

/* The member, or null. */
const Json &member(const Json &object, const char *name)
{
    static const Json NOTHING;
    if (!object.is_object())
        return NOTHING;
    auto found = object.find(name);
    return found == object.end() ? NOTHING : *found;
}

}  // namespace

std::string string_or(const Json &object, const char *name, const std::string &otherwise)
{
    const Json &value = member(object, name);
    return value.is_string() ? value.get<std::string>() : otherwise;
}

double number_or(const Json &object, const char *name, double otherwise)
{
    const Json &value = member(object, name);
    return value.is_number() ? value.get<double>() : otherwise;
}

int64_t integer_or(const Json &object, const char *name, int64_t otherwise)
{
    const Json &value = member(object, name);
    return value.is_number() ? value.get<int64_t>() : otherwise;
}

bool bool_or(const Json &object, const char *name, bool otherwise)
{
    const Json &value = member(object, name);
    return value.is_boolean() ? value.get<bool>() : otherwise;
}

const Json &list_of(const Json &object, const char *name)
{
    static const Json EMPTY = Json::array();
    const Json &value = member(object, name);
    return value.is_array() ? value : EMPTY;
}

const Json &object_of(const Json &object, const char *name)
{
    static const Json EMPTY = Json::object();
    const Json &value = member(object, name);
    return value.is_object() ? value : EMPTY;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Whether it is not a continuation byte of a UTF-8 character. */
static bool begins_character(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

size_t columns_of(const std::string &text)
{
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string first_columns(const std::string &text, size_t columns)
{
    size_t bytes = 0;
    for (size_t used = 0; bytes < text.size(); bytes++) {
        used += begins_character(text[bytes]);
        if (used > columns)
            break;
    }
    return text.substr(0, bytes);
}

void Table::add(std::vector<std::string> cells)
{
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines(bool with_header) const
{
    std::vector<std::vector<std::string>> rows;
    if (with_header) {
        rows.emplace_back();
        for (const Column &column : columns_)
            rows.back().push_back(column.title);
    }
    rows.insert(rows.end(), rows_.begin(), rows_.end());
    for (auto &row : rows) {
        for (std::string &cell : row) {
            cell = printable(cell);
            if (cell.size() > CELL_MAX)
                cell = printable(cell, Charset::UTF_8, CELL_MAX - 3) + "...";
        }
    }
    std::vector<size_t> widths(columns_.size());
    for (const auto &row : rows) {
        for (size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    std::vector<std::string> result;
    for (const auto &row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); i++) {
            std::string padding(widths[i] - columns_of(row[i]), ' ');
            line += i == 0 ? "" : "  ";
            line += columns_[i].align == RIGHT ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result.push_back(line);
    }
    return result;
}

std::string parsable_line(const std::vector<std::string> &cells, Parsable parsable)
{
    std::string line;
    for (size_t i = 0; i < cells.size(); i++) {
        std::string cell = printable(cells[i]);
        std::ranges::replace(cell, '|', '?');
        line += (i > 0 ? "|" : "") + cell;
    }
    return line + (parsable == Parsable::BARS ? "|" : "");
}

void Table::print(bool with_header, Parsable parsable) const
{
    if (parsable == Parsable::NO) {
        for (const std::string &line : lines(with_header))
            std::cout << line << "\n";
    } else {
        std::vector<std::string> titles;
        for (const Column &column : columns_)
            titles.push_back(column.title);
        if (with_header)
            std::cout << parsable_line(titles, parsable) << "\n";
        for (const auto &row : rows_)
            std::cout << parsable_line(row, parsable) << "\n";
    }
    std::cout << std::flush;
}

/* ---- times ----------------------------------------------------------------------------------- */

std::string format_duration(int64_t milliseconds)
{
    if (milliseconds < 0)
        return "-";
    auto seconds = static_cast<long long>(milliseconds / 1000);
    long long minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    char text[64];
    if (days > 0)
        snprintf(text, sizeof text, "%lld-%02lld:%02lld:%02lld", days, hours % 24, minutes % 60,
                 seconds % 60);
    else if (hours > 0)
        snprintf(text, sizeof text, "%lld:%02lld:%02lld", hours, minutes % 60, seconds % 60);
    else
        snprintf(text, sizeof text, "%lld:%02lld", minutes, seconds % 60);
    return text;
}

std::string format_time(int64_t unix_ms)
{
    if (unix_ms <= 0)
        return "-";
    auto seconds = static_cast<time_t>(unix_ms / 1000);
    tm local = {};
    char text[64];
    if (!localtime_r(&seconds, &local) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local))
        return "-";
    return text;
}

}  // namespace elastic
