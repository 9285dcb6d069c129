/* See target.h. */

#include "cli/target.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/step_connection.h"

namespace elastic {

namespace {

bool is_job_number(const std::string &text)
{
    return is_job_name(text);
}

}  // namespace

void add_step_command(CLI::App &app, const char *name, const char *what,
                      int (*of_step)(const std::string &step, bool json),
                      int (*of_job)(Elasticd &elasticd, const std::string &job, bool json),
                      int &code)
{
    struct Options {
        std::string id;
        bool json = false;
        Elasticd elasticd;
    };
    auto options = std::make_shared<Options>();
    CLI::App *command = add_command(app, name, what, options->json);
    command->add_option("ID", options->id, "a job ('elastic queue') or a step ('elastic ps')")
        ->required();
    command->callback([options, of_step, of_job, &code] {
        auto target = find_target(options->elasticd, options->id, code);
        if (!target)
            return;
        code = target->kind == Target::STEP ? of_step(target->id, options->json)
                                            : of_job(options->elasticd, target->id, options->json);
    });
}

std::optional<std::string> job_number(const std::string &text, int &code)
{
    std::string number = text.starts_with("job:") ? text.substr(4) : text;
    if (is_job_number(number))
        return number;
    code = complain(USAGE, "'" + text + "' is no job: a job has a number, such as 3, "
                           "a task of an array is 3_7 ('elastic queue' lists them)");
    return std::nullopt;
}

std::optional<Target> find_target(Elasticd &elasticd, const std::string &text, int &code)
{
    if (text.starts_with("step:"))
        return Target{Target::STEP, text.substr(5)};
    if (text.starts_with("job:") && is_job_number(text.substr(4)))
        return Target{Target::JOB, text.substr(4)};
    if (text.find('_') != text.npos && is_job_name(text))
        return Target{Target::JOB, text};
    FindError kind = FindError::NONE;
    std::string error;
    bool is_step = find_step(text, kind, error).has_value();
    if (!is_step && kind == FindError::UNREACHABLE) {
        code = complain(UNREACHABLE, error);
        return std::nullopt;
    }
    HttpAnswer answer;
    if (is_job_number(text))
        answer = elasticd.request("GET", "/v1/jobs/" + text);
    if (is_step && answer.ok()) {
        code = complain(
            USAGE, text + " is a job of elasticd and a step that runs without it: say job:" + text +
                       " or step:" + text);
        return std::nullopt;
    }
    if (is_step)
        return Target{Target::STEP, text};
    if (answer.status != 0 && answer.status != 404) {
        if (answer.ok())
            return Target{Target::JOB, text};
        code = complain_about(answer);
        return std::nullopt;
    }
    if (!text.empty() && !isdigit(static_cast<unsigned char>(text.front()))) {
        code = complain(NOT_FOUND,
                        "'" + text + "' is neither a job nor a step: a job has a number, such as 3 "
                        "('elastic queue' lists them), a step has what 'elastic ps' lists");
        return std::nullopt;
    }
    bool no_daemon = answer.status == 0;
    code = complain(NOT_FOUND,
                    no_daemon ? error : "there is no job " + text + " of yours, and " + error);
    return std::nullopt;
}

}  // namespace elastic
