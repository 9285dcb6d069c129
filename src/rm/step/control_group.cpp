/* See control_group.h. */

#include "step/control_group.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

/* The second one is used besides hierarchies of version 1. */
constexpr const char *MOUNTS[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

bool write_to(const std::string &path, const char *text)
{
    Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file.is_open() &&
           ::write(file.get(), text, strlen(text)) == static_cast<ssize_t>(strlen(text));
}

bool is_cgroup2(const std::string &folder)
{
    struct statfs status = {};
    return statfs(folder.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

/* systemd marks groups that it has delegated. */
bool is_delegated(const std::string &folder)
{
    for (const char *name : {"trusted.delegate", "user.delegate"}) {
        char value[8] = "";
        if (getxattr(folder.c_str(), name, value, sizeof value) == 1 && value[0] == '1')
            return true;
    }
    return false;
}

/* The line "0::/system.slice/elasticd.service" is that of cgroup v2; empty: there is none. */
std::string own_group()
{
    auto text = read_file("/proc/self", "cgroup");
    std::string lines = "\n" + (text && text.value() ? *text.value() : "");
    size_t begin = lines.find("\n0::/");
    if (begin == std::string::npos)
        return "";
    std::string name = lines.substr(begin + 4, lines.find('\n', begin + 1) - begin - 4);
    for (const std::string mount : MOUNTS)
        if (is_cgroup2(mount))
            return mount + name;
    return "";
}

}  // namespace

Result<std::string> steps_control_group(const std::string &setting)
{
    if (setting == "off")
        return std::string();
    std::string base = setting;
    if (setting == "auto") {
        base = own_group();
        if (base.empty() || !is_delegated(base))
            return std::string();
        base += "/steps";
    }
    std::string error = make_control_group(base);
    if (error.empty() && !is_cgroup2(base))
        error = base + " is not in a cgroup v2 file system";
    if (!error.empty())
        return Error{error + " (job.control_groups in the configuration)"};
    return base;
}

std::string step_group(const std::string &groups, uint64_t job, uint32_t step)
{
    return groups + "/" + std::to_string(job) + "." + std::to_string(step);
}

std::string make_control_group(const std::string &group)
{
    return mkdir(group.c_str(), 0755) == 0 || errno == EEXIST
               ? ""
               : "cannot make the control group " + group + ": " + strerror(errno);
}

bool enter_control_group(const std::string &group)
{
    return write_to(group + "/cgroup.procs", "0");
}

bool is_populated(const std::string &group)
{
    auto text = read_file(group, "cgroup.events");
    return text && text.value() && text.value()->find("populated 1") != std::string::npos;
}

void kill_control_group(const std::string &group)
{
    write_to(group + "/cgroup.kill", "1");
}

void remove_control_group(const std::string &group)
{
    rmdir(group.c_str());
}

}  // namespace elastic::rm
