/* See faulty_disk.h. */

#include <sqlite3.h>
#include <string.h>

#include <filesystem>

#include "store/faulty_disk.h"

namespace elastic::rm {

namespace {

using Fault = FaultyDisk::Fault;
namespace fs = std::filesystem;

/* beside a file: its content at its last synchronisation */
constexpr const char *SYNCED = ".synced";

struct Plan {
    Fault fault = Fault::NONE;
    int number = 0, times = 0, failed = 0;
};
Plan plan;
sqlite3_vfs disk;
sqlite3_io_methods methods;

/* SQLite provides space for this and the file below. */
struct File {
    sqlite3_file base;
    char name[512];
    sqlite3_file *below;
};

sqlite3_file *below(sqlite3_file *file)
{
    return reinterpret_cast<File *>(file)->below;
}

/* Whether the planned fault is one of these, and its time has come. */
bool strikes(std::initializer_list<Fault> faults)
{
    if (std::find(faults.begin(), faults.end(), plan.fault) == faults.end() || --plan.number > 0)
        return false;
    if (plan.times && plan.failed >= plan.times)
        return false;
    plan.failed++;
    return true;
}

int close(sqlite3_file *file)
{
    return below(file)->pMethods->xClose(below(file));
}

int read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    if (strikes({Fault::READ_ERROR, Fault::READ_WRONG})) {
        if (plan.fault == Fault::READ_ERROR)
            return SQLITE_IOERR_READ;
        int code = below(file)->pMethods->xRead(below(file), bytes, count, offset);
        static_cast<unsigned char *>(bytes)[count / 2] ^= 0x55;
        return code;
    }
    return below(file)->pMethods->xRead(below(file), bytes, count, offset);
}

int write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (strikes({Fault::WRITE_ERROR, Fault::WRITE_SHORT, Fault::FULL})) {
        if (plan.fault == Fault::WRITE_SHORT)
            below(file)->pMethods->xWrite(below(file), bytes, count / 2, offset);
        return plan.fault == Fault::FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    return below(file)->pMethods->xWrite(below(file), bytes, count, offset);
}

int sync(sqlite3_file *file, int flags)
{
    int code = below(file)->pMethods->xSync(below(file), flags);
    const char *name = reinterpret_cast<File *>(file)->name;
    if (code == SQLITE_OK && !strikes({Fault::SYNC_LOST}))
        fs::copy_file(name, std::string(name) + SYNCED, fs::copy_options::overwrite_existing);
    return code;
}

/* Functions that only forward. */
int truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return below(f)->pMethods->xTruncate(below(f), n);
}
int size(sqlite3_file *f, sqlite3_int64 *n) { return below(f)->pMethods->xFileSize(below(f), n); }
int lock(sqlite3_file *f, int n) { return below(f)->pMethods->xLock(below(f), n); }
int unlock(sqlite3_file *f, int n) { return below(f)->pMethods->xUnlock(below(f), n); }
int reserved(sqlite3_file *f, int *n)
{
    return below(f)->pMethods->xCheckReservedLock(below(f), n);
}
int control(sqlite3_file *f, int op, void *p)
{
    return below(f)->pMethods->xFileControl(below(f), op, p);
}
int sector(sqlite3_file *f) { return below(f)->pMethods->xSectorSize(below(f)); }
int character(sqlite3_file *f) { return below(f)->pMethods->xDeviceCharacteristics(below(f)); }
int map(sqlite3_file *f, int page, int n, int extend, void volatile **p)
{
    return below(f)->pMethods->xShmMap(below(f), page, n, extend, p);
}
int shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return below(f)->pMethods->xShmLock(below(f), offset, n, flags);
}
void barrier(sqlite3_file *f) { below(f)->pMethods->xShmBarrier(below(f)); }
int unmap(sqlite3_file *f, int remove) { return below(f)->pMethods->xShmUnmap(below(f), remove); }

sqlite3_vfs *ordinary()
{
    return static_cast<sqlite3_vfs *>(disk.pAppData);
}

int open(sqlite3_vfs *, const char *name, sqlite3_file *file, int flags, int *out)
{
    auto *ours = reinterpret_cast<File *>(file);
    ours->below = reinterpret_cast<sqlite3_file *>(ours + 1);
    snprintf(ours->name, sizeof ours->name, "%s", name ? name : "");
    int code = ordinary()->xOpen(ordinary(), name, ours->below, flags, out);
    bool counts = flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL);
    methods.xRead = read;
    methods.xWrite = write;
    methods.xSync = sync;
    static sqlite3_io_methods uncounted;        /* temporary files */
    uncounted = methods;
    uncounted.xRead = [](sqlite3_file *f, void *b, int n, sqlite3_int64 o) {
        return below(f)->pMethods->xRead(below(f), b, n, o);
    };
    uncounted.xWrite = [](sqlite3_file *f, const void *b, int n, sqlite3_int64 o) {
        return below(f)->pMethods->xWrite(below(f), b, n, o);
    };
    uncounted.xSync = [](sqlite3_file *f, int n) { return below(f)->pMethods->xSync(below(f), n); };
    file->pMethods = ours->below->pMethods ? (counts ? &methods : &uncounted) : nullptr;
    return code;
}

}  // namespace

FaultyDisk::FaultyDisk()
{
    plan = {};
    sqlite3_vfs *found = sqlite3_vfs_find(nullptr);
    disk = *found;
    disk.zName = "faulty";
    disk.pNext = nullptr;
    disk.pAppData = found;
    disk.szOsFile = static_cast<int>(sizeof(File)) + found->szOsFile;
    disk.xOpen = open;
    methods = {2,        close,   read,     write,   truncate, sync,      size,
               lock,     unlock,  reserved, control, sector,   character, map,
               shm_lock, barrier, unmap,    nullptr, nullptr};
    /* The others get the ordinary one, to which they belong. */
    disk.xDelete = [](sqlite3_vfs *, const char *name, int n) {
        return ordinary()->xDelete(ordinary(), name, n);
    };
    disk.xAccess = [](sqlite3_vfs *, const char *name, int flags, int *out) {
        return ordinary()->xAccess(ordinary(), name, flags, out);
    };
    disk.xFullPathname = [](sqlite3_vfs *, const char *name, int n, char *out) {
        return ordinary()->xFullPathname(ordinary(), name, n, out);
    };
    sqlite3_vfs_register(&disk, 1);
}

FaultyDisk::~FaultyDisk()
{
    sqlite3_vfs_register(ordinary(), 1);
    sqlite3_vfs_unregister(&disk);
}

void FaultyDisk::fail(Fault fault, int number, int times)
{
    plan = {fault, number, times, 0};
}

bool FaultyDisk::has_failed() const
{
    return plan.failed > 0;
}

void FaultyDisk::power_cut(const std::string &folder)
{
    for (const auto &entry : fs::directory_iterator(folder)) {
        std::string name = entry.path().string();
        if (name.ends_with("-shm"))
            fs::remove(name);
        else if (name.find("store.sqlite") != std::string::npos && !name.ends_with(SYNCED)) {
            if (fs::exists(name + SYNCED))
                fs::rename(name + SYNCED, name);
            else
                fs::resize_file(name, 0);       /* never synchronised */
        }
    }
}

}  // namespace elastic::rm
