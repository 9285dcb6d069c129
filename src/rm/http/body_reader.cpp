/* See body_reader.h. */

#include "http/body_reader.h"

#include <sstream>

namespace elastic::rm {

namespace {

/* of a body: deeper nesting is invalid, and would exhaust the stack */
constexpr int DEPTH_MAX = 32;

/* Nesting depth of brackets, outside of texts. */
int depth_of(const std::string &text)
{
    int depth = 0, deepest = 0;
    bool in_text = false;
    for (size_t i = 0; i < text.size(); i++) {
        if (in_text && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_text = !in_text;
        else if (!in_text && (text[i] == '{' || text[i] == '['))
            deepest = std::max(deepest, ++depth);
        else if (!in_text && (text[i] == '}' || text[i] == ']'))
            depth--;
    }
    return deepest;
}

bool has_zero(const std::string &text)
{
    return text.find('\0') != std::string::npos;
}

}  // namespace

BodyReader::BodyReader(const std::string &text)
{
    object_ = text.empty() ? Json::object()
        : depth_of(text) > DEPTH_MAX
        ? Json()
        : Json::parse(text, nullptr, false);
    if (!object_.is_object())
        throw ApiError{400, "syntax",
                       "the body is not one JSON object (UTF-8): see doc/admin/elasticd-api.md"};
}

BodyReader::BodyReader(Json object, std::string where)
    : object_(std::move(object)), where_(std::move(where) + ".")
{
}

void BodyReader::fail(const std::string &name, const std::string &message) const
{
    throw ApiError{400, "field", "'" + where_ + name + "' " + message, where_ + name};
}

const Json *BodyReader::find(const char *name)
{
    known_.insert(name);
    auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool BodyReader::has(const char *name)
{
    return find(name) != nullptr;
}

std::string BodyReader::text(const char *name, size_t bytes_max, const std::string &otherwise)
{
    const Json *value = find(name);
    if (!value)
        return otherwise;
    bool fits = value->is_string() &&
        (bytes_max == 0 || value->get_ref<const std::string &>().size() <= bytes_max) &&
        !has_zero(value->get_ref<const std::string &>());
    if (!fits)
        fail(name,
             "must be a string" +
                 (bytes_max ? " of at most " + std::to_string(bytes_max) + " bytes"
                            : std::string()) +
                 ", without zero bytes");
    return value->get<std::string>();
}

std::string BodyReader::required_text(const char *name, size_t bytes_max)
{
    std::string value = text(name, bytes_max);
    if (value.empty())
        fail(name, "is missing or empty");
    return value;
}

int64_t BodyReader::number(const char *name, int64_t lowest, int64_t highest, int64_t otherwise)
{
    const Json *value = find(name);
    if (!value)
        return otherwise;
    bool fits = value->is_number_integer() &&
        (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX) &&
        value->get<int64_t>() >= lowest && value->get<int64_t>() <= highest;
    if (!fits)
        fail(name,
             "must be a whole number from " + std::to_string(lowest) + " to " +
                 std::to_string(highest));
    return value->get<int64_t>();
}

double BodyReader::ratio(const char *name)
{
    const Json *value = find(name);
    if (!value || !value->is_number() || !(value->get<double>() >= 0 && value->get<double>() <= 1))
        fail(name, "must be a number from 0 to 1");
    return value->get<double>();
}

bool BodyReader::flag(const char *name, bool otherwise)
{
    const Json *value = find(name);
    if (value && !value->is_boolean())
        fail(name, "must be true or false");
    return value ? value->get<bool>() : otherwise;
}

std::vector<std::string> BodyReader::texts(const char *name, size_t count_max, size_t bytes_max)
{
    std::vector<std::string> list;
    const Json *value = find(name);
    if (!value)
        return list;
    if (!value->is_array() || value->size() > count_max)
        fail(name, "must be a list of at most " + std::to_string(count_max) + " texts");
    size_t bytes = 0;
    for (const Json &item : *value) {
        if (!item.is_string() || has_zero(item.get_ref<const std::string &>()))
            fail(name, "must hold strings only, without zero bytes");
        bytes += item.get_ref<const std::string &>().size() + 1;
        list.push_back(item.get<std::string>());
    }
    if (bytes > bytes_max)
        fail(name, "must have at most " + std::to_string(bytes_max) + " bytes together");
    return list;
}

std::vector<std::string> BodyReader::job_names(const char *name, size_t count_max)
{
    constexpr size_t NAME_MAX_BYTES = 40;
    std::vector<std::string> list;
    const Json *value = find(name);
    if (!value)
        return list;
    if (!value->is_array() || value->size() > count_max)
        fail(name, "must be a list of at most " + std::to_string(count_max) + " numbers of jobs");
    for (const Json &item : *value) {
        bool is_number = item.is_number_unsigned() && item.get<uint64_t>() > 0;
        std::string text = item.is_string() ? item.get<std::string>() : "";
        bool is_task = text.find('_') != text.npos && text.size() <= NAME_MAX_BYTES;
        if (!is_number && !is_task)
            fail(name, "must hold numbers of jobs only, such as 3, or tasks such as \"3_7\"");
        list.push_back(is_task ? text : item.dump());
    }
    return list;
}

std::map<std::string, std::string> BodyReader::map_of_texts(const char *name, size_t bytes_max)
{
    std::map<std::string, std::string> values;
    const Json *value = find(name);
    if (!value || !value->is_object())
        fail(name, value ? "must be an object of strings"
                         : "is missing: give an object of strings, empty if there are none");
    size_t bytes = 0;
    for (const auto &[key, item] : value->items()) {
        if (!item.is_string() || has_zero(item.get_ref<const std::string &>()) || has_zero(key))
            fail(name, "must hold strings only, without zero bytes");
        if (key.empty() || key.find('=') != std::string::npos)
            fail(name, "must have names that are not empty and have no '='");
        bytes += key.size() + item.get_ref<const std::string &>().size() + 2;
        values[key] = item.get<std::string>();
    }
    if (bytes > bytes_max)
        fail(name, "must have at most " + std::to_string(bytes_max) + " bytes together");
    return values;
}

BodyReader BodyReader::object(const char *name)
{
    const Json *value = find(name);
    if (value && !value->is_object())
        fail(name, "must be an object");
    return BodyReader(value ? *value : Json::object(), where_ + name);
}

void BodyReader::finish() const
{
    for (const auto &[name, value] : object_.items())
        if (!known_.contains(name))
            fail(name.substr(0, 60), "is not a field of this request: leave it out");
}

/* ---- query ----------------------------------------------------------------------------------- */

std::string QueryReader::text(const char *name)
{
    known_.insert(name);
    auto found = query_.find(name);
    return found == query_.end() ? "" : found->second;
}

int64_t QueryReader::number(const char *name, int64_t lowest, int64_t highest, int64_t otherwise)
{
    std::string value = text(name);
    if (value.empty())
        return otherwise;
    size_t digits = value[0] == '-' ? 1 : 0;
    bool is_number = value.size() > digits && value.size() < 19 &&
                     value.find_first_not_of("0123456789", digits) == std::string::npos;
    int64_t number = is_number ? std::stoll(value) : 0;
    if (!is_number || number < lowest || number > highest)
        throw ApiError{400, "field",
                       std::string("'") + name + "' must be a whole number from " +
                           std::to_string(lowest) + " to " + std::to_string(highest),
                       name};
    return number;
}

bool QueryReader::flag(const char *name)
{
    std::string value = text(name);
    if (!value.empty() && value != "true" && value != "false")
        throw ApiError{400, "field", std::string("'") + name + "' must be true or false", name};
    return value == "true";
}

std::vector<std::string> QueryReader::list(const char *name)
{
    std::vector<std::string> items;
    std::string item;
    bool in_brackets = false;
    for (char c : text(name) + ",") {
        in_brackets = c == '[' || (in_brackets && c != ']');
        if (c != ',' || in_brackets)
            item += c;
        else if (!item.empty())
            items.push_back(std::exchange(item, ""));
    }
    if (!item.empty())          /* a bracket is not closed */
        items.push_back(item);
    return items;
}

void QueryReader::finish() const
{
    for (const auto &[name, value] : query_)
        if (!known_.contains(name))
            throw ApiError{
                400, "field",
                "'" + name.substr(0, 60) + "' is not a parameter of this request: leave it out",
                name.substr(0, 60)};
}

uint64_t parse_id(const std::string &text)
{
    bool digits = !text.empty() && text.size() <= 15 &&
        text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoull(text) : 0;
}

}  // namespace elastic::rm
