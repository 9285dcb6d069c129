/* Options of all commands that print lists: --noheader, --parsable, -P.  No state. */

#ifndef ELASTIC_CLI_LIST_OPTIONS_H_INCLUDED
#define ELASTIC_CLI_LIST_OPTIONS_H_INCLUDED

#include "cli/list_format.h"

namespace CLI {
class App;
}

namespace elastic {

struct ListOptions {
    bool no_header = false, parsable = false, parsable2 = false;

    Parsable form() const
    {
        return parsable2 ? Parsable::BARS_BETWEEN : parsable ? Parsable::BARS : Parsable::NO;
    }
    void print(const Table &table) const { table.print(!no_header, form()); }
};

void add_list_options(CLI::App &command, ListOptions &options);

/* Prints columns, or fields between bars. */
void print_list(const ListOptions &options, const ListFormat &format,
                const std::vector<Json> &items, int64_t now_ms);

}  // namespace elastic

#endif /* ELASTIC_CLI_LIST_OPTIONS_H_INCLUDED */
