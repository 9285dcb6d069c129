/* See list_options.h. */

#include "cli/list_options.h"

#include <CLI/CLI.hpp>

namespace elastic {

void add_list_options(CLI::App &command, ListOptions &options)
{
    command.add_flag("--noheader", options.no_header, "no headings");
    command.add_flag("--parsable", options.parsable, "fields end with |, for programs");
    command.add_flag("-P,--parsable2", options.parsable2,
                     "fields are separated by |, for programs");
}

void ListOptions::print_titles(const std::vector<std::string> &titles) const
{
    if (!no_header)
        print_row(titles);
}

void ListOptions::print_row(const std::vector<std::string> &cells) const
{
    print_line(parsable_line(cells, form()));
}

void print_list(const ListOptions &options, const ListFormat &format,
                const std::vector<Json> &items, int64_t now_ms)
{
    if (options.form() == Parsable::NO) {
        for (const std::string &line : format.lines(items, now_ms, !options.no_header))
            print_line(line);
        return;
    }
    options.print_titles(format.titles());
    for (const Json &item : items)
        options.print_row(format.row(item, now_ms));
}

}  // namespace elastic
