/* See target.h. */

#include "cli/target.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/job_list.h"
#include "cli/step_connection.h"

namespace elastic {

namespace {

/* "12_[4-9]" from "12_[4-9%2]". */
std::string without_limit(const std::string &name)
{
    size_t percent = name.find('%');
    return percent == name.npos ? name : name.substr(0, percent) + "]";
}

/* Prints an error if some tasks are given to a command for one job. */
bool is_refused(const std::string &name, Tasks tasks, int &code)
{
    if (tasks == Tasks::SOME || !names_tasks(name))
        return false;
    size_t bracket = name.find('['), end = name.find_first_not_of("0123456789", bracket + 1);
    code = complain(USAGE, "'" + name + "' are several jobs: give one, such as " +
                               name.substr(0, bracket) +
                               name.substr(bracket + 1, end - bracket - 1));
    return true;
}

}  // namespace

void add_step_command(CLI::App &app, const char *name, const char *what,
                      int (*of_step)(const std::string &step, const Printed &printed),
                      int (*of_job)(Elasticd &elasticd, const std::string &job,
                                    const Printed &printed),
                      int &code)
{
    struct Options {
        std::string id;
        Printed printed;
        Elasticd elasticd;
    };
    auto options = std::make_shared<Options>();
    CLI::App *command = add_command(app, name, what, options->printed.json);
    command->add_option("ID", options->id, "a job ('elastic queue') or a step ('elastic ps')")
        ->required();
    add_list_options(*command, options->printed.list);
    command->callback([options, of_step, of_job, &code] {
        auto target = find_target(options->elasticd, options->id, code);
        if (!target)
            return;
        code = target->kind == Target::STEP
            ? of_step(target->id, options->printed)
            : of_job(options->elasticd, target->id, options->printed);
    });
}

std::optional<std::string> job_number(const std::string &text, int &code, Tasks tasks)
{
    std::string number = text.starts_with("job:") ? text.substr(4) : text;
    if (!is_job_name(number)) {
        code = complain(USAGE, "'" + text + "' is not a job: " + JOB_NAME_FORM);
        return std::nullopt;
    }
    if (is_refused(number, tasks, code))
        return std::nullopt;
    return without_limit(number);
}

std::optional<std::vector<std::string>> job_numbers(Elasticd &elasticd, const std::string &text,
                                                    int &code)
{
    auto number = job_number(text, code, Tasks::SOME);
    if (!number)
        return std::nullopt;
    if (!names_tasks(*number))
        return std::vector<std::string>{*number};
    JobFilter filter;
    filter.ids = *number;
    std::vector<Json> jobs;
    if ((code = get_jobs(elasticd, filter, "id", jobs)))
        return std::nullopt;
    std::vector<std::string> names;
    for (const Json &job : jobs)
        names.push_back(job_name(job));
    return names;
}

int for_each_job(Elasticd &elasticd, const std::string &text, int code,
                 const std::function<int(const std::string &id)> &one)
{
    int wrong = DONE;
    auto ids = job_numbers(elasticd, text, wrong);
    if (!ids)
        return code == DONE ? wrong : code;
    for (const std::string &id : *ids) {
        int result = one(id);
        code = code == DONE ? result : code;
    }
    return code;
}

std::optional<Target> find_target(Elasticd &elasticd, const std::string &text, int &code,
                                  Tasks tasks)
{
    if (text.starts_with("step:") && text.size() > 5)
        return Target{Target::STEP, text.substr(5)};
    if (text.starts_with("job:") || (text.find('_') != text.npos && is_job_name(text))) {
        auto number = job_number(text, code, tasks);
        return number ? std::optional(Target{Target::JOB, *number}) : std::nullopt;
    }
    FindError kind = FindError::NONE;
    std::string error;
    bool is_step = find_step(text, kind, error).has_value();
    if (!is_step && kind == FindError::UNREACHABLE) {
        code = complain(UNREACHABLE, error);
        return std::nullopt;
    }
    HttpAnswer answer;
    if (is_job_name(text))
        answer = elasticd.request("GET", "/v1/jobs/" + text);
    if (is_step && answer.ok()) {
        code = complain(
            USAGE, text + " is a job of elasticd and a step that runs without it: "
                   "give job:" + text + " or step:" + text);
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
    if (!is_job_name(text))
        code = complain(USAGE, "'" + text + "' is neither a job nor a step: " + JOB_NAME_FORM +
                                   ", steps are listed by 'elastic ps'");
    else if (answer.status != 0)
        code = complain(NOT_FOUND, "there is no job " + text + " of yours, and " + error);
    else if (elasticd.is_given())
        code = complain(UNREACHABLE, answer.complaint());
    else
        code = complain(NOT_FOUND, error + "; jobs are not known: no elasticd answers ('elastic "
                                           "queue' says why)");
    return std::nullopt;
}

}  // namespace elastic
