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
    bool is_parsable() const { return form() != Parsable::NO; }
    void print(const Table &table) const { table.print(!no_header, form()); }
    /* For lists that have another form for people, or grow: titles, unless --noheader, and one
     * row; only if is_parsable(). */
    void print_titles(const std::vector<std::string> &titles) const;
    void print_row(const std::vector<std::string> &cells) const;
};

/* How a list is printed. */
struct Printed {
    bool json = false;
    ListOptions list;

    bool is_parsable() const { return !json && list.is_parsable(); }
};

void add_list_options(CLI::App &command, ListOptions &options);

/* Prints columns, or fields between bars. */
void print_list(const ListOptions &options, const ListFormat &format,
                const std::vector<Json> &items, int64_t now_ms);

}  // namespace elastic

#endif /* ELASTIC_CLI_LIST_OPTIONS_H_INCLUDED */
