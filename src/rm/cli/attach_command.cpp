/*
 * `elastic attach`: follows the output of a running job until the job has ended: from its files, or
 * from the `elastic run` that has started it (attach_connection.h).
 *
 * One loop waits for elasticd's answer (the end of the job), for data of elastic run, and for
 * changes of the files (inotify; once a second they are read in any case, because files on a server
 * change without it).  It changes nothing: an interrupt does not affect the job.
 */

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/attach_connection.h"
#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/other_machine.h"
#include "cli/target.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

constexpr size_t BLOCK = 65536;
constexpr int LOOK_MS = 1000;
constexpr int LINES_MAX = 1000000;
constexpr std::chrono::milliseconds RETRY_PAUSE{500};
/* elastic run ends a little before elasticd reports it */
constexpr std::chrono::seconds CLOSED_PAUSE{5};
/* until the file of a running job must have been created, also on a server */
constexpr std::chrono::seconds FILE_PAUSE{10};

struct Attach {
    bool json = false, quiet = false, input = false;
    std::string job;
    int lines = 10;
    Elasticd elasticd;
};

/* The start of the last `lines` lines of a file. */
off_t start_of_last(int fd, off_t size, int lines)
{
    std::string block(BLOCK, '\0');
    for (off_t end = size; end > 0;) {
        off_t begin = std::max<off_t>(end - static_cast<off_t>(BLOCK), 0);
        ssize_t bytes = pread(fd, block.data(), static_cast<size_t>(end - begin), begin);
        if (bytes <= 0)
            return end;
        for (ssize_t i = bytes - 1; i >= 0; i--)
            if (block[static_cast<size_t>(i)] == '\n' && begin + i + 1 < size && lines-- == 1)
                return begin + i + 1;
        end = begin;
    }
    return lines > 0 ? 0 : size;
}

/* One file of the job, copied to a descriptor of this process as it grows. */
class Followed {
  public:
    Followed(std::string path, int to, int lines) : path_(std::move(path)), to_(to), lines_(lines)
    {
    }

    /* Empty, or why it cannot be followed.  A file that does not exist yet is opened later. */
    std::string open(int watch)
    {
        if (file_.get() >= 0)
            return "";
        struct stat status = {};
        file_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        if (file_.get() < 0)
            return errno == ENOENT ? "" : "cannot read " + path_ + ": " + strerror(errno);
        if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
            return path_ + " is neither a file nor a pipe of elastic run: it cannot be followed";
        next_ = lines_ > 0 ? start_of_last(file_.get(), status.st_size, lines_) : status.st_size;
        inotify_add_watch(watch, path_.c_str(), IN_MODIFY);
        return "";
    }
    bool is_open() const { return file_.get() >= 0; }
    const std::string &path() const { return path_; }
    /* Copies new data.  False: the output is closed. */
    bool pass()
    {
        struct stat status = {};
        if (file_.get() < 0 || fstat(file_.get(), &status) != 0)
            return true;
        if (status.st_size < next_)
            next_ = 0;          /* it was emptied */
        std::string block(BLOCK, '\0');
        ssize_t bytes;
        while ((bytes = pread(file_.get(), block.data(), block.size(), next_)) > 0) {
            if (!write_all(to_, block.data(), static_cast<size_t>(bytes)))
                return false;
            next_ += bytes;
        }
        return true;
    }

  private:
    std::string path_;
    int to_, lines_;
    Descriptor file_;
    off_t next_ = 0;
};

