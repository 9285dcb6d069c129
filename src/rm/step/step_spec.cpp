/* See step_spec.h. */

#include "step/step_spec.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/descriptor.h"

namespace elastic::rm {

namespace {

constexpr size_t FILE_BYTES_MAX = size_t{64} << 20;

bool write_all(int fd, const std::string &text)
{
    for (size_t done = 0; done < text.size();) {
        ssize_t bytes = ::write(fd, text.data() + done, text.size() - done);
        if (bytes < 0 && errno != EINTR)
            return false;
        done += bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
    return true;
}

}  // namespace

std::string write_file(const std::string &folder, const char *name, const std::string &text,
                       unsigned mode, std::optional<FileOwner> owner)
{
    std::string path = folder + "/" + name, fresh = path + ".new";
    Descriptor file(
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
    bool done = file.is_open() && fchmod(file.get(), mode) == 0 &&
                (!owner || fchown(file.get(), owner->uid, owner->gid) == 0) &&
                write_all(file.get(), text) && fdatasync(file.get()) == 0 &&
                rename(fresh.c_str(), path.c_str()) == 0;
    if (done)
        return "";
    int code = errno;
    std::string error = "cannot write " + path + ": " + strerror(code);
    unlink(fresh.c_str());
    errno = code;
    return error;
}

Result<std::optional<std::string>> read_file(const std::string &folder, const char *name)
{
    std::string path = folder + "/" + name;
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open() && errno == ENOENT)
        return std::optional<std::string>();
    std::string text;
    char block[65536];
    ssize_t bytes = file.is_open() ? 1 : -1;
    while (bytes > 0 && text.size() <= FILE_BYTES_MAX) {
        bytes = ::read(file.get(), block, sizeof block);
        if (bytes < 0 && errno == EINTR)
            bytes = 1;
        else if (bytes > 0)
            text.append(block, static_cast<size_t>(bytes));
    }
    if (bytes < 0 || text.size() > FILE_BYTES_MAX)
        return Error{"cannot read " + path + ": " + (bytes < 0 ? strerror(errno) : "too long")};
    return std::optional<std::string>(std::move(text));
}

std::string boot_id()
{
    auto text = read_file("/proc/sys/kernel/random", "boot_id");
    return text && text.value() ? text.value()->substr(0, text.value()->find('\n')) : "";
}

/* The 22nd field of /proc/PID/stat; the second, in brackets, may hold anything. */
uint64_t process_start(int64_t pid)
{
    auto text = read_file("/proc/" + std::to_string(pid), "stat");
    if (!text || !text.value())
        return 0;
    size_t end = text.value()->rfind(')');
    if (end == std::string::npos)
        return 0;
    std::istringstream fields(text.value()->substr(end + 1));
    std::string field;
    for (int number = 3; number < 22; number++)
        fields >> field;
    uint64_t start = 0;
    fields >> start;
    return start;
}

}  // namespace elastic::rm
