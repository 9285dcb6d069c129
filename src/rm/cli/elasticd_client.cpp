/* See elasticd_client.h. */

#include "cli/elasticd_client.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "cli/nested_start.h"
#include "cli/peer.h"
#include "cli/unreachable.h"
#include "step_socket.h"

namespace elastic {

namespace {

constexpr const char *USER_SOCKET_NAME = "elasticd.sock";
constexpr const char *ROOT_SOCKET = "/run/elasticd/elasticd.sock";

std::string from_environment(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* The token, or empty with an error. */
std::string read_token(std::string &error)
{
    std::string token = from_environment("ELASTICD_TOKEN");
    std::string path = from_environment("ELASTICD_TOKEN_FILE");
    if (!token.empty() || path.empty())
        return token;
    std::ifstream file(path);
    if (!std::getline(file, token))
        error = "ELASTICD_TOKEN_FILE: no token can be read from " + path;
    return token;
}

void start_libcurl()
{
    static const CURLcode STARTED = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void) STARTED;
}

}  // namespace

std::vector<Address> elasticd_addresses(std::string &error)
{
    std::string socket = from_environment("ELASTICD_SOCKET"),
                url = from_environment("ELASTICD_URL");
    if (!socket.empty())
        return {{socket, "", "", true}};
    if (!url.empty()) {
        if (!url.starts_with("http://") && !url.starts_with("https://"))
            error = "ELASTICD_URL is '" + url + "': http://host:port is expected";
        while (url.ends_with('/'))
            url.pop_back();
        std::string token = read_token(error);
        return error.empty() ? std::vector<Address>{{"", url, token, true}}
                             : std::vector<Address>{};
    }
    std::vector<Address> addresses;
    if (std::string nested = allocation_socket(); !nested.empty())
        addresses.push_back({nested, "", ""});
    char directory[STEP_SOCKET_PATH_MAX], problem[STEP_SOCKET_ERROR_MAX];
    /* A directory that others could change is not used. */
    if (step_socket_directory(directory, sizeof directory, problem, sizeof problem) == 0 &&
        step_socket_check_directory(directory, problem, sizeof problem) == 0)
        addresses.push_back({std::string(directory) + "/" + USER_SOCKET_NAME, "", ""});
    addresses.push_back({ROOT_SOCKET, "", ""});
    return addresses;
}

/* ---- one exchange ---------------------------------------------------------------------------- */

std::string HttpAnswer::error_code() const
{
    return string_or(object_of(body, "error"), "code", "");
}

std::string HttpAnswer::complaint() const
{
    std::string message = string_or(object_of(body, "error"), "message", "");
    if (status == 0)
        return problem;
    return message.empty()
               ? "elasticd's answer is not understood (HTTP status " + std::to_string(status) +
                     "): is it another version, or no elasticd?"
               : message;
}

Exchange::Exchange(const Address &address, const std::string &method, const std::string &path,
                   const Json *body, std::chrono::milliseconds patience)
    : curl_((start_libcurl(), curl_easy_init()), curl_easy_cleanup),
      headers_(nullptr, curl_slist_free_all),
      address_name_(address.name()),
      sent_(body ? body->dump(-1, ' ', false, Json::error_handler_t::replace) : "")
{
    CURL *curl = curl_.get();
    std::string url = (address.socket.empty() ? address.url : "http://localhost") + path;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    if (!address.socket.empty())
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, address.socket.c_str());
    auto add_header = [this](const std::string &line) {
        if (curl_slist *longer = curl_slist_append(headers_.get(), line.c_str())) {
            (void) headers_.release();
            headers_.reset(longer);
        }
    };
    if (!address.is_given) {
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, this);
        curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, check_server);
        curl_easy_setopt(curl, CURLOPT_PREREQDATA, this);
        /* the listener of another exchange's connection is not known here */
        curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    }
    if (!address.token.empty())
        add_header("Authorization: Bearer " + address.token);
    if (method == "POST") {
        add_header("Content-Type: application/json");
        add_header("Expect:");          /* bodies are small: no query before sending */
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, sent_.c_str());
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent_.size()));
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem_);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
}

