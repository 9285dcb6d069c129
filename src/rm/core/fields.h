/*
 * JSON of plain structs from one definition: a struct lists its fields once,
 *
 *     ELASTIC_FIELDS(job, size)
 *
 * and write() and read() follow.  Reading refuses, by name, a field that is unknown, of the wrong
 * type or out of its type's bounds; one that is missing keeps its default, so that data of older
 * versions can still be read.  Enumerations specialise NamesOf.  Pure; no state.
 */

#ifndef ELASTIC_RM_CORE_FIELDS_H_INCLUDED
#define ELASTIC_RM_CORE_FIELDS_H_INCLUDED

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

using Json = nlohmann::json;

/* Fields that have another name in stored documents and journals: {field, stored}. */
constexpr std::pair<std::string_view, const char *> STORED_NAMES[] = {
    {"backfill", "ahead"},
    {"capacity", "room"},
    {"examined_until", "looked_until"},
    {"extra_slots", "places"},
    {"is_measured", "settled"},
    {"last_size_request", "last_wish"},
    {"loaned", "lent"},
    {"next_poll_ms", "look_at_ms"},
    {"notified_ms", "told_ms"},
    {"poll_interval_ms", "look_interval_ms"},
    {"position", "place"},
    {"reported", "told"},
    {"requested_ms", "asked_ms"},
    {"size_request", "wish"},
    {"size_request_refusal", "wish_refusal"},
    {"slot_requests", "wishes"},
    {"withheld_loan", "kept_loan"},
};
consteval const char *stored_name(const char *field)
{
    for (const auto &[name, stored] : STORED_NAMES)
        if (name == field)
            return stored;
    return field;
}

#define ELASTIC_VISIT_FIELD(name) visit(elastic::rm::stored_name(#name), self.name);
/* At most 63 fields. */
#define ELASTIC_VISIT_FIELDS(...)                                                                  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ELASTIC_VISIT_FIELD, __VA_ARGS__))
#define ELASTIC_FIELDS(...)                                                                        \
    template <class Self, class Visit> static void fields(Self &self, Visit &visit)                \
    {                                                                                              \
        ELASTIC_VISIT_FIELDS(__VA_ARGS__)                                                          \
    }

/* Thrown by read(), caught by parse(): no exception leaves the core. */
struct FieldError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* The wire names of an enumeration, by value: specialised beside each enumeration. */
template <class Enum> struct NamesOf;

template <class Enum> const char *to_string(Enum value)
    requires requires { NamesOf<Enum>::names; }
{
    return NamesOf<Enum>::names[static_cast<size_t>(value)];
}

template <class T, class Visit>
concept HasFields = requires(T &value, Visit &visit) { T::fields(value, visit); };

struct AnyVisit {
    template <class T> void operator()(const char *, T &) {}
};

template <class T> Json write(const T &value);
template <class T> void read(const Json &json, T &value, const std::string &where);

struct WriteVisit {
    Json &json;
    template <class T> void operator()(const char *name, const T &value)
    {
        json[name] = write(value);
    }
};

struct ReadVisit {
    const Json &json;
    const std::string &where;
    size_t known = 0;
    template <class T> void operator()(const char *name, T &value)
    {
        auto found = json.find(name);
        if (found == json.end())
            return;
        known++;
        read(*found, value, where.empty() ? name : where + "." + name);
    }
};

struct NamesVisit {
    std::vector<std::string> names;
    template <class T> void operator()(const char *name, const T &) { names.emplace_back(name); }
};

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};

template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};

template <class T> Json write(const T &value)
{
    if constexpr (HasFields<T, AnyVisit>) {
        Json json = Json::object();
        WriteVisit visit{json};
        T::fields(value, visit);
        return json;
    } else if constexpr (std::is_enum_v<T>) {
        return to_string(value);
    } else if constexpr (IsVector<T>::value) {
        Json json = Json::array();
        for (const auto &item : value)
            json.push_back(write(item));
        return json;
    } else if constexpr (IsOptional<T>::value) {
        return value ? write(*value) : Json();
    } else {
        return value;
    }
}

