/*
 * A list of sections of the configuration, [[NAME]]: each has a name and the settings of a table.
 * Values are read and written here.  Pure.
 */

#ifndef ELASTIC_RM_SETTINGS_SECTION_LIST_H_INCLUDED
#define ELASTIC_RM_SETTINGS_SECTION_LIST_H_INCLUDED

#include "settings/setting.h"

namespace elastic::rm {

template <class Of> struct SectionList {
    const char *one;            /* "a partition": for people */
    const char *page;           /* the page that documents its settings */
    const char *example;        /* an example of a name */
    const char *about;          /* its purpose; a comment */
    const std::vector<Setting<Of>> &table;

    const char *name() const { return table.front().section; }
};

template <class Of>
std::string take_section(const SectionList<Of> &list, const toml::node &node,
                         const std::string &file, Of &section)
{
    std::string title = std::string("[[") + list.name() + "]]";
    const toml::table *values = node.as_table();
    if (!values)
        return location(file, node.source()) + list.one + " is a section: write " + title;
    for (const auto &[key, value] : *values) {
        auto setting = std::ranges::find(list.table, key.str(), &Setting<Of>::name);
        std::string name = std::string(list.name()) + "." + std::string(key.str());
        if (setting == list.table.end())
            return location(file, value.source()) + "there is no setting " + name + ": " +
                   list.page + " lists all";
        if (std::string error = take(*setting, value, section); !error.empty())
            return location(file, value.source()) + name + " " + error;
    }
    return section.name.empty() ? location(file, node.source()) + list.one + " needs a name" : "";
}

/* Empty, or the error. */
template <class Of>
std::string take_sections(const SectionList<Of> &list, const toml::node &node,
                          const std::string &file, std::vector<Of> &sections)
{
    const toml::array *all = node.as_array();
    if (!all)
        return location(file, node.source()) + list.name() +
               " is a list of sections: write [[" + list.name() + "]]";
    for (const toml::node &each : *all) {
        std::string error = take_section(list, each, file, sections.emplace_back());
        if (!error.empty())
            return error;
    }
    return "";
}

/* An empty list is written as a comment with an example. */
template <class Of>
std::string format_sections(const SectionList<Of> &list, const std::vector<Of> &sections)
{
    std::string title = std::string("[[") + list.name() + "]]\n", text;
    for (const Of &each : sections) {
        text += "\n" + title;
        for (const Setting<Of> &setting : list.table)
            text += std::string(setting.name) + " = " + format_value(setting, each) + "\n";
    }
    if (!sections.empty())
        return text;
    text = std::string("\n# ") + list.about + "  There are none.\n# " + title;
    Of example;
    example.name = list.example;
    for (const Setting<Of> &setting : list.table)
        text += std::string("# ") + setting.name + " = " + format_value(setting, example) +
                "         # " + setting.help + "\n";
    return text;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_SECTION_LIST_H_INCLUDED */
