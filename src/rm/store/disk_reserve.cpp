/* See disk_reserve.h. */

#include "store/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"

namespace elastic::rm {

DiskReserve::DiskReserve(const std::string &folder, int64_t bytes)
    : folder_(folder), file_(folder + "/reserve"), bytes_(bytes)
{
    struct stat status = {};
    if (stat(file_.c_str(), &status) == 0 && status.st_blocks * 512 >= bytes_ && bytes_ > 0)
        is_filled_ = true;      /* created by an earlier process */
    else
        fill();
}

bool DiskReserve::fill()
{
    if (is_filled())
        return true;
    struct statvfs disk = {};
    if (statvfs(folder_.c_str(), &disk) != 0 ||
        static_cast<int64_t>(disk.f_bavail * disk.f_frsize) < 2 * bytes_)
        return false;
    Descriptor file(open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open())
        return false;
    is_filled_ = fallocate(file.get(), 0, 0, bytes_) == 0;
    if (!is_filled_ && (errno == EOPNOTSUPP || errno == ENOSYS))
        bytes_ = 0;
    if (!is_filled_)
        unlink(file_.c_str());
    return is_filled();
}

void DiskReserve::release()
{
    unlink(file_.c_str());
    is_filled_ = false;
}

}  // namespace elastic::rm
