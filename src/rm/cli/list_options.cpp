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

void print_list(const ListOptions &options, const ListFormat &format,
                const std::vector<Json> &items, int64_t now_ms)
{
    if (options.form() == Parsable::NO) {
        for (const std::string &line : format.lines(items, now_ms, !options.no_header))
            print_line(line);
        return;
    }
    if (!options.no_header)
        print_line(parsable_line(format.titles(), options.form()));
    for (const Json &item : items)
        print_line(parsable_line(format.row(item, now_ms), options.form()));
}

}  // namespace elastic
