/* See submission.h. */

#include "cli/submission.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <thread>

#include "core/process_limits.h"

namespace elastic {

namespace {

constexpr int TRIES = 5;
constexpr std::chrono::milliseconds PAUSE{400};

std::string random_key()
{
    unsigned char bytes[16] = {};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return "";              /* without a key no request is repeated */
    std::string key = "cli-";
    for (unsigned char byte : bytes) {
        char text[3];
        snprintf(text, sizeof text, "%02x", byte);
        key += text;
    }
    return key;
}

/* Another try may succeed: the answer did not arrive, or the daemon is busy. */
bool is_passing(const HttpAnswer &answer)
{
    return answer.status == 429 || (answer.status == 0 && !answer.refused_connection) ||
           (answer.status == 503 && answer.error_code() == "storage");
}

/* The properties that a program would inherit if it were started here. */
void add_inherited(Json &request)
{
    mode_t mask = umask(0);
    umask(mask);
    request["umask"] = mask;
    for (const rm::LimitName &known : rm::LIMIT_NAMES) {
        rlimit limit;
        if (getrlimit(known.resource, &limit) == 0)
            request["limits"][known.name] = limit.rlim_cur == RLIM_INFINITY
                                                ? rm::ProcessLimit::UNLIMITED
                                                : static_cast<int64_t>(limit.rlim_cur);
    }
}

/* The option of `elastic submit` in whose value a field of the request is; empty: none. */
std::string option_of(const std::string &field)
{
    static const std::map<std::string, const char *> OPTIONS = {
        {"min", "-n"}, {"max", "-n"}, {"nodes", "-N"}, {"nodes_max", "-N"}, {"time_limit_ms", "-t"},
        {"processes_per_node", "--ntasks-per-node"}, {"cores_per_process", "-c"},
        {"memory_per_node_mib", "--mem"}, {"memory_per_core_mib", "--mem-per-cpu"},
        {"limit_signal.signal", "--signal"}, {"limit_signal.before_ms", "--signal"},
        {"nodelist", "-w"}, {"exclude", "-x"}, {"places", "--places"}, {"gpus", "--gpus"},
        {"gpus_per_node", "--gres"}, {"gpus_per_process", "--gpus-per-task"},
        {"mail.to", "--mail-user"}, {"mail.events", "--mail-type"}, {"name", "-J"},
        {"output", "-o"}, {"error", "-e"}, {"input", "-i"}, {"directory", "-D"},
        {"begin_ms", "--begin"}, {"expect_ms", "--expect"}, {"preferred", "--preferred"},
        {"partition", "-p"}, {"reservation", "--reservation"}, {"array", "-a"}};
    auto known = OPTIONS.find(field);
    return known == OPTIONS.end() ? "" : known->second;
}

/* With the option in place of the field, which users do not know. */
int complain_about_job(const HttpAnswer &answer)
{
    std::string message = answer.complaint();
    std::string field = string_or(object_of(answer.body, "error"), "field", "");
    std::string quoted = "'" + field + "'", option = option_of(field);
    if (option.empty() || !message.starts_with(quoted))
        return complain_about(answer);
    return complain(REFUSED, option + message.substr(quoted.size()));
}

}  // namespace

std::string working_directory()
{
    std::unique_ptr<char, void (*)(void *)> path(get_current_dir_name(), free);
    return path ? path.get() : "";
}

int submit_job(Elasticd &elasticd, Json request, Json &job, std::function<bool()> interrupted)
{
    elasticd.interrupt_when(interrupted);
    std::string key = random_key();
    if (!key.empty())
        request["key"] = key;
    add_inherited(request);
    HttpAnswer answer = elasticd.request("POST", "/v1/jobs", &request);
    bool answered_once = !answer.refused_connection;
    for (int i = 1; i < TRIES && !key.empty(); i++) {
        /* If it has answered before, a refused connection means that it is being restarted. */
        if (!is_passing(answer) && !(answered_once && answer.refused_connection))
            break;
        if (interrupted && interrupted())
            break;
        std::this_thread::sleep_for(PAUSE * i);
        answer = elasticd.request("POST", "/v1/jobs", &request);
    }
    elasticd.interrupt_when(nullptr);
    if (!answer.ok() && interrupted && interrupted())
        return complain(UNREACHABLE, "interrupted before elasticd has answered: if it has received "
                                     "the job, 'elastic queue --me' lists it");
    if (!answer.ok())
        return complain_about_job(answer);
    for (const Json &note : list_of(answer.body, "notes")) {
        if (note.is_string())
            print_note(note.get<std::string>());
    }
    job = object_of(answer.body, "job");
    return job.contains("id")
               ? DONE
               : complain(UNREACHABLE, "elasticd's answer holds no job: is it another version?");
}

}  // namespace elastic
