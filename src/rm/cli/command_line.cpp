/* See commands.h: common options of all subcommands, and the position at which a program's own
 * arguments begin. */

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"

namespace elastic {

CLI::App *add_command(CLI::App &app, const char *name, const char *what, bool &json)
{
    CLI::App *command = app.add_subcommand(name, what);
    command->add_flag("--json", json, "print JSON, one object per line");
    return command;
}

std::string unknown_option(const CLI::App &command, const std::vector<std::string> &words)
{
    for (const std::string &word : words) {
        bool is_long = word.starts_with("--");
        std::string option = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
        if (word == "--")
            break;
        if (word.size() > 1 && word.front() == '-' && !command.get_option_no_throw(option))
            return option;
    }
    return "";
}

ProgramLine split_program_line(const CLI::App &command, const std::vector<std::string> &words)
{
    size_t end = 0;
    for (; end < words.size() && words[end].size() > 1 && words[end].front() == '-' &&
           words[end] != "--";
         end++) {
        const std::string &word = words[end];
        bool is_long = word.starts_with("--");
        bool holds_value = is_long ? word.find('=') != word.npos : word.size() > 2;
        const CLI::Option *option = command.get_option_no_throw(word);
        if (!holds_value && option && option->get_items_expected_min() > 0)
            end++;              /* its value is the next word */
    }
    end = std::min(end, words.size());
    size_t program = end + (end < words.size() && words[end] == "--");
    return {{words.begin(), words.begin() + static_cast<long>(end)},
            {words.begin() + static_cast<long>(program), words.end()}};
}

}  // namespace elastic
