/* See job_pipes.h. */

#include "cli/job_pipes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace elastic {

namespace {

/* Closed, or /dev/null: the job may inherit it. */
bool is_nothing(int fd)
{
    struct stat ours = {}, null = {};
    if (fstat(fd, &ours) != 0)
        return true;
    return S_ISCHR(ours.st_mode) && stat("/dev/null", &null) == 0 && ours.st_rdev == null.st_rdev;
}

const pollfd *find(const std::vector<pollfd> &found, int fd)
{
    auto entry =
        std::find_if(found.begin(), found.end(), [fd](const pollfd &one) { return one.fd == fd; });
    return entry == found.end() ? nullptr : &*entry;
}

bool has(const std::vector<pollfd> &found, int fd, short events)
{
    const pollfd *entry = find(found, fd);
    return entry && (entry->revents & (events | POLLHUP | POLLERR));
}

}  // namespace

std::string temporary_folder(const std::string &name)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    bool usable = base && base[0] == '/' && access(base, W_OK | X_OK) == 0;
    return std::string(usable ? base : "/tmp") + "/" + name + "-XXXXXX";
}

Result<JobPipes> JobPipes::create(Json &request)
{
    std::string folder = temporary_folder("elastic-run");
    if (!mkdtemp(folder.data()))
        return Error{"cannot make a folder " + folder + " for the job's output: " +
                     strerror(errno) + " (set XDG_RUNTIME_DIR to a folder of yours)"};
    JobPipes pipes(folder);
    bool error_follows_output = !request.contains("error") && request.contains("output");
    if (auto made = pipes.make_output(request, Stream::OUTPUT, STDOUT_FILENO); !made)
        return Error{made.error()};
    if (!error_follows_output) {
        if (auto made = pipes.make_output(request, Stream::ERROR, STDERR_FILENO); !made)
            return Error{made.error()};
    }
    if (auto made = pipes.make_input(request); !made)
        return Error{made.error()};
    pipes.make_readers();
    return pipes;
}

JobPipes::JobPipes(JobPipes &&other) noexcept
    : folder_(std::exchange(other.folder_, "")),
      files_(std::move(other.files_)),
      outputs_(std::move(other.outputs_)),
      input_(std::move(other.input_)),
      readers_(std::move(other.readers_)),
      broken_(other.broken_)
{
}

JobPipes::~JobPipes()
{
    if (folder_.empty())
        return;
    for (const std::string &file : files_)
        unlink(file.c_str());
    rmdir(folder_.c_str());
}

Result<std::string> JobPipes::make(const char *name)
{
    std::string path = folder_ + "/" + name;
    if (mkfifo(path.c_str(), 0600) != 0)
        return Error{"cannot make the pipe " + path + ": " + strerror(errno)};
    files_.push_back(path);
    return path;
}

