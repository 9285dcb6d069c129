/* See command.h. */

#include "base/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/change.h"
#include "base/words.h"

namespace elastic::rm {

namespace {

/* A file in memory with that text, at its beginning: a program may read it at any speed. */
Descriptor file_with(const std::string &text)
{
    Descriptor file(memfd_create("input", MFD_CLOEXEC));
    for (size_t done = 0; file.is_open() && done < text.size();) {
        ssize_t bytes = write(file.get(), text.data() + done, text.size() - done);
        if (bytes < 0 && errno != EINTR)
            return Descriptor();
        done += bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
    if (file.is_open())
        lseek(file.get(), 0, SEEK_SET);
    return file;
}

std::string name_of_variable(const std::string &entry)
{
    return entry.substr(0, entry.find('='));
}

std::vector<std::string> environment_for(const CommandSpec &spec)
{
    auto is_replaced = [&](const std::string &name) {
        return std::find(spec.without.begin(), spec.without.end(), name) != spec.without.end() ||
            std::any_of(spec.variables.begin(), spec.variables.end(),
                        [&](const std::string &entry) { return name_of_variable(entry) == name; });
    };
    std::vector<std::string> list;
    for (char **entry = environ; *entry; entry++)
        if (!is_replaced(name_of_variable(*entry)))
            list.emplace_back(*entry);
    list.insert(list.end(), spec.variables.begin(), spec.variables.end());
    return list;
}

struct Pipe {
    Descriptor reading, writing;
    bool open()
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        reading = Descriptor(ends[0]);
        writing = Descriptor(ends[1]);
        return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
    }
};

/* The number of the process, or 0 and an error number. */
pid_t spawn(const CommandSpec &spec, int input, int output, int errors, int &error)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* A session of its own: all its children are in its group, and no terminal can request a
     * password. */
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    auto variables = environment_for(spec);
    auto words = pointers_to(spec.words), environment = pointers_to(variables);
    pid_t pid = 0;
    error = posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environment.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error == 0 ? pid : 0;
}

}  // namespace

/* Shared with callbacks that the loop may still call. */
struct Command::Run : std::enable_shared_from_this<Run> {
    struct Stream {
        Descriptor pipe;
        std::string text;
    };

    Run(Loop &loop, CommandSpec spec, Done done)
        : loop(loop), spec(std::move(spec)), done(std::move(done))
    {
    }
    void start();
    void begin();
    void watch(Stream &stream);
    void read(Stream &stream);
    void close(Stream &stream);
    void late(int signal);
    void ended(int status);
    void notify();
    std::string problem() const;
    void cancel();

    Loop &loop;
    CommandSpec spec;
    Done done;                  /* empty: reported, or no callback */
    CommandEnd end;
    Stream output, errors;
    pid_t pid = 0;              /* 0: not started, or collected */
    Loop::TimerId timer = 0;
};

/* The process is a child of the loop from now on, even if its end is no longer awaited. */
void Command::Run::start()
{
    assert(!spec.words.empty() && spec.limit_ms > 0);
    begin();
    auto self = shared_from_this();
    if (pid == 0) {
        timer = loop.after(0, [self] { self->notify(); });
        return;
    }
    end.started = true;
    loop.watch_child(pid, [self](int status) { self->ended(status); });
    timer = loop.after(spec.limit_ms, [self] { self->late(SIGTERM); });
    watch(output);
    watch(errors);
}

void Command::Run::begin()
{
    Pipe out, err;
    Descriptor input = file_with(spec.input);
    if (!input.is_open() || !out.open() || !err.open()) {
        end.start_error = errno;
        end.problem = "cannot run " + spec.words[0] + ": " + strerror(end.start_error);
        return;
    }
    pid = spawn(spec, input.get(), out.writing.get(), err.writing.get(), end.start_error);
    if (pid == 0)
        end.problem = "cannot run " + spec.words[0] + ": " + strerror(end.start_error);
    output.pipe = std::move(out.reading);
    errors.pipe = std::move(err.reading);
}

void Command::Run::watch(Stream &stream)
{
    loop.watch(stream.pipe.get(), EPOLLIN,
               [self = shared_from_this(), &stream](uint32_t) { self->read(stream); });
}

/* Reads all available data. */
void Command::Run::read(Stream &stream)
{
    char block[16384];
    while (stream.pipe.is_open()) {
        ssize_t bytes = ::read(stream.pipe.get(), block, sizeof block);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno == EAGAIN)
            return;
        if (bytes <= 0)
            return close(stream);
        size_t space = spec.output_max - stream.text.size();
        stream.text.append(block, std::min(space, static_cast<size_t>(bytes)));
        end.truncated = end.truncated || static_cast<size_t>(bytes) > space;
        if (static_cast<size_t>(bytes) < sizeof block)
            /* the loop calls again: a program that writes without end must not block it */
            return;
    }
}

void Command::Run::close(Stream &stream)
{
    if (stream.pipe.is_open())
        loop.discard(stream.pipe.get());
    stream.pipe.reset();
}

void Command::Run::late(int signal)
{
    timer = 0;
    end.timed_out = true;
    kill(-pid, signal);
    if (signal != SIGKILL)
        timer =
            loop.after(spec.kill_grace_ms, [self = shared_from_this()] { self->late(SIGKILL); });
}

void Command::Run::ended(int status)
{
    /* Its output is in the pipes, at most their capacity; a child of it may continue to write. */
    constexpr int READS_MAX = 64;
    for (Stream *stream : {&output, &errors}) {
        for (int i = 0; i < READS_MAX && stream->pipe.is_open(); i++)
            read(*stream);
        close(*stream);
    }
    if (end.timed_out)
        kill(-pid, SIGKILL);    /* its children, which may outlive it in its group */
    pid = 0;
    loop.cancel(timer);
    end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    end.output = std::move(output.text);
    end.errors = std::move(errors.text);
    end.problem = problem();
    notify();
}

std::string Command::Run::problem() const
{
    std::string what = last_line(join_words(spec.words), 200);
    std::string reports = last_line(end.errors.empty() ? end.output : end.errors);
    reports = reports.empty() ? "" : ": " + reports;
    if (end.timed_out)
        return what + " gave no answer within " + std::to_string(spec.limit_ms) + " ms" + reports;
    if (end.exit_code != 0)
        return what + " ended with code " + std::to_string(end.exit_code) + reports;
    return "";
}

void Command::Run::notify()
{
    timer = 0;
    Done reported = std::move(done);
    done = nullptr;
    if (reported)
        reported(end);
}

/* The loop collects the process when it has ended. */
void Command::Run::cancel()
{
    done = nullptr;
    loop.cancel(timer);
    close(output);
    close(errors);
    if (pid > 0)
        kill(-pid, SIGKILL);
}

Command::Command(Loop &loop, CommandSpec spec, Done done)
    : run_(std::make_shared<Run>(loop, std::move(spec), std::move(done)))
{
    run_->start();
}

Command::~Command()
{
    run_->cancel();
}

std::string last_line(const std::string &text, size_t length)
{
    size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos)
        return "";
    size_t begin = text.rfind('\n', end);
    begin = begin == std::string::npos ? 0 : begin + 1;
    std::string line = printable(std::string_view(text).substr(begin, end + 1 - begin));
    return line.size() <= length ? line : printable(line, Charset::UTF_8, length) + "...";
}

}  // namespace elastic::rm
