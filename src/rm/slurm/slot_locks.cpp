/* See slot_locks.h. */

#include "slurm/slot_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace elastic::rm {

namespace {

/* The locked bytes: one for who chooses, then one for each slot.  The file itself has the number of
 * the next step. */
constexpr int64_t CHOICE = 0, FIRST_SLOT = 1;

struct flock range(int type, int64_t byte)
{
    struct flock lock = {};
    lock.l_type = static_cast<short>(type);
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

}  // namespace

Result<SlotLocks> SlotLocks::open(const std::string &path)
{
    int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW);
    if (file < 0)
        return Error{"cannot open " + path + ": " + strerror(errno)};
    return SlotLocks(file);
}

SlotLocks::~SlotLocks()
{
    if (file_ >= 0)
        close(file_);
}

bool SlotLocks::lock(int type, int64_t byte, bool wait) const
{
    struct flock lock = range(type, byte);
    while (fcntl(file_, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

void SlotLocks::begin()
{
    lock(F_WRLCK, CHOICE, true);
}

void SlotLocks::end()
{
    lock(F_UNLCK, CHOICE, false);
}

std::vector<bool> SlotLocks::used(int count) const
{
    std::vector<bool> result;
    for (int slot = 0; slot < count; slot++) {
        struct flock lock = range(F_WRLCK, FIRST_SLOT + slot);
        result.push_back(fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
    }
    return result;
}

bool SlotLocks::take(const std::vector<int> &slots)
{
    for (int slot : slots)
        if (!lock(F_WRLCK, FIRST_SLOT + slot, false))
            return false;
    return true;
}

int SlotLocks::next_step()
{
    int number = 0;
    if (pread(file_, &number, sizeof number, 0) != sizeof number || number < 0)
        number = 0;
    int next = number + 1;
    /* Without the number of the next step this one runs all the same. */
    if (pwrite(file_, &next, sizeof next, 0) != sizeof next)
        return number;
    return number;
}

}  // namespace elastic::rm