Result<bool> JobPipes::make_output(Json &request, Stream stream, int to)
{
    const char *name = STREAM_NAMES[static_cast<size_t>(stream)];
    if (request.contains(name))
        return false;
    auto path = make(name);
    if (!path)
        return Error{path.error()};
    Descriptor from(open(path.value().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (from.get() < 0)
        return Error{"cannot open the pipe " + path.value() + ": " + strerror(errno)};
    request[name] = path.value();
    outputs_.push_back({std::move(from), to, stream, ""});
    return true;
}

Result<bool> JobPipes::make_input(Json &request)
{
    if (request.contains("input") || is_nothing(STDIN_FILENO))
        return false;
    auto path = make("input");
    if (!path)
        return Error{path.error()};
    input_.to = Descriptor(open(path.value().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (input_.to.get() < 0)
        return Error{"cannot open the pipe " + path.value() + ": " + strerror(errno)};
    request["input"] = path.value();
    return true;
}

/* The job runs without it, too: `elastic attach` reports the missing socket. */
void JobPipes::make_readers()
{
    if (outputs_.empty())
        return;
    std::string path = folder_ + "/" + ATTACH_SOCKET_FILE;
    auto readers = OutputReaders::listen(path);
    if (!readers)
        return;
    files_.push_back(path);
    readers_ = std::move(readers.value());
    if (input_.to.get() < 0)
        readers_->set_input("the job's standard input is not that of elastic run");
}

/* ---- forwarding ------------------------------------------------------------------------------ */

bool JobPipes::wants_input() const
{
    return input_.to.get() >= 0 && !input_.ended && input_.pending.empty();
}

/* An attached reader may provide the input instead.  A terminal with another process group in
 * the foreground must not be read: that would stop this process. */
bool JobPipes::may_read_input() const
{
    bool is_ours = !readers_ || !readers_->have_input();
    return wants_input() && is_ours &&
           (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp());
}

std::vector<pollfd> JobPipes::waits() const
{
    std::vector<pollfd> waits;
    for (const Output &output : outputs_) {
        if (output.pending.empty())
            waits.push_back({output.from.get(), POLLIN, 0});
        else
            waits.push_back({output.to, POLLOUT, 0});
    }
    if (may_read_input())
        waits.push_back({STDIN_FILENO, POLLIN, 0});
    if (input_.to.get() >= 0 && !input_.pending.empty())
        waits.push_back({input_.to.get(), POLLOUT, 0});
    if (readers_)
        readers_->wait_for(waits);
    return waits;
}

void JobPipes::pass_output(Output &output, bool can_read, bool can_write)
{
    char block[BLOCK];
    if (output.pending.empty() && can_read) {
        ssize_t bytes = read(output.from.get(), block, sizeof block);
        if (bytes > 0) {
            output.pending.assign(block, static_cast<size_t>(bytes));
            if (readers_)
                readers_->add(output.stream, output.pending);
        }
    }
    if (output.pending.empty() || !can_write)
        return;
    ssize_t written = write(output.to, output.pending.data(), output.pending.size());
    if (written > 0)
        output.pending.erase(0, static_cast<size_t>(written));
    else if (written < 0 && errno != EINTR && errno != EAGAIN) {
        broken_ = true;
        output.pending.clear();
    }
}

void JobPipes::take_input(bool can_read)
{
    char block[BLOCK];
    if (can_read && may_read_input()) {
        ssize_t bytes = read(STDIN_FILENO, block, sizeof block);
        if (bytes > 0)
            input_.pending.assign(block, static_cast<size_t>(bytes));
        else if (bytes == 0 || (errno != EINTR && errno != EAGAIN))
            input_.ended = true;
    }
    if (readers_ && wants_input()) {
        OutputReaders::Input given = readers_->take_input();
        input_.pending = std::move(given.bytes);
        input_.ended = given.ended;
    }
}

void JobPipes::pass_input(bool can_read)
{
    take_input(can_read);
    if (!input_.pending.empty()) {
        ssize_t written = write(input_.to.get(), input_.pending.data(), input_.pending.size());
        input_.pending.erase(0, written > 0 ? static_cast<size_t>(written) : 0);
    }
    if (input_.ended && input_.may_close && input_.pending.empty())
        input_.to = Descriptor();
    if (input_.ended && readers_)
        readers_->set_input("the job's standard input has ended");
}

void JobPipes::pump(const std::vector<pollfd> &found)
{
    for (Output &output : outputs_)
        pass_output(output, has(found, output.from.get(), POLLIN), has(found, output.to, POLLOUT));
    if (input_.to.get() >= 0)
        pass_input(has(found, STDIN_FILENO, POLLIN));
    if (readers_)
        readers_->pump(found);
}

bool JobPipes::drained()
{
    input_.to = Descriptor();   /* no reader is left */
    for (Output &output : outputs_) {
        if (output.pending.empty())
            pass_output(output, true, false);
        if (!output.pending.empty())
            return false;
    }
    return true;
}

}  // namespace elastic
