/* See state_folder.h. */

#include "store/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace elastic::rm {

std::string make_state_folder(const std::string &folder)
{
    std::error_code code;
    auto parent = std::filesystem::path(folder).parent_path();
    std::filesystem::create_directories(parent, code);
    /* Jobs of other users run scripts in subfolders; these users cannot list this folder. */
    if (mkdir(folder.c_str(), geteuid() == 0 ? 0711 : 0700) != 0 && errno != EEXIST)
        return "cannot make the state directory " + folder + ": " + strerror(errno);
    struct stat status = {};
    if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return folder + " is not a directory: choose another state_dir";
    if (status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return "the state directory " + folder +
            " belongs to another user or can be written by others: choose another state_dir, or "
            "repair its owner and mode (0700, of root 0711)";
    return "";
}

Result<Descriptor> lock_state_folder(const std::string &folder)
{
    std::string name = folder + "/lock";
    Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.is_open())
        return Error{"cannot open " + name + ": " + strerror(errno)};
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        char holder[32] = "";
        [[maybe_unused]] ssize_t bytes = pread(lock.get(), holder, sizeof holder - 1, 0);
        holder[strcspn(holder, "\n")] = '\0';
        return Error{
            "another elasticd" +
            (*holder ? " (process " + std::string(holder) + ")" : std::string()) +
            " uses the store in " + folder + ": stop that one, or give this one another state_dir"};
    }
    std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(lock.get(), 0) != 0 || pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
        return Error{"cannot write " + name + ": " + strerror(errno)};
    return lock;
}

}  // namespace elastic::rm