curl_socket_t Exchange::open_socket(void *context, curlsocktype, curl_sockaddr *address)
{
    auto &exchange = *static_cast<Exchange *>(context);
    return exchange.socket_ =
               socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Connected, but nothing sent yet. */
int Exchange::check_server(void *context, char *, char *, int, int)
{
    auto &exchange = *static_cast<Exchange *>(context);
    exchange.foreign_peer_ = foreign_peer(exchange.socket_, true);
    return exchange.foreign_peer_.empty() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

void Exchange::abort_when(std::function<bool()> interrupted)
{
    interrupted_ = std::move(interrupted);
    curl_easy_setopt(curl_.get(), CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl_.get(), CURLOPT_XFERINFOFUNCTION, check_interrupted);
    curl_easy_setopt(curl_.get(), CURLOPT_XFERINFODATA, this);
}

/* curl calls it at least once a second. */
int Exchange::check_interrupted(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t)
{
    return static_cast<Exchange *>(context)->interrupted_() ? 1 : 0;
}

size_t Exchange::receive(char *data, size_t size, size_t count, void *context)
{
    Exchange &exchange = *static_cast<Exchange *>(context);
    if (exchange.received_.size() + size * count > ANSWER_MAX_BYTES)
        return 0;               /* curl gives up */
    exchange.received_.append(data, size * count);
    return size * count;
}

HttpAnswer Exchange::finish(CURLcode result)
{
    HttpAnswer answer;
    answer.refused_connection = result == CURLE_COULDNT_CONNECT;
    if (result != CURLE_OK) {
        std::string detail = problem_[0] ? problem_ : curl_easy_strerror(result);
        if (!foreign_peer_.empty())
            detail = foreign_peer_;
        answer.problem = "elasticd at " + address_name_ + ": " + detail;
        if (result == CURLE_OPERATION_TIMEDOUT)
            answer.problem += " (is it stopped, or the machine overloaded?)";
        return answer;
    }
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    answer.text = std::move(received_);
    answer.body = Json::parse(answer.text, nullptr, false);
    if (!answer.body.is_object())
        answer.body = Json::object();
    return answer;
}

/* ---- elasticd -------------------------------------------------------------------------------- */

/* Not as an initialiser: the error is a later member. */
Elasticd::Elasticd()
{
    addresses_ = elasticd_addresses(error_);
}

HttpAnswer Elasticd::request(const std::string &method, const std::string &path, const Json *body,
                             std::chrono::milliseconds patience)
{
    HttpAnswer answer;
    answer.problem = error_;
    for (const Address &address : addresses_) {
        Exchange exchange(address, method, path, body, patience);
        if (interrupted_)
            exchange.abort_when(interrupted_);
        answer = exchange.finish(curl_easy_perform(exchange.handle()));
        if (!answer.refused_connection) {
            addresses_ = {Address(address)};    /* also if it ends and starts again */
            break;
        }
    }
    if (answer.refused_connection)
        answer.problem = why_unreachable(addresses_);
    return answer;
}

int complain_about(const HttpAnswer &answer)
{
    bool understood = !answer.error_code().empty();
    ExitCode code = !understood ? UNREACHABLE : answer.status == 404 ? NOT_FOUND : REFUSED;
    return complain(code, answer.complaint());
}

int Elasticd::get(const std::string &path, Json &answer, std::chrono::milliseconds patience)
{
    HttpAnswer got = request("GET", path, nullptr, patience);
    if (!got.ok())
        return complain_about(got);
    answer = std::move(got.body);
    return DONE;
}

int Elasticd::post(const std::string &path, const Json &body, Json &answer)
{
    HttpAnswer got = request("POST", path, &body);
    if (!got.ok())
        return complain_about(got);
    answer = std::move(got.body);
    return DONE;
}

std::string Elasticd::escaped(const std::string &text)
{
    start_libcurl();
    std::unique_ptr<char, void (*)(void *)> escaped(
        curl_easy_escape(nullptr, text.c_str(), static_cast<int>(text.size())), curl_free);
    return escaped ? escaped.get() : "";
}

}  // namespace elastic
