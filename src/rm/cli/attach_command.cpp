/*
 * `elastic attach`: follows the output of a job that runs, from its files, until the job has ended.
 *
 * One loop waits for elasticd's answer (the end of the job) and for news of the files (inotify; once a second they are
 * looked at in any case, since files on a server change without it).  Nothing is changed by it: an interrupt leaves the
 * job alone.
 */

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/target.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

constexpr size_t BLOCK = 65536;
constexpr int LOOK_MS = 1000;
constexpr int LINES_MAX = 1000000;
constexpr std::chrono::milliseconds RETRY_PAUSE{500};

struct Attach {
    bool json = false, quiet = false;
    std::string job;
    int lines = 10;
    Elasticd elasticd;
};

bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

/* Where the last `lines` lines of a file begin. */
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

/* One file of the job, copied to a descriptor of ours as it grows. */
class Followed {
  public:
    Followed(std::string path, int to, int lines) : path_(std::move(path)), to_(to), lines_(lines) {}

    /* Empty, or why it cannot be followed.  One that is not there yet is opened later. */
    std::string open(int watch)
    {
        if (file_.get() >= 0)
            return "";
        struct stat status = {};
        file_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        if (file_.get() < 0)
            return errno == ENOENT ? "" : "cannot read " + path_ + ": " + strerror(errno);
        if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
            return path_ + " is no file: the output goes to whoever has started the job (elastic run)";
        next_ = lines_ > 0 ? start_of_last(file_.get(), status.st_size, lines_) : status.st_size;
        inotify_add_watch(watch, path_.c_str(), IN_MODIFY);
        return "";
    }
    /* What is new.  False: nobody takes it. */
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

class Follower {
  public:
    Follower(Attach &options, Json job)
        : options_(options), job_(std::move(job)), watch_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
          multi_(curl_multi_init(), curl_multi_cleanup)
    {
        std::string output = string_or(job_, "output", ""), error = string_or(job_, "error", output);
        files_.emplace_back(output, STDOUT_FILENO, options.lines);
        if (error != output)
            files_.emplace_back(error, STDERR_FILENO, options.lines);
    }
    ~Follower() { end_question(); }

    /* DONE: the job has ended, and all is passed on. */
    int follow()
    {
        bool waits = false;
        while (true) {
            bool ended = has_ended(job_);
            if (string_or(job_, "state", "") == "PENDING" && !std::exchange(waits, true) && !options_.quiet)
                std::cerr << "elastic: job " << text_of(job_, "id") << " waits: " << string_or(job_, "reason", "-")
                          << "\n";
            for (Followed &file : files_) {
                if (std::string wrong = file.open(watch_.get()); !wrong.empty())
                    return complain(REFUSED, wrong);
                if (!file.pass())
                    return complain(REFUSED, std::string("cannot write: ") + strerror(errno));
            }
            if (ended)
                return DONE;
            if (int code = look())
                return code;
        }
    }
    const Json &job() const { return job_; }

  private:
    /* Until something has happened, or a second. */
    int look()
    {
        using Clock = std::chrono::steady_clock;
        if (!question_ && Clock::now() >= next_question_) {
            question_ = std::make_unique<Exchange>(options_.elasticd.address(), "GET",
                                                   "/v1/jobs/" + text_of(job_, "id") + "?until=ended&wait_ms=" +
                                                       std::to_string(Elasticd::WAIT_MS),
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
            else                /* it is restarted: the job goes on */
                next_question_ = Clock::now() + RETRY_PAUSE;
            return DONE;
        }
        curl_waitfd news = {watch_.get(), CURL_WAIT_POLLIN, 0};
        curl_multi_poll(multi_.get(), &news, 1, LOOK_MS, nullptr);
        char events[4096];
        while (read(watch_.get(), events, sizeof events) > 0)
            continue;
        return DONE;
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
        std::cerr << follower.job().dump() << std::endl;
    return exit_code_of(follower.job());
}

}  // namespace

void add_attach(CLI::App &app, int &code)
{
    auto options = std::make_shared<Attach>();
    CLI::App *command = add_command(app, "attach", "follow the output of a job until it ends, and return its exit code",
                                    options->json);
    command->add_option("JOB", options->job, "as 'elastic queue' lists it")->required();
    command->add_option("-n,--lines", options->lines, "so many of the lines that are there already (default: 10)")
        ->check(CLI::Range(0, LINES_MAX));
    command->add_flag("-q,--quiet", options->quiet, "no messages of its own while all goes well");
    command->callback([options, &code] { code = run_attach(*options); });
}

}  // namespace elastic