bool is_pipe(const std::string &path)
{
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

class Follower {
  public:
    Follower(Attach &options, Json job)
        : options_(options), job_(std::move(job)), watch_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
          multi_(curl_multi_init(), curl_multi_cleanup)
    {
    }
    ~Follower() { end_question(); }

    /* DONE: the job has ended, and all data has been copied. */
    int follow()
    {
        bool waits = false;
        if (int code =
                has_ended(job_) && options_.input ? complain(REFUSED, "the job has ended") : open())
            return code;
        while (true) {
            bool ended = has_ended(job_);
            if (string_or(job_, "state", "") == "PENDING" && !std::exchange(waits, true) &&
                !options_.quiet)
                print_note("job " + text_of(job_, "id") +
                           " waits: " + string_or(job_, "reason", "-"));
            for (Followed &file : files_) {
                if (std::string wrong = file.open(watch_.get()); !wrong.empty())
                    return complain(REFUSED, wrong);
                if (!file.pass())
                    return complain(REFUSED, std::string("cannot write: ") + strerror(errno));
            }
            if (int code = look_for_files(ended))
                return code;
            if (ended)
                return finish();
            if (int code = await_news())
                return code;
        }
    }
    const Json &job() const { return job_; }

  private:
    /* A pipe belongs to the elastic run that has created it, with its folder. */
    int open()
    {
        std::string output = string_or(job_, "output", ""),
                    error = string_or(job_, "error", output), pipe;
        std::vector<std::string> paths = {output};
        if (error != output)
            paths.push_back(error);
        for (const std::string &path : paths) {
            if (is_pipe(path))
                pipe = path;
            else
                files_.emplace_back(path, path == output ? STDOUT_FILENO : STDERR_FILENO,
                                    options_.lines);
        }
        if (pipe.empty())
            return options_.input
                       ? complain(REFUSED,
                                  "the job reads a file: only jobs of elastic run take input")
                       : DONE;
        auto connection =
            AttachConnection::connect(pipe.substr(0, pipe.rfind('/')),
                                      static_cast<unsigned>(integer_or(job_, "uid", geteuid())),
                                      {options_.lines, options_.input, options_.quiet});
        if (!connection)
            return complain(REFUSED, connection.error());
        run_ = std::make_unique<AttachConnection>(std::move(connection.value()));
        return DONE;
    }
    /* Files on another machine never appear here.  DONE: follow on. */
    int look_for_files(bool ended)
    {
        auto now = std::chrono::steady_clock::now();
        bool runs = string_or(job_, "state", "") == "RUNNING";
        if (!runs && !ended)
            return DONE;
        if (!running_since_)
            running_since_ = now;
        if (!ended && now - *running_since_ < FILE_PAUSE)
            return DONE;
        running_since_ = now;
        for (const Followed &file : files_) {
            std::string where = file.is_open() ? "" : other_machine(options_.elasticd);
            if (!where.empty() && ended)
                print_note("there is no " + file.path() + " here: " + where);
            else if (!where.empty())
                return complain(REFUSED, "there is no " + file.path() + " here: " + where +
                                             ". Use 'elastic attach' there, or submit with "
                                             "--output in a folder that both have");
        }
        return DONE;
    }
    /* The job has ended: copies the remaining data. */
    int finish()
    {
        std::string wrong = run_ ? run_->drain() : "";
        return wrong.empty() ? DONE : complain(REFUSED, wrong);
    }
    /* Data from elastic run, after a wait for any event. */
    int take(std::vector<pollfd> &waits)
    {
        if (!run_ || poll(waits.data(), waits.size(), 0) < 0)
            return DONE;
        bool was_closed = run_->is_closed();
        std::string wrong = run_->pump(waits);
        auto now = std::chrono::steady_clock::now();
        if (!was_closed && run_->is_closed())
            report_closed_ = now + CLOSED_PAUSE;
        if (run_->is_closed() && now >= report_closed_ && !std::exchange(reported_closed_, true) &&
            !options_.quiet)
            print_note("elastic run no longer sends the output: waiting for the job's end");
        return wrong.empty() ? DONE : complain(REFUSED, wrong);
    }
    /* Waits for an event, or a second. */
    int await_news()
    {
        using Clock = std::chrono::steady_clock;
        if (!question_ && Clock::now() >= next_question_) {
            question_ = std::make_unique<Exchange>(
                options_.elasticd.address(), "GET", path_of_wait(text_of(job_, "id"), "ended"),
                nullptr, Elasticd::WAIT_PATIENCE);
            curl_multi_add_handle(multi_.get(), question_->handle());
        }
        int running = 0, left = 0;
        curl_multi_perform(multi_.get(), &running);
        while (CURLMsg *message = curl_multi_info_read(multi_.get(), &left)) {
            if (message->msg != CURLMSG_DONE || !question_)
                continue;
            HttpAnswer answer = question_->finish(message->data.result);
            end_question();
            if (answer.status == 404)
                return complain_about(answer);
            if (answer.ok() && answer.body.contains("job"))
                job_ = answer.body["job"];
            else                /* it is restarted: the job continues */
                next_question_ = Clock::now() + RETRY_PAUSE;
            return DONE;
        }
        std::vector<pollfd> waits = run_ ? run_->waits() : std::vector<pollfd>();
        std::vector<curl_waitfd> news = {{watch_.get(), CURL_WAIT_POLLIN, 0}};
        for (const pollfd &one : waits) {
            int events = (one.events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                         (one.events & POLLOUT ? CURL_WAIT_POLLOUT : 0);
            news.push_back({one.fd, static_cast<short>(events), 0});
        }
        curl_multi_poll(multi_.get(), news.data(), static_cast<unsigned>(news.size()), LOOK_MS,
                        nullptr);
        char events[4096];
        while (read(watch_.get(), events, sizeof events) > 0)
            continue;
        return take(waits);
    }
    void end_question()
    {
        if (question_)
            curl_multi_remove_handle(multi_.get(), question_->handle());
        question_.reset();
    }

    Attach &options_;
    Json job_;
    Descriptor watch_;
    std::vector<Followed> files_;
    std::unique_ptr<AttachConnection> run_;     /* null: there are only files */
    std::chrono::steady_clock::time_point report_closed_;
    std::optional<std::chrono::steady_clock::time_point> running_since_;
    bool reported_closed_ = false;
    std::unique_ptr<CURLM, CURLMcode (*)(CURLM *)> multi_;
    std::unique_ptr<Exchange> question_;
    std::chrono::steady_clock::time_point next_question_ = std::chrono::steady_clock::now();
};

int run_attach(Attach &options)
{
    int code = DONE;
    auto id = job_number(options.job, code);
    if (!id)
        return code;
    Json answer;
    if ((code = options.elasticd.get("/v1/jobs/" + *id, answer)))
        return code;
    Follower follower(options, object_of(answer, "job"));
    if ((code = follower.follow()))
        return code;
    if (options.json)
        std::cerr << json_line(follower.job()) << std::endl;
    return exit_code_of(follower.job());
}

}  // namespace

void add_attach(CLI::App &app, int &code)
{
    auto options = std::make_shared<Attach>();
    CLI::App *command = add_command(
        app, "attach", "follow the output of a job until it ends, and return its exit code",
        options->json);
    command->add_option("JOB", options->job, "as 'elastic queue' lists it")->required();
    command
        ->add_option("-n,--lines", options->lines,
                     "begin with this number of existing lines (default: 10)")
        ->check(CLI::Range(0, LINES_MAX));
    command->add_flag(
        "-i,--input", options->input,
        "send standard input to the job, instead of that of elastic run (one client at a time)");
    command->add_flag("-q,--quiet", options->quiet, "print no messages of elastic, except errors");
    command->footer(
        "It shows the output of a job of elastic run on the same machine, and the files of a\n"
        "submitted job.  A slow reader misses output, and is notified; the job never waits.\n"
        "An interrupt detaches, and does not affect the job.");
    command->callback([options, &code] { code = run_attach(*options); });
}

}  // namespace elastic
