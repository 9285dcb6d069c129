/*
 * `elastic top`: cores, nodes and jobs, drawn periodically at a terminal, once without a terminal.
 * Owns the terminal's mode and screen while it runs, and restores them at its end, also after a
 * signal.
 */

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/list_options.h"
#include "cli/node_view.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

struct Top {
    bool once = false;
    Printed printed;
    double interval_s = 1;
    Elasticd elasticd;
};

struct Picture {
    Json summary, nodes, jobs;
    std::string problem;
};

/* The alternate screen, without echo and line editing. */
class Screen {
  public:
    Screen()
    {
        tcgetattr(STDIN_FILENO, &before_);
        termios raw = before_;
        raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        std::cout << "\x1b[?1049h\x1b[?25l" << std::flush;
    }
    ~Screen()
    {
        std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
        tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    Screen(const Screen &) = delete;
    Screen &operator=(const Screen &) = delete;

    static winsize size()
    {
        winsize size = {};
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
            size = {24, 80, 0, 0};
        return size;
    }
    /* As many lines as fit, each as long as fits. */
    void draw(const std::vector<std::string> &lines) const
    {
        winsize space = size();
        std::string text = "\x1b[H";
        for (size_t i = 0; i < lines.size() && i < space.ws_row; i++)
            text += (i > 0 ? "\r\n" : "") +
                    first_columns(printable(lines[i]), space.ws_col) + "\x1b[K";
        std::cout << text << "\x1b[J" << std::flush;
    }

  private:
    termios before_ = {};
};

/* ---- display --------------------------------------------------------------------------------- */

Picture query(Top &options)
{
    Picture picture;
    std::pair<const char *, Json &> wanted[] = {{"/v1/summary", picture.summary},
                                                {"/v1/nodes", picture.nodes},
                                                {"/v1/jobs?order=queue", picture.jobs}};
    for (auto &[path, into] : wanted) {
        HttpAnswer answer = options.elasticd.request("GET", path);
        if (answer.ok())
            into = std::move(answer.body);
        else
            picture.problem = answer.complaint();
    }
    return picture;
}

std::string counts_text(const Json &counts)
{
    std::string text;
    for (const auto &[name, value] : counts.items()) {
        if (value.is_number() && value.get<int64_t>() > 0)
            text += (text.empty() ? "" : ", ") + value.dump() + " " + name;
    }
    return text.empty() ? "none" : text;
}

/* "####....": a bar for this number of cores. */
std::string bar(int64_t used, int64_t cores)
{
    constexpr int64_t WIDTH_MAX = 32;
    int64_t width = std::clamp<int64_t>(cores, 0, WIDTH_MAX);
    int64_t filled =
        cores > 0 ? std::clamp<int64_t>((used * width + cores - 1) / cores, 0, width) : 0;
    return std::string(static_cast<size_t>(filled), '#') +
           std::string(static_cast<size_t>(width - filled), '.');
}

Table node_list_of(const Picture &picture, bool with_bars)
{
    std::vector<Table::Column> columns = {{"NODE"}, {"STATE"}, {"USED", Table::RIGHT}};
    if (with_bars)
        columns.push_back({""});
    columns.push_back({"JOBS"});
    Table table(columns);
    for (const Json &node : list_of(picture.nodes, "nodes")) {
        std::vector<std::string> row = node_row(node, {}),
                                 cells = {row[0], row[1], row[3] + "/" + row[2]};
        if (with_bars)
            cells.push_back(bar(integer_or(node, "cores_used", 0), integer_or(node, "cores", 0)));
        cells.push_back(row[4]);
        table.add(cells);
    }
    return table;
}

Table job_list_of(const Picture &picture)
{
    Table table = queue_table();
    for (const Json &job : list_of(picture.jobs, "jobs"))
        table.add(queue_row(job, integer_or(picture.summary, "now_ms", 0)));
    return table;
}

/* The lists for programs, separated by empty lines. */
void print_lists(const ListOptions &list, const Picture &picture)
{
    const Json &summary = picture.summary;
    Table cluster({{"TIME"}, {"POLICY"}, {"CORES_USED"}, {"CORES"}, {"NODES"}, {"JOBS"},
                   {"ADAPTATIONS"}});
    cluster.add({format_time(integer_or(summary, "now_ms", 0)), string_or(summary, "policy", "-"),
                 text_of(summary, "cores_used"), text_of(summary, "cores"),
                 counts_text(object_of(summary, "nodes")), counts_text(object_of(summary, "jobs")),
                 counts_text(object_of(summary, "adaptations"))});
    list.print(cluster);
    print_line("");
    list.print(node_list_of(picture, false));
    print_line("");
    list.print(job_list_of(picture));
}

std::vector<std::string> lines_of(const Picture &picture)
{
    const Json &summary = picture.summary;
    std::vector<std::string> lines;
    lines.push_back(format_time(integer_or(summary, "now_ms", 0)) + "  policy " +
                    string_or(summary, "policy", "-") + "  " +
                    std::to_string(integer_or(summary, "cores_used", 0)) + " of " +
                    std::to_string(integer_or(summary, "cores", 0)) + " cores in use");
    lines.push_back("nodes: " + counts_text(object_of(summary, "nodes")) +
                    "   jobs: " + counts_text(object_of(summary, "jobs")) +
                    "   adaptations: " + counts_text(object_of(summary, "adaptations")));
    lines.push_back("");
    for (const Table &table : {node_list_of(picture, true), job_list_of(picture)}) {
        for (const std::string &line : table.lines())
            lines.push_back(line);
        lines.push_back("");
    }
    return lines;
}

/* ---- the command ----------------------------------------------------------------------------- */

int show_once(Top &options)
{
    Picture picture = query(options);
    if (!picture.problem.empty())
        return complain(UNREACHABLE, picture.problem);
    if (options.printed.is_parsable()) {
        print_lists(options.printed.list, picture);
        return DONE;
    }
    if (options.printed.json) {
        print_json({{"summary", picture.summary},
                    {"nodes", list_of(picture.nodes, "nodes")},
                    {"jobs", list_of(picture.jobs, "jobs")}});
        return DONE;
    }
    for (const std::string &line : lines_of(picture))
        print_line(line);
    return DONE;
}

/* Whether to continue: q was not pressed, and no signal has arrived. */
bool wait_for_key(const SignalDescriptor &signals, int timeout_ms)
{
    pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (poll(waits, 2, timeout_ms) <= 0)
        return true;
    char key = 'q';
    bool pressed =
        waits[0].revents && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q');
    return !pressed && !waits[1].revents;
}

int show_live(Top &options)
{
    SignalDescriptor signals;
    Screen screen;
    do {
        Picture picture = query(options);
        std::vector<std::string> lines =
            picture.problem.empty() ? lines_of(picture) : std::vector<std::string>{picture.problem};
        lines.insert(lines.begin(), "elastic top (q ends)");
        screen.draw(lines);
    } while (wait_for_key(signals, static_cast<int>(options.interval_s * 1000)));
    return DONE;
}

}  // namespace

void add_top(CLI::App &app, int &code)
{
    auto options = std::make_shared<Top>();
    CLI::App *command =
        add_command(app, "top", "watch cores, nodes and jobs", options->printed.json);
    command->add_flag("--once", options->once,
                      "print once and end (the default where there is no terminal)");
    command->add_option("--interval", options->interval_s, "seconds between two updates")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 3600.0));
    add_list_options(*command, options->printed.list);
    command->callback([options, &code] {
        bool live = !options->once && !options->printed.json &&
                    !options->printed.list.is_parsable() && isatty(STDIN_FILENO) &&
                    isatty(STDOUT_FILENO);
        code = live ? show_live(*options) : show_once(*options);
    });
}

}  // namespace elastic
