/*
 * A reserve of space on the store's disk: a file that is deleted when the disk is full.  Then ends
 * of jobs and decisions can still be stored, while no new job is accepted.
 *
 * Owner of the file `reserve` in the store's folder.  One thread.
 */

#ifndef ELASTIC_RM_STORE_DISK_RESERVE_H_INCLUDED
#define ELASTIC_RM_STORE_DISK_RESERVE_H_INCLUDED

#include <cstdint>
#include <string>

namespace elastic::rm {

class DiskReserve {
  public:
    /* `bytes` 0: no reserve. */
    DiskReserve(const std::string &folder, int64_t bytes);

    /* Allocates the space, if twice as much is free.  True: the reserve exists. */
    bool fill();
    void release();
    /* The reserve exists, and the disk has less free space than `bytes` and a small rest. */
    bool is_needed(int64_t bytes = 0) const;
    /* Without the reserve, half of its size remains free after a write of `bytes`. */
    bool can_hold(int64_t bytes) const;
    /* True also for a file system on which space cannot be reserved. */
    bool is_filled() const { return is_filled_ || bytes_ == 0; }

  private:
    /* 0 if this is unknown. */
    int64_t free_bytes() const;

    std::string folder_, file_;
    int64_t bytes_;
    bool is_filled_ = false;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_DISK_RESERVE_H_INCLUDED */