template <class T> void read_number(const Json &json, T &value, const std::string &where)
{
    if (!json.is_number_integer())
        throw FieldError("field " + where + " must be a whole number");
    bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                          : std::in_range<T>(json.get<int64_t>());
    if (!fits)
        throw FieldError("field " + where + " is out of bounds");
    value = json.get<T>();
}

template <class T> void read_enum(const Json &json, T &value, const std::string &where)
{
    std::string expected;
    size_t number = 0;
    for (const char *name : NamesOf<T>::names) {
        if (json.is_string() && json.get_ref<const std::string &>() == name) {
            value = static_cast<T>(number);
            return;
        }
        expected += (number++ == 0 ? "" : ", ") + std::string(name);
    }
    throw FieldError("field " + where + " must be one of: " + expected);
}

template <class T> void read_struct(const Json &json, T &value, const std::string &where)
{
    if (!json.is_object())
        throw FieldError((where.empty() ? "the message" : "field " + where) + " must be an object");
    ReadVisit visit{json, where};
    T::fields(value, visit);
    if (visit.known == json.size())
        return;
    NamesVisit known;
    T::fields(value, known);
    for (const auto &[name, content] : json.items()) {
        if (std::find(known.names.begin(), known.names.end(), name) == known.names.end())
            throw FieldError("field " + (where.empty() ? "" : where + ".") + name + " is unknown");
    }
}

template <class T> void read(const Json &json, T &value, const std::string &where)
{
    if constexpr (HasFields<T, AnyVisit>) {
        read_struct(json, value, where);
    } else if constexpr (std::is_enum_v<T>) {
        read_enum(json, value, where);
    } else if constexpr (IsVector<T>::value) {
        if (!json.is_array())
            throw FieldError("field " + where + " must be a list");
        value.assign(json.size(), {});
        for (size_t i = 0; i < json.size(); i++)
            read(json[i], value[i], where + "[" + std::to_string(i) + "]");
    } else if constexpr (IsOptional<T>::value) {
        value.reset();
        if (!json.is_null())
            read(json, value.emplace(), where);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!json.is_boolean())
            throw FieldError("field " + where + " must be true or false");
        value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
        read_number(json, value, where);
    } else if constexpr (std::is_same_v<T, Json>) {
        value = json;
    } else {
        static_assert(std::is_convertible_v<std::string, T>);
        if (!json.is_string())
            throw FieldError("field " + where + " must be a string");
        value = json.get<std::string>();
    }
}

/* A variant of structs, each with a NAME, is written as an object with that name under `key`. */
template <class Variant> Json write_variant(const char *key, const Variant &variant)
{
    return std::visit(
        [key](const auto &each) {
            Json json = write(each);
            json[key] = each.NAME;
            return json;
        },
        variant);
}

template <class Variant, size_t INDEX = 0>
Variant read_variant(const char *key, Json json)
{
    if constexpr (INDEX == std::variant_size_v<Variant>) {
        throw FieldError(std::string("field ") + key + " is missing or has an unknown value");
    } else {
        using Each = std::variant_alternative_t<INDEX, Variant>;
        auto found = json.is_object() ? json.find(key) : json.end();
        if (found == json.end() || *found != Each::NAME)
            return read_variant<Variant, INDEX + 1>(key, std::move(json));
        json.erase(found);
        Each each;
        read(json, each, "");
        return each;
    }
}

/* A struct from JSON, or a message that names the invalid field. */
template <class T> Result<T> parse(const Json &json)
{
    try {
        T value;
        read(json, value, "");
        return value;
    } catch (const FieldError &error) {
        return Error{error.what()};
    }
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_FIELDS_H_INCLUDED */
