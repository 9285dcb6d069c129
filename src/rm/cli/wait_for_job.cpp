/* See wait_for_job.h. */

#include "cli/wait_for_job.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "cli/job_view.h"

namespace elastic {

namespace {

using Clock = std::chrono::steady_clock;

struct PassedSignal {
    int number;
    const char *name;
    bool ends;                  /* a job that does not run yet is cancelled by it */
};
constexpr PassedSignal PASSED_SIGNALS[] = {
    {SIGINT, "INT", true},    {SIGTERM, "TERM", true},  {SIGHUP, "HUP", true},
    {SIGQUIT, "QUIT", true},  {SIGUSR1, "USR1", false}, {SIGUSR2, "USR2", false},
    {SIGTSTP, "TSTP", false}, {SIGCONT, "CONT", false},
};
constexpr int INTERRUPTS_TO_CANCEL = 3;
constexpr std::chrono::milliseconds SIGNAL_PATIENCE{5000};      /* maximum wait of output */
constexpr std::chrono::milliseconds RETRY_PAUSE{500};
/* at the end, for attached readers */
constexpr std::chrono::milliseconds READERS_PATIENCE{1000};
constexpr int DRAIN_MS = 50;
constexpr int IDLE_MS = 1000;   /* the terminal may have returned to the foreground */

const PassedSignal *passed_signal(int number)
{
    for (const PassedSignal &one : PASSED_SIGNALS) {
        if (one.number == number)
            return &one;
    }
    return nullptr;
}

class Waiter {
  public:
    Waiter(Elasticd &elasticd, const Json &job, SignalDescriptor &signals, JobPipes &pipes,
           bool quiet)
        : elasticd_(elasticd), job_(job), id_(text_of(job, "id")), signals_(signals), pipes_(pipes),
          quiet_(quiet), multi_(curl_multi_init(), curl_multi_cleanup)
    {
    }
    ~Waiter() { end_question(); }
    int wait();
    const Json &job() const { return job_; }

  private:
    void report(const std::string &message)
    {
        if (!quiet_)
            print_note(message);
    }
    std::string path(const std::string &rest) const { return "/v1/jobs/" + id_ + rest; }
    void query();
    void end_question();
    std::optional<HttpAnswer> answer();
    void take(const HttpAnswer &answer);
    void announce(const Json &now);
    void poll_once();
    void handle_signal(int number);
    void pass_signal(const PassedSignal &one);
    void pass_delayed_signals();
    void cancel(const std::string &reason);
    void drain();

