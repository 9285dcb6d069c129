/*
 * The commands of `elastic`, by subject.  Each function adds its subcommands to the command line; a
 * chosen subcommand runs while the line is parsed, and stores its exit code in `code`.
 */

#ifndef ELASTIC_CLI_COMMANDS_H_INCLUDED
#define ELASTIC_CLI_COMMANDS_H_INCLUDED

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace elastic {

/* A subcommand with --json. */
CLI::App *add_command(CLI::App &app, const char *name, const char *what, bool &json);

/* The arguments after the subcommand: its options, then a program with its arguments, starting
 * at the first other argument ("--" may stand between them).  The parser gets only the options. */
struct ProgramLine {
    std::vector<std::string> options, program;
};
/* In `words` of this command, the first option that it does not have, without a value; empty: it
 * has all. */
std::string unknown_option(const CLI::App &command, const std::vector<std::string> &words);

ProgramLine split_program_line(const CLI::App &command, const std::vector<std::string> &words);

CLI::App *add_alloc(CLI::App &app, const ProgramLine &line, int &code);
CLI::App *add_run(CLI::App &app, const ProgramLine &line, int &code);
CLI::App *add_submit(CLI::App &app, const ProgramLine &line, int &code);
/* ps, queue, show, history, events, version; and nodes_command.cpp, reservations_command.cpp, which
 * has `reservation`, too */
void add_looking(CLI::App &app, int &code);
void add_nodes(CLI::App &app, int &code);
void add_reservations(CLI::App &app, int &code);
/* resize, update, cancel, hold, release, drain, resume */
void add_changing(CLI::App &app, int &code);
void add_attach(CLI::App &app, int &code);
void add_top(CLI::App &app, int &code);
void add_report(CLI::App &app, int &code);
void add_loops(CLI::App &app, int &code);
void add_why(CLI::App &app, int &code);

}  // namespace elastic

#endif /* ELASTIC_CLI_COMMANDS_H_INCLUDED */
