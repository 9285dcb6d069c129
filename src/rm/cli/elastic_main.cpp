/*
 * The `elastic` command: submits and follows jobs of elasticd, queries running steps and changes
 * their size.
 *
 * It connects to elasticd (doc/admin/elasticd-api.md) and, for steps that run without it, to
 * mpiexec itself (doc/developer/step-protocol.md).  Exit codes: 0 done; 1 refused, or (--wait) not
 * committed; 2 wrong usage; 3 no such job, step or node, or it ended meanwhile; 4 elasticd or the
 * step cannot be reached or understood.  `elastic run`, `elastic submit --wait` and `elastic
 * attach` return their job's code.
 */

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/nearest_command.h"
#include "cli/output.h"
#include "cli/slurm_lines.h"

#ifndef ELASTIC_VERSION
#define ELASTIC_VERSION "development"
#endif

namespace elastic {

namespace {

std::vector<std::string> command_names(const CLI::App &app)
{
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    return names;
}

int no_such_command(const std::string &word, const std::vector<std::string> &names)
{
    std::string nearest = nearest_command(word, names);
    return complain(USAGE, "there is no command '" + word + "'" +
                               (nearest.empty() ? "" : ": do you mean 'elastic " + nearest + "'?") +
                               " ('elastic --help' lists all)");
}

/* A wrong option of a command: a similar one, or the reason why there is none. */
int no_such_option(const CLI::App &app, const std::string &name,
                   const std::vector<std::string> &words, bool starts_jobs)
{
    const CLI::App *command = app.get_subcommand(name);
    std::string option = unknown_option(*command, words);
    std::string why = starts_jobs ? why_not_honoured(option) : "";
    std::vector<std::string> names;
    for (const CLI::Option *each : command->get_options()) {
        for (const std::string &known : each->get_lnames())
            names.push_back("--" + known);
    }
    std::string nearest = option.starts_with("--") ? nearest_command(option, names) : "";
    if (why.empty() && !nearest.empty())
        why = "do you mean " + nearest + "?";
    return complain(USAGE, "'elastic " + name + "' has no option " + option +
                               (why.empty() ? "" : ": " + why) + " ('elastic " + name +
                               " --help' lists all)");
}

int run(int argc, char **argv)
{
    int code = DONE;
    CLI::App app("Runs elastic jobs, and shows running MPI job steps and changes their size.",
                 "elastic");
    app.set_version_flag("--version",
                         "elastic " ELASTIC_VERSION ", step protocol 1, elasticd interface 1");
    app.require_subcommand(1);
    app.footer("Exit codes: 0 done; 1 refused, or not committed (--wait); 2 wrong usage;\n"
               "3 no such job, step or node; 4 elasticd or the step cannot be reached.\n"
               "'elastic run' returns the code of its job.");
    ProgramLine line;
    std::vector<CLI::App *> starting = {add_run(app, line, code), add_submit(app, line, code),
                                        add_alloc(app, line, code)};
    add_looking(app, code);
    add_changing(app, code);
    add_attach(app, code);
    add_top(app, code);
    add_report(app, code);
    add_loops(app, code);
    add_why(app, code);
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    bool starts_jobs = false;
    for (const CLI::App *command : starting) {
        if (!words.empty() && words.front() == command->get_name()) {
            line = split_program_line(*command, {words.begin() + 1, words.end()});
            words.resize(1);
            words.insert(words.end(), line.options.begin(), line.options.end());
            starts_jobs = true;
        }
    }
    std::vector<std::string> names = command_names(app);
    if (!words.empty() && !words.front().starts_with("-") &&
        std::ranges::find(names, words.front()) == names.end())
        return no_such_command(words.front(), names);
    const std::vector<std::string> given = words;
    std::reverse(words.begin(), words.end());   /* as CLI11 requires */
    try {
        app.parse(words);
    } catch (const CLI::ExtrasError &error) {
        bool is_option = !given.front().starts_with("-") &&
                         !unknown_option(*app.get_subcommand(given.front()), given).empty();
        return is_option ? no_such_option(app, given.front(), given, starts_jobs)
                         : (app.exit(error), USAGE);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? DONE : USAGE;
    }
    return code;
}

}  // namespace
}  // namespace elastic

int main(int argc, char **argv)
{
    try {
        return elastic::run(argc, argv);
    } catch (const std::exception &exception) {
        return elastic::complain(elastic::UNREACHABLE, exception.what());
    }
}
