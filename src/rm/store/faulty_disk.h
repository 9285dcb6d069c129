/*
 * For tests: a disk that fails under SQLite (a VFS over the ordinary one, the default while it
 * lives).  Read and write operations of the database and its log are counted; from a chosen one on,
 * they fail, are cut short or return wrong bytes.  power_cut() leaves the files as they were at
 * their last synchronisation.
 */

#ifndef ELASTIC_RM_FAULTY_DISK_H_INCLUDED
#define ELASTIC_RM_FAULTY_DISK_H_INCLUDED

#include <cstdint>
#include <string>

namespace elastic::rm {

class FaultyDisk {
  public:
    enum class Fault { NONE, READ_ERROR, READ_WRONG, WRITE_ERROR, WRITE_SHORT, FULL, SYNC_LOST };

    FaultyDisk();
    ~FaultyDisk();
    FaultyDisk(const FaultyDisk &) = delete;
    FaultyDisk &operator=(const FaultyDisk &) = delete;

    /* From the `number`-th operation of its kind on (1 is the next one); `times` 0: for ever. */
    void fail(Fault fault, int number, int times = 0);
    void heal() { fail(Fault::NONE, 0); }
    /* Whether the chosen operation has occurred. */
    bool has_failed() const;
    /* All files below the folder; no process may have them open. */
    static void power_cut(const std::string &folder);
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_FAULTY_DISK_H_INCLUDED */
