/* See api.h. api_job_ids.cpp finds the jobs of a request; api_submit.cpp reads submissions,
 * api_changes.cpp and api_names.cpp other changes; api_job.cpp, api_jobs.cpp, api_records.cpp,
 * api_nodes.cpp, api_overview.cpp and api_report.cpp answer queries; api_performance.cpp shows the
 * use of time of jobs. */

#include "api/api.h"

#include <algorithm>
#include <sstream>

#include "base/log.h"
#include "http/web_files.h"

namespace elastic::rm {

namespace {

/* For the web page: only its own scripts, no content from other sites, no display in frames. */
constexpr const char *PAGE_POLICY =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'";

std::vector<std::string> split(const std::string &path)
{
    std::vector<std::string> parts;
    std::istringstream words(path);
    for (std::string part; std::getline(words, part, '/');)
        if (!part.empty())
            parts.push_back(part);
    return parts;
}

/* Whether the path fits the pattern; `argument` receives the part at its "*" or "**". */
bool fits(const char *pattern, const std::string &path, std::string &argument)
{
    if (std::string_view whole = pattern; whole.ends_with("/**")) {
        whole.remove_suffix(2);
        if (!path.starts_with(whole) || path.size() == whole.size())
            return false;
        argument = path.substr(whole.size());
        return true;
    }
    auto wanted = split(pattern), given = split(path);
    if (wanted.size() != given.size())
        return false;
    for (size_t i = 0; i < wanted.size(); i++) {
        if (wanted[i] == "*")
            argument = given[i];
        else if (wanted[i] != given[i])
            return false;
    }
    return true;
}

/* "3_7" is 3 and "7"; for all other names the second is empty. */
std::pair<JobId, std::string> parse_tasks(const std::string &text)
{
    size_t mark = text.find('_');
    if (mark == text.npos)
        return {0, ""};
    return {parse_id(text.substr(0, mark)), text.substr(mark + 1)};
}

/* Array and indices of "3_[1-5,9]"; 0: another form. */
std::pair<JobId, ArrayIndices> tasks_of_name(const std::string &name)
{
    auto [array, tasks] = parse_tasks(name);
    bool is_range = tasks.size() > 2 && tasks.starts_with("[") && tasks.ends_with("]");
    auto indices = parse_array(is_range ? tasks.substr(1, tasks.size() - 2) : "");
    return indices ? std::pair(array, indices.value()) : std::pair(JobId{0}, ArrayIndices());
}

/* The existing tasks with these indices, of the array that begins with this job; an error if
 * there is none. */
std::vector<JobId> tasks_in(const Job &first, const std::vector<int> &indices,
                            const std::string &name)
{
    bool is_array = first.task && first.task->array == first.id;
    auto array = parse_array(is_array ? first.spec.array : "");
    std::vector<JobId> ids;
    for (int index : indices) {
        if (auto position = array ? array.value().position(index) : std::optional<size_t>())
            ids.push_back(first.id + *position);
    }
    if (!ids.empty())
        return ids;
    std::string id = std::to_string(first.id);
    throw ApiError{404, "not_found",
                   "there is no task " + name.substr(0, 60) + ": " +
                       (is_array ? "array " + id + " has " + first.spec.array
                                 : "job " + id + " is not an array")};
}

ApiError not_found(const std::string &path)
{
    return {404, "not_found",
            "there is no " + path.substr(0, 200) + ": see doc/admin/elasticd-api.md"};
}

}  // namespace

ApiError error_of(const Answer &answer)
{
    switch (answer.code) {
        case AnswerCode::OK: break;
        case AnswerCode::FIELD: return {400, "field", answer.message};
        case AnswerCode::CAPACITY: return {400, "range", answer.message};
        case AnswerCode::LIMIT: return {503, "full", answer.message, "", {{"Retry-After", "60"}}};
        case AnswerCode::UNKNOWN: return {404, "not_found", answer.message};
        case AnswerCode::STATE: return {409, "state", answer.message};
        case AnswerCode::RIGID: return {409, "rigid", answer.message};
        case AnswerCode::BUSY: return {409, "busy", answer.message};
    }
    return {500, "internal", "elasticd gave no reason"};
}

Api::Api(Daemon &daemon) : daemon_(daemon), rate_(daemon.settings().rate_per_s) {}

const std::vector<Api::Route> &Api::routes()
{
    static const std::vector<Route> table = {
        {"GET", "/v1/version", &Api::get_version, true},
        {"GET", "/healthz", &Api::get_health, true},
        {"GET", "/metrics", &Api::get_metrics, false},
        {"GET", "/v1/summary", &Api::get_summary, false},
        {"GET", "/v1/jobs", &Api::get_jobs, false},
        {"POST", "/v1/jobs", &Api::submit, false},
        {"GET", "/v1/jobs/*", &Api::get_job, false},
        {"GET", "/v1/jobs/*/script", &Api::get_script, false},
        {"GET", "/v1/jobs/*/loops", &Api::get_loops, false},
        {"GET", "/v1/jobs/*/records", &Api::get_job_records, false},
        {"POST", "/v1/jobs/*/cancel", &Api::cancel, false},
        {"POST", "/v1/jobs/*/requeue", &Api::requeue, false},
        {"POST", "/v1/jobs/*/suspend", &Api::suspend_job, false},
        {"POST", "/v1/jobs/*/resume", &Api::resume_job, false},
        {"POST", "/v1/jobs/*/hold", &Api::hold, false},
        {"POST", "/v1/jobs/*/release", &Api::release, false},
        {"POST", "/v1/jobs/*/resize", &Api::resize, false},
        {"POST", "/v1/jobs/*/update", &Api::update, false},
        {"POST", "/v1/jobs/*/signal", &Api::signal, false},
        {"GET", "/v1/names", &Api::get_names, false},
        {"GET", "/v1/names/**", &Api::get_name, false},
        {"PUT", "/v1/names/**", &Api::publish_name, false},
        {"DELETE", "/v1/names/**", &Api::withdraw_name, false},
        {"GET", "/v1/records", &Api::get_records, false},
        {"GET", "/v1/nodes", &Api::get_nodes, false},
        {"GET", "/v1/nodes/*", &Api::get_node, false},
        {"POST", "/v1/nodes/*/drain", &Api::drain, false},
        {"POST", "/v1/nodes/*/resume", &Api::resume, false},
        {"GET", "/v1/reservations", &Api::get_reservations, false},
        {"POST", "/v1/reservations", &Api::create_reservation, false},
        {"POST", "/v1/reservations/*/update", &Api::update_reservation, false},
        {"POST", "/v1/reservations/*/delete", &Api::delete_reservation, false},
        {"GET", "/v1/timeline", &Api::get_timeline, false},
        {"GET", "/v1/report", &Api::get_report, false},
    };
    return table;
}

/* ---- handling of each request ---------------------------------------------------------------- */

void Api::handle(HttpRequest request, Responder responder)
{
    std::string user = request.user ? std::to_string(*request.user) : request.address;
    daemon_.requests().add(
        user, [this, request = std::move(request), responder = std::move(responder)] {
            serve(request, responder);
        });
}

void Api::serve(const HttpRequest &request, const Responder &responder)
{
    auto uid = request.peer_uid;
    if (uid && !daemon_.users().known(*uid)) {
        daemon_.users().find(*uid, UserDirectory::KNOWN_MS, [this, request, responder](
                                                                const User &) {
            handle(request, responder);
        });
        return;
    }
    if (uid)                    /* it is queried again periodically */
        daemon_.users().find(*uid, UserDirectory::KNOWN_MS, [](const User &) {});
    Call call{request, responder, {}, false, ""};
    answer_safely(responder, request.path, [&] {
        identify(call);
        if (!uid && call.known && daemon_.needs_groups()) {
            bool known = daemon_.users().known(call.caller.uid) != nullptr;
            daemon_.users().find(call.caller.uid, UserDirectory::KNOWN_MS,
                                 [this, known, request, responder](const User &) {
                                     if (!known)
                                         handle(request, responder);
                                 });
            if (!known)         /* the user's rights depend on the groups */
                return;
        }
        if (const Route *route = route_of(call))
            (this->*route->call)(call);
        else if (!web_file(call))
            throw not_found(request.path);
    });
}

std::optional<HttpResponse> Api::admit(HttpRequest &request)
{
    Call call{request, Responder(), {}, false, ""};
    try {
        identify(call);
        if (call.known)
            request.user = call.caller.uid;
        check_rate(call);
        route_of(call);
        return std::nullopt;
    } catch (const ApiError &error) {
        return error_response(error);
    }
}

void Api::answer_safely(const Responder &responder, const std::string &path,
                        const std::function<void()> &task)
{
    try {
        task();
    } catch (const ApiError &error) {
        respond_error(responder, error);
    } catch (const std::exception &exception) {
        log_line(LogLevel::ERROR, "a request failed",
                 {{"path", path}, {"error", exception.what()}});
        respond_error(responder, {500, "internal", "an internal error of elasticd: see its log"});
    }
}

/* A request that has been answered by an error waits no longer. */
void Api::wait(const Responder &responder, int64_t for_ms, Daemon::Waiter waiter)
{
    daemon_.wait(for_ms, [this, responder, waiter](bool late) {
        bool answered = true;
        answer_safely(responder, "", [&] { answered = waiter(late); });
        return answered;
    });
}

void Api::in_slices(const Responder &responder, std::function<bool()> step)
{
    daemon_.sliced_work().add([this, responder, step] {
        bool more = false;
        answer_safely(responder, "", [&] { more = step(); });
        return more;
    });
}

void Api::identify(Call &call)
{
    if (call.request.peer_uid) {
        /* before Api::handle no code reads the name */
        const User *user = daemon_.users().known(*call.request.peer_uid);
        call.caller = daemon_.access().of_user(
            *call.request.peer_uid, user ? user->name : std::to_string(*call.request.peer_uid));
        call.known = true;
        return;
    }
    auto check = daemon_.access().of_token(
        call.request.authorization, call.request.address, monotonic_ms());
    if (check.caller) {
        call.caller = *check.caller;
        call.known = true;
    } else if (check.wait_ms > 0) {
        throw ApiError{429,
                       "rate",
                       "too many wrong tokens were sent from your address: try again later",
                       "",
                       {{"Retry-After", std::to_string((check.wait_ms + 999) / 1000)}}};
    } else if (!call.request.authorization.empty()) {
        throw ApiError{401,
                       "token",
                       "this token is unknown: request one from the administrator",
                       "",
                       {{"WWW-Authenticate", "Bearer"}}};
    }
}

void Api::check_rate(const Call &call)
{
    int64_t wait_ms = 0;
    std::string who = call.known ? std::to_string(call.caller.uid) : call.request.address;
    if (!rate_.take(who, monotonic_ms(), wait_ms))
        throw ApiError{429, "rate", "too many requests in a second: send fewer", "",
                       {{"Retry-After", std::to_string((wait_ms + 999) / 1000)}}};
}

/* A page of another site must not send requests with the rights of its reader. */
void Api::check_origin(const Call &call) const
{
    const std::string &origin = call.request.origin;
    if (origin.empty() || call.request.method == "GET")
        return;
    bool own = origin == "http://" + call.request.host || origin == "https://" + call.request.host;
    if (!own || !daemon_.settings().allow_web_changes)
        throw ApiError{403, "forbidden",
                       "changes from a web page are not allowed here (web.allow_changes in the "
                       "configuration)"};
}

const Api::Route *Api::route_of(Call &call) const
{
    const HttpRequest &request = call.request;
    std::string allowed;
    for (const Route &route : routes()) {
        if (!fits(route.path, request.path, call.argument))
            continue;
        bool same = request.method == route.method ||
            (request.method == "HEAD" && !strcmp(route.method, "GET"));
        if (!same) {
            allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
            continue;
        }
        if (!route.is_open && !call.known)
            throw ApiError{401,
                           "token",
                           "authentication is required: send Authorization: Bearer TOKEN",
                           "",
                           {{"WWW-Authenticate", "Bearer"}}};
        if (request.too_large)
            throw ApiError{413, "too_large",
                           "the body is longer than " + std::to_string(HTTP_BODY_MAX) + " bytes"};
        check_origin(call);
        return &route;
    }
    if (!allowed.empty())
        throw ApiError{
            405, "method", request.path + " takes " + allowed + " only", "", {{"Allow", allowed}}};
    if (request.method != "GET" && request.method != "HEAD")
        throw not_found(request.path);
    return nullptr;
}

bool Api::web_file(Call &call)
{
    if (call.request.method != "GET" && call.request.method != "HEAD")
        return false;
    std::string name = call.request.path == "/" ? "index.html" : call.request.path.substr(1);
    for (const WebFile &file : web_files()) {
        if (file.name != name)
            continue;
        respond(call, {200, std::string(file.type), std::string(file.data),
                       {{"Content-Security-Policy", PAGE_POLICY}}});
        return true;
    }
    return false;
}

void Api::respond(const Call &call, HttpResponse response)
{
    daemon_.metrics().count_response(response.status);
    call.responder(std::move(response));
}

void Api::respond_json(const Responder &responder, const Json &json, int status)
{
    daemon_.metrics().count_response(status);
    responder({status, "application/json",
               json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"});
}

void Api::respond_text(const Responder &responder, std::string json)
{
    daemon_.metrics().count_response(200);
    responder({200, "application/json", std::move(json)});
}

HttpResponse Api::error_response(const ApiError &error)
{
    Json json = {{"code", error.code}, {"message", error.message}};
    if (!error.field.empty())
        json["field"] = error.field;
    daemon_.metrics().count_response(error.status);
    return {error.status, "application/json",
            Json{{"error", json}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
            error.headers};
}

void Api::respond_error(const Responder &responder, const ApiError &error)
{
    responder(error_response(error));
}

/* ---- access rights --------------------------------------------------------------------------- */

bool Api::may_see(const Caller &caller, uint32_t uid) const
{
    return caller.administrator || caller.uid == uid || !daemon_.settings().private_jobs;
}

bool Api::may_change(const Caller &caller, uint32_t uid) const
{
    return caller.administrator || caller.uid == uid;
}

}  // namespace elastic::rm