    Elasticd &elasticd_;
    Json job_;
    std::string id_;
    SignalDescriptor &signals_;
    JobPipes &pipes_;
    bool quiet_;
    std::unique_ptr<CURLM, CURLMcode (*)(CURLM *)> multi_;
    std::unique_ptr<Exchange> question_;
    Clock::time_point next_question_ = Clock::now();
    bool is_away_ = false, has_started_ = false, reported_waiting_ = false, cancelled_ = false;
    int interrupts_ = 0;
    std::vector<const PassedSignal *> delayed_;         /* until the job's processes run */
    Clock::time_point next_pass_ = Clock::now();
    std::optional<int> code_;   /* decided before the job's end */
};

/* ---- elasticd -------------------------------------------------------------------------------- */

void Waiter::query()
{
    if (question_ || Clock::now() < next_question_)
        return;
    std::string until = has_started_ ? "ended" : "started";
    /* The first answer comes at once, so that the wait can be reported. */
    int wait_ms = reported_waiting_ || has_started_ ? Elasticd::WAIT_MS : 100;
    question_ = std::make_unique<Exchange>(
        elasticd_.address(), "GET", path_of_wait(id_, until, wait_ms),
        nullptr, Elasticd::WAIT_PATIENCE);
    curl_multi_add_handle(multi_.get(), question_->handle());
}

void Waiter::end_question()
{
    if (question_)
        curl_multi_remove_handle(multi_.get(), question_->handle());
    question_.reset();
}

std::optional<HttpAnswer> Waiter::answer()
{
    int running = 0, left = 0;
    curl_multi_perform(multi_.get(), &running);
    while (CURLMsg *message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg == CURLMSG_DONE && question_) {
            HttpAnswer result = question_->finish(message->data.result);
            end_question();
            return result;
        }
    }
    return std::nullopt;
}

void Waiter::take(const HttpAnswer &answer)
{
    if (answer.ok() && answer.body.contains("job")) {
        if (is_away_)
            report("elasticd answers again");
        is_away_ = false;
        announce(answer.body["job"]);
        return;
    }
    if (answer.status == 404) {
        code_ = complain(NOT_FOUND,
                         "elasticd no longer has job " + id_ + ": its result is unknown");
        return;
    }
    if (!is_away_)
        report(answer.complaint() + "; job " + id_ +
            " continues, waiting for elasticd");
    is_away_ = true;
    next_question_ = Clock::now() + RETRY_PAUSE;
}

void Waiter::announce(const Json &now)
{
    job_ = now;
    bool waits = string_or(now, "state", "") == "PENDING";
    if (waits && !reported_waiting_)
        report("job " + id_ + " waits" +
            (now.value("reason", Json()).is_string() ? ": " + text_of(now, "reason") : ""));
    if (!waits && !has_started_ && reported_waiting_ && !has_ended(now))
        report("job " + id_ + " starts with " + text_of(now, "size") + " processes on " +
            node_list(list_of(now, "nodes")));
    reported_waiting_ = reported_waiting_ || waits;
    std::string state = string_or(now, "state", "");
    has_started_ = has_started_ || !(waits || state == "STARTING");
    if (has_started_)
        pipes_.job_has_started();
}

/* ---- signals --------------------------------------------------------------------------------- */

void Waiter::cancel(const std::string &reason)
{
    Json body = {{"reason", reason}};
    HttpAnswer result = elasticd_.request("POST", path("/cancel"), &body, SIGNAL_PATIENCE);
    cancelled_ = cancelled_ || result.ok();
    if (!result.ok() && result.error_code() != "state")
        report("job " + id_ + " cannot be cancelled: " + result.complaint());
}

void Waiter::pass_signal(const PassedSignal &one)
{
    Json body = {{"signal", one.name}};
    HttpAnswer result = elasticd_.request("POST", path("/signal"), &body, SIGNAL_PATIENCE);
    if (result.ok())
        return;
    if (result.error_code() == "state") {       /* it does not run yet, or no longer */
        if (one.ends)
            cancel(std::string("SIG") + one.name + " at the terminal");
        else if (std::find(delayed_.begin(), delayed_.end(), &one) == delayed_.end())
            delayed_.push_back(&one);
        return;
    }
    report(std::string("SIG") + one.name + " cannot be passed to job " + id_ + ": " +
        result.complaint());
    if (one.number == SIGINT && interrupts_ >= INTERRUPTS_TO_CANCEL)
        code_ = complain(UNREACHABLE, "job " + id_ + " is not affected: it continues");
}

void Waiter::pass_delayed_signals()
{
    if (!has_started_ || Clock::now() < next_pass_)
        return;
    next_pass_ = Clock::now() + RETRY_PAUSE;
    for (const PassedSignal *one : std::exchange(delayed_, {}))
        pass_signal(*one);
}

void Waiter::handle_signal(int number)
{
    const PassedSignal *one = passed_signal(number);
    if (!one)
        return;
    interrupts_ += number == SIGINT;
    if (interrupts_ == INTERRUPTS_TO_CANCEL && number == SIGINT) {
        report("third interrupt: job " + id_ + " is being cancelled");
        cancel("interrupted at the terminal");
    }
    pass_signal(*one);
    if (number == SIGTSTP)
        kill(getpid(), SIGSTOP);        /* until SIGCONT, which is then forwarded */
}

/* ---- the loop -------------------------------------------------------------------------------- */

void Waiter::poll_once()
{
    std::vector<pollfd> waits = pipes_.waits();
    std::vector<curl_waitfd> extra = {{signals_.get(), CURL_WAIT_POLLIN, 0}};
    for (const pollfd &one : waits) {
        int events = (one.events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                     (one.events & POLLOUT ? CURL_WAIT_POLLOUT : 0);
        extra.push_back({one.fd, static_cast<short>(events), 0});
    }
    int timeout_ms = IDLE_MS;
    if (!question_ || !delayed_.empty())
        timeout_ms = std::min<int>(timeout_ms, RETRY_PAUSE.count());
    curl_multi_poll(multi_.get(), extra.data(), static_cast<unsigned>(extra.size()), timeout_ms,
                    nullptr);
    /* curl does not report a closed connection: query again, without waiting. */
    if (poll(waits.data(), waits.size(), 0) >= 0)
        pipes_.pump(waits);
    while (int number = signals_.next())
        handle_signal(number);
    pass_delayed_signals();
    if (pipes_.is_broken() && !cancelled_)
        cancel("its output is no longer read");
}

void Waiter::drain()
{
    std::optional<Clock::time_point> readers_until;
    while (!pipes_.is_broken()) {
        if (pipes_.drained()) {
            readers_until = readers_until.value_or(Clock::now() + READERS_PATIENCE);
            if (pipes_.readers_are_served() || Clock::now() >= *readers_until)
                return;
        }
        std::vector<pollfd> waits = pipes_.waits();
        waits.push_back({signals_.get(), POLLIN, 0});
        if (poll(waits.data(), waits.size(), readers_until ? DRAIN_MS : IDLE_MS) > 0)
            pipes_.pump(waits);
        if (waits.back().revents) {
            const PassedSignal *one = passed_signal(signals_.next());
            if (one && one->ends)
                return;         /* the output is closed */
        }
    }
}

int Waiter::wait()
{
    announce(job_);
    while (!has_ended(job_) && !code_) {
        query();
        if (auto result = answer())
            take(*result);
        else
            poll_once();
    }
    end_question();
    drain();
    return code_.value_or(-1);
}

}  // namespace

SignalDescriptor::SignalDescriptor()
{
    sigset_t set;
    sigemptyset(&set);
    for (const PassedSignal &one : PASSED_SIGNALS)
        sigaddset(&set, one.number);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    signal(SIGPIPE, SIG_IGN);
}

SignalDescriptor::~SignalDescriptor()
{
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalDescriptor::next()
{
    signalfd_siginfo one = {};
    return read(fd_.get(), &one, sizeof one) == sizeof one ? static_cast<int>(one.ssi_signo) : 0;
}

bool SignalDescriptor::has_end()
{
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return false;
    for (const PassedSignal &one : PASSED_SIGNALS) {
        if (one.ends && sigismember(&pending, one.number) == 1)
            return true;
    }
    return false;
}

int exit_code_of(const Json &job)
{
    std::string state = string_or(job, "state", "?"), reason = string_or(job, "reason", "");
    int64_t code = integer_or(job, "exit_code", -1);
    bool done = state == "DONE";
    if (!done && (code <= 0 || state == "CANCELLED"))
        complain(REFUSED, "job " + text_of(job, "id") + " is " + state + ", since " +
                              format_time(integer_or(job, "end_ms", 0)) +
                              (reason.empty() ? "" : ": " + reason));
    if (code > 0)
        return static_cast<int>(code);
    return done ? DONE : REFUSED;
}

std::string path_of_wait(const std::string &id, const std::string &until, int wait_ms)
{
    return "/v1/jobs/" + id + "?until=" + until + "&wait_ms=" + std::to_string(wait_ms);
}

int wait_for_job(Elasticd &elasticd, const Json &job, SignalDescriptor &signals, JobPipes &pipes,
                 bool quiet, bool json)
{
    Waiter waiter(elasticd, job, signals, pipes, quiet);
    int code = waiter.wait();
    if (json)
        std::cerr << json_line(waiter.job()) << std::endl;
    return code >= 0 ? code : exit_code_of(waiter.job());
}

}  // namespace elastic
