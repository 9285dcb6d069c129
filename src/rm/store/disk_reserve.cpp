/* See disk_reserve.h. */

#include "store/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.h"

namespace elastic::rm {

namespace {

constexpr int64_t REST_BYTES = 1 << 20;

}  // namespace

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
    if (free_bytes() < 2 * bytes_)
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

/* After fill() at least `bytes_` are free: the reserve is not needed at once again. */
bool DiskReserve::is_needed(int64_t bytes) const
{
    return is_filled_ && free_bytes() < bytes + std::min(REST_BYTES, bytes_);
}

bool DiskReserve::can_hold(int64_t bytes) const
{
    return free_bytes() + (is_filled_ ? bytes_ : 0) >= bytes + bytes_ / 2;
}

/* Some blocks of a disk are for root alone. */
int64_t DiskReserve::free_bytes() const
{
    struct statvfs disk = {};
    if (statvfs(folder_.c_str(), &disk) != 0)
        return 0;
    auto blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
    return static_cast<int64_t>(blocks * disk.f_frsize);
}

}  // namespace elastic::rm
