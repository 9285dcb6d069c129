/*
 * One setting: its name, its bounds, its documentation, and the member with its value in a struct
 * of settings (Settings, PartitionSettings, ...).  Values are read and written here.  Pure.
 */

#ifndef ELASTIC_RM_SETTINGS_SETTING_H_INCLUDED
#define ELASTIC_RM_SETTINGS_SETTING_H_INCLUDED

#include <cmath>
#include <optional>
#include <sstream>
#include <variant>
#include <vector>

#include "settings/settings.h"
#include "settings/toml.h"

namespace elastic::rm {

constexpr int64_t HOUR_MS = 3600 * 1000, YEAR_MS = 366 * 24 * HOUR_MS;
constexpr int64_t CORE_TIME_MAX_MS = 100 * YEAR_MS;

using Texts = std::vector<std::string>;

/* A number with `duration` is written as a text such as "30s". */
template <class Of> struct Setting {
    using Member = std::variant<std::string Of::*, int64_t Of::*, bool Of::*, Texts Of::*,
                                Ratio Of::*>;
    const char *section, *name;
    Member member;
    const char *help;
    int64_t lowest = 0, highest = 0;
    bool duration = false;
    const char *choices = "";   /* "up, down": for a text; empty: any text */
    bool may_be_zero = false;   /* for a ratio */
};

/* All settings except the lists of sections. */
const std::vector<Setting<Settings>> &setting_table();

/* For lists of sections (section_list.h): empty, or the error; nullopt: there is no list of that
 * name. */
std::optional<std::string> take_list(const std::string &name, const toml::node &node,
                                     const std::string &file, Settings &settings);
std::string format_lists(const Settings &settings);

std::optional<int64_t> parse_duration(const std::string &text);
std::string format_duration(int64_t ms);

template <class Of>
std::string check_bounds(const Setting<Of> &setting, int64_t value)
{
    if (value >= setting.lowest && value <= setting.highest)
        return "";
    if (setting.duration)
        return "must be from " + format_duration(setting.lowest) + " to " +
            format_duration(setting.highest);
    return "must be from " + std::to_string(setting.lowest) + " to " +
        std::to_string(setting.highest);
}

template <class Of>
std::string take_number(const Setting<Of> &setting, const toml::node &node, int64_t &value)
{
    if (setting.duration) {
        auto text = node.value_exact<std::string>();
        bool is_zero = node.value_exact<int64_t>() == 0;
        auto ms = text ? parse_duration(*text) : std::nullopt;
        if (!is_zero && !ms)
            return "must be a time such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"7d\"";
        value = is_zero ? 0 : ms.value_or(0);
    } else {
        auto number = node.value_exact<int64_t>();
        if (!number)
            return "must be a whole number";
        value = *number;
    }
    return check_bounds(setting, value);
}

inline bool is_choice(const std::string &choices, const std::string &text)
{
    bool is_word = text.find_first_of(" ,") == std::string::npos;
    return is_word && (", " + choices + ", ").find(", " + text + ", ") != std::string::npos;
}

template <class Of>
std::string take_text(const Setting<Of> &setting, const toml::node &node, std::string &value)
{
    auto text = node.value_exact<std::string>();
    if (!text)
        return "must be a string in quotes";
    if (*setting.choices && !is_choice(setting.choices, *text))
        return std::string("must be one of ") + setting.choices;
    value = *text;
    return "";
}

inline std::string take_texts(const toml::node &node, Texts &value)
{
    const toml::array *array = node.as_array();
    if (!array)
        return "must be a list of strings";
    value.clear();
    for (const toml::node &element : *array) {
        auto text = element.value_exact<std::string>();
        if (!text)
            return "must be a list of strings";
        value.push_back(*text);
    }
    return "";
}

template <class Of>
std::string take_ratio(const Setting<Of> &setting, const toml::node &node, Ratio &value)
{
    auto number = node.value<double>();
    bool is_zero = setting.may_be_zero && number && *number == 0;
    if (!number || !((*number > 0 && *number < 1) || is_zero))
        return std::string("must be ") + (setting.may_be_zero ? "0 or " : "") +
               "a number between 0 and 1, such as 0.5";
    value.ppm = std::llround(*number * 1e6);
    return "";
}

/* Empty, or the error. */
template <class Of>
std::string take(const Setting<Of> &setting, const toml::node &node, Of &settings)
{
    if (auto member = std::get_if<std::string Of::*>(&setting.member))
        return take_text(setting, node, settings.**member);
    if (auto member = std::get_if<int64_t Of::*>(&setting.member))
        return take_number(setting, node, settings.**member);
    if (auto member = std::get_if<Texts Of::*>(&setting.member))
        return take_texts(node, settings.**member);
    if (auto member = std::get_if<Ratio Of::*>(&setting.member))
        return take_ratio(setting, node, settings.**member);
    auto truth = node.value_exact<bool>();
    if (!truth)
        return "must be true or false";
    settings.*std::get<bool Of::*>(setting.member) = *truth;
    return "";
}

template <class Of>
std::string format_value(const Setting<Of> &setting, const Of &settings)
{
    std::ostringstream out;
    if (auto member = std::get_if<std::string Of::*>(&setting.member))
        out << toml::value<std::string>(settings.**member);
    else if (auto member = std::get_if<bool Of::*>(&setting.member))
        out << (settings.**member ? "true" : "false");
    else if (auto member = std::get_if<Texts Of::*>(&setting.member)) {
        toml::array array;
        for (const std::string &text : settings.**member)
            array.push_back(text);
        out << array;
    } else if (auto member = std::get_if<Ratio Of::*>(&setting.member)) {
        out << static_cast<double>((settings.**member).ppm) / 1e6;
    } else {
        int64_t value = settings.*std::get<int64_t Of::*>(setting.member);
        if (setting.duration)
            out << '"' << format_duration(value) << '"';
        else if (std::string_view(setting.name) == "socket_mode")
            out << "0o" << std::oct << value;
        else
            out << value;
    }
    return out.str();
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_SETTING_H_INCLUDED */
