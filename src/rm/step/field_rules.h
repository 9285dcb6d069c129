/*
 * Rules for fields of messages from untrusted processes, as tables: the target of a field
 * determines its type, its row the bounds.  Unknown fields are ignored.  Pure.
 */

#ifndef ELASTIC_RM_FIELD_RULES_H_INCLUDED
#define ELASTIC_RM_FIELD_RULES_H_INCLUDED

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bounded_json.h"
#include "base/change.h"

namespace elastic::rm {

enum Presence { OPTIONAL, REQUIRED };

/* Texts for people are cut to this number of bytes and made printable, instead of refused. */
constexpr uint64_t FOR_PEOPLE = UINT64_MAX;
constexpr size_t PEOPLE_BYTES_MAX = 255;
constexpr double FIELD_NUMBER_MAX = 1e15;

template <class Message> struct FieldRule {
    const char *name;
    std::variant<uint64_t Message::*, double Message::*, std::optional<double> Message::*,
                 std::string Message::*, bool Message::*, std::vector<int> Message::*>
        into;
    Presence presence;
    /* maximum: the value of a whole number, the bytes of a text, 1 for a ratio, number and value
     * of ranks; 0 for other numbers: FIELD_NUMBER_MAX */
    uint64_t most;
};
template <class Message> using FieldRules = std::vector<FieldRule<Message>>;

/* One function for each type of field; false: another type, or too large. */
inline bool take_field(const Json &value, uint64_t &into, uint64_t most)
{
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most)
        return false;
    into = value.get<uint64_t>();
    return true;
}

inline bool take_field(const Json &value, double &into, uint64_t most)
{
    double highest = most > 0 ? static_cast<double>(most) : FIELD_NUMBER_MAX;
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= highest))
        return false;
    into = value.get<double>();
    return true;
}

inline bool take_field(const Json &value, std::optional<double> &into, uint64_t most)
{
    into.reset();
    return value.is_null() || take_field(value, into.emplace(), most);
}

inline bool take_field(const Json &value, std::string &into, uint64_t most)
{
    if (!value.is_string())
        return false;
    const auto &text = value.get_ref<const std::string &>();
    if (text.size() > most)
        return false;
    into = most == FOR_PEOPLE ? printable(text, Charset::ASCII, PEOPLE_BYTES_MAX) : text;
    return true;
}

inline bool take_field(const Json &value, bool &into, uint64_t)
{
    if (!value.is_boolean())
        return false;
    into = value.get<bool>();
    return true;
}

/* Ranks, which must rise. */
inline bool take_field(const Json &value, std::vector<int> &into, uint64_t most)
{
    if (!value.is_array() || value.size() > most)
        return false;
    into.clear();
    for (const Json &rank : value) {
        if (!rank.is_number_unsigned() || rank.get<uint64_t>() > most)
            return false;
        into.push_back(static_cast<int>(rank.get<uint64_t>()));
        if (into.size() > 1 && into[into.size() - 2] >= into.back())
            return false;
    }
    return true;
}

/* Empty, or the error.  Precondition: `object` is an object. */
template <class Message>
std::string read_fields(const Json &object, const FieldRules<Message> &rules, Message &message)
{
    for (const FieldRule<Message> &rule : rules) {
        auto found = object.find(rule.name);
        if (found == object.end() && rule.presence == REQUIRED)
            return "field '" + std::string(rule.name) + "' is missing";
        if (found == object.end() || (rule.presence == OPTIONAL && found->is_null()))
            continue;
        bool good = std::visit(
            [&](auto member) { return take_field(*found, message.*member, rule.most); }, rule.into);
        if (!good)
            return "field '" + std::string(rule.name) + "' has a wrong type or is out of bounds";
    }
    return "";
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_FIELD_RULES_H_INCLUDED */
