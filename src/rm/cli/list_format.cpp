/* See list_format.h. */

#include "cli/list_format.h"

#include <algorithm>
#include <sstream>

namespace elastic {

namespace {

constexpr size_t WIDTH_MAX = 1000, PARTS_MAX = 100;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number at `at`, which is moved past it; 0 if there is none. */
size_t read_width(const std::string &text, size_t &at)
{
    size_t width = 0;
    for (; at < text.size() && is_digit(text[at]); at++)
        width = std::min(width * 10 + static_cast<size_t>(text[at] - '0'), WIDTH_MAX);
    return width;
}

/* As wide as that, cut or filled up; characters, not bytes. */
std::string fitted(const std::string &text, size_t width, bool right)
{
    size_t columns = columns_of(text);
    if (width == 0 || columns == width)
        return text;
    if (columns < width)
        return right ? std::string(width - columns, ' ') + text
                     : text + std::string(width - columns, ' ');
    return first_columns(text, width);
}

Error unknown_name(const FieldTable &fields, const std::string &name)
{
    return Error{"there is no field '" + name.substr(0, 40) + "': they are " + fields.names()};
}

/* "name", "name:8", "name:.8", "JobName%20", "JobName%-20". */
Result<FormatPart> named_part(const FieldTable &fields, const std::string &text)
{
    size_t end = text.find_first_of(":%");
    std::string name = text.substr(0, end);
    FormatPart part{"", fields.find(name)};
    if (!part.field)
        return unknown_name(fields, name);
    part.right = part.field->align == Table::RIGHT;
    if (end == text.npos)
        return part;
    bool of_sacct = text[end] == '%';
    size_t at = end + 1;
    if (at < text.size() && text[at] == (of_sacct ? '-' : '.')) {
        part.right = !of_sacct;
        at++;
    } else {
        part.right = of_sacct;
    }
    part.width = read_width(text, at);
    if (part.width == 0 || at != text.size())
        return Error{"'" + text.substr(0, 60) + "': a width is a number, as in " + name +
                     (of_sacct ? "%20" : ":20")};
    return part;
}

}  // namespace

Result<ListFormat> ListFormat::of_letters(const FieldTable &fields, const std::string &text)
{
    ListFormat format;
    std::string before;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] != '%') {
            before += text[at];
            continue;
        }
        if (++at < text.size() && text[at] == '%') {
            before += '%';
            continue;
        }
        FormatPart part{before, nullptr};
        part.right = at < text.size() && text[at] == '.';
        at += part.right;
        part.width = read_width(text, at);
        part.field = at < text.size() ? fields.find(text[at]) : nullptr;
        if (!part.field)
            return Error{"there is no field '%" + (at < text.size() ? text.substr(at, 1) : "") +
                         "': they are " + fields.letters() + "; -O and names have more"};
        format.parts_.push_back(part);
        before.clear();
        if (format.parts_.size() > PARTS_MAX)
            return Error{"more than " + std::to_string(PARTS_MAX) + " fields"};
    }
    format.end_ = before;
    if (format.parts_.empty())
        return Error{"'" + text.substr(0, 60) + "' names no field: they are " + fields.letters()};
    return format;
}

Result<ListFormat> ListFormat::of_names(const FieldTable &fields, const std::string &text)
{
    ListFormat format;
    format.is_table_ = true;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        if (name.empty())
            continue;
        auto part = named_part(fields, name);
        if (!part)
            return Error{part.error()};
        format.parts_.push_back(part.value());
        if (format.parts_.size() > PARTS_MAX)
            return Error{"more than " + std::to_string(PARTS_MAX) + " fields"};
    }
    if (format.parts_.empty())
        return Error{"'" + text.substr(0, 60) + "' names no field: they are " + fields.names()};
    return format;
}

Result<ListFormat> ListFormat::of(const FieldTable &fields, const std::string &text)
{
    bool has_names = fields.find(text.substr(0, text.find_first_of(",:%"))) != nullptr;
    return text.find('%') != text.npos && !has_names ? of_letters(fields, text)
                                                      : of_names(fields, text);
}

std::vector<std::string> ListFormat::titles() const
{
    std::vector<std::string> cells;
    for (const FormatPart &part : parts_)
        cells.emplace_back(part.field->title);
    return cells;
}

std::vector<std::string> ListFormat::row(const Json &item, int64_t now_ms) const
{
    std::vector<std::string> cells;
    for (const FormatPart &part : parts_)
        cells.push_back(printable(part.field->value(item, now_ms).text));
    return cells;
}

std::vector<std::string> ListFormat::lines(const std::vector<Json> &items, int64_t now_ms,
                                           bool with_header) const
{
    std::vector<std::vector<std::string>> rows;
    if (with_header)
        rows.push_back(titles());
    for (const Json &item : items)
        rows.push_back(row(item, now_ms));
    std::vector<size_t> widths;
    for (size_t i = 0; i < parts_.size(); i++) {
        widths.push_back(parts_[i].width);
        for (const auto &cells : rows) {
            if (is_table_ && parts_[i].width == 0)
                widths[i] = std::max(widths[i], columns_of(cells[i]));
        }
    }
    std::vector<std::string> lines;
    for (const auto &cells : rows) {
        std::string line;
        for (size_t i = 0; i < cells.size(); i++)
            line += (is_table_ && i > 0 ? "  " : parts_[i].before) +
                    fitted(cells[i], widths[i], parts_[i].right);
        line += end_;
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(line);
    }
    return lines;
}

Result<std::vector<SortKey>> parse_sort(const FieldTable &fields, const std::string &text)
{
    std::vector<SortKey> keys;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        SortKey key{nullptr, name.starts_with("-")};
        if (name.starts_with("-") || name.starts_with("+"))
            name.erase(0, 1);
        key.field = name.size() == 1 ? fields.find(name[0]) : fields.find(name);
        if (!key.field)
            return Error{"there is no field '" + name.substr(0, 40) + "': they are " +
                         fields.letters() + " without %, and " + fields.names()};
        keys.push_back(key);
        if (keys.size() > PARTS_MAX)
            return Error{"more than " + std::to_string(PARTS_MAX) + " fields"};
    }
    return keys;
}

void sort_items(std::vector<Json> &items, const std::vector<SortKey> &keys, int64_t now_ms)
{
    struct Keyed {
        std::vector<FieldValue> values;
        size_t number;
    };
    std::vector<Keyed> order;
    for (size_t i = 0; i < items.size(); i++) {
        Keyed &keyed = order.emplace_back(Keyed{{}, i});
        for (const SortKey &key : keys)
            keyed.values.push_back(key.field->value(items[i], now_ms));
    }
    std::ranges::stable_sort(order, [&](const Keyed &x, const Keyed &y) {
        for (size_t i = 0; i < keys.size(); i++) {
            int difference = compare(x.values[i], y.values[i]);
            if (difference != 0)
                return keys[i].falling ? difference > 0 : difference < 0;
        }
        return false;
    });
    std::vector<Json> sorted;
    for (const Keyed &keyed : order)
        sorted.push_back(std::move(items[keyed.number]));
    items = std::move(sorted);
}

}  // namespace elastic
