/*
 * "A failed call changes nothing", or it ends the job with a message; with faults made on purpose.
 * The memory functions of this program replace the C library's, so that one call of libmpi, counted
 * from the moment when they are armed, fails:
 *   --where probe    the --fail'th mmap of the process with rank 0, from the start on: it cannot
 *                    prepare for the first adaptation, which is withdrawn; the next one goes
 *                    through
 *   --where begin    the --fail'th allocation in MPI_Comm_adapt_begin of rank 0.  If that returns
 *                    an error nothing must have changed, and a second call goes through; after that
 *                    an error ends the job.
 *   --where commit   the same in MPI_Comm_adapt_commit, from which on no error may be returned
 * Prints MISSED where that call was never reached, and FAILED where it was.
 */

#define _GNU_SOURCE
#include "elastic_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static struct {
    volatile int armed_alloc, armed_mmap;
    long countdown;
    volatile int hit;
} fault;

/* Calls of other libraries do not count. */
static int is_of_libmpi(void *caller)
{
    static void *base;
    Dl_info info;

    if (!base) {
        if (!dladdr(dlsym(RTLD_DEFAULT, "MPI_Comm_adapt_begin"), &info))
            return 0;
        base = info.dli_fbase;
    }
    return dladdr(caller, &info) && info.dli_fbase == base;
}

static int fails(volatile int *armed, void *caller)
{
    if (!*armed || !is_of_libmpi(caller) || --fault.countdown > 0)
        return 0;
    *armed = 0;
    fault.hit = 1;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails(&fault.armed_alloc, __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(&fault.armed_alloc, __builtin_return_address(0)) ? NULL :
        __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails(&fault.armed_alloc, __builtin_return_address(0)) ? NULL :
        __libc_realloc(memory, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails(&fault.armed_mmap, __builtin_return_address(0)))
        return MAP_FAILED;
    return (void *) syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static const char *where;
static long number;
static int victim;

static void log_hit(void)
{
    if (victim)
        et_log(fault.hit ? "FAILED" : "MISSED");
    fault.armed_alloc = fault.armed_mmap = 0;
    victim = 0;
}

/* As before the call that failed. */
static void check_old_world(void)
{
    int rank, size, value = et.rank, sum = 0;

    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    ET_CHECK(rank == et.rank && size == et.size, "rank %d of %d after a begin that failed", rank,
             size);
    ET_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
}

static void begin(void)
{
    int error;

    if (victim && !strcmp(where, "begin")) {
        fault.countdown = number;
        fault.armed_alloc = 1;
    }
    error = MPI_Comm_adapt_begin(&et.inter, &et.next, &et.staying, &et.leaving, &et.joining);
    fault.armed_alloc = 0;
    if (error != MPI_SUCCESS) {
        ET_CHECK(fault.hit, "begin failed by itself, error %d", error);
        check_old_world();
        ET_MPI(MPI_Comm_adapt_begin(&et.inter, &et.next, &et.staying, &et.leaving, &et.joining));
    }
    if (!strcmp(where, "begin"))
        log_hit();
    et.in_window = 1;
}

/* Commit deletes attributes when all processes have agreed on it: what fails before that is a
 * collective operation like any other, and MPICH's modules do not bear that. */
static int arm_commit(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm, (void) key, (void) value, (void) extra;
    fault.countdown = number;
    fault.armed_alloc = 1;
    return MPI_SUCCESS;
}

static void commit(void)
{
    int key;

    if (victim && !strcmp(where, "commit")) {
        ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, arm_commit, &key, NULL));
        ET_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL));
    }
    ET_MPI(MPI_Comm_adapt_commit());
    fault.armed_alloc = 0;
    log_hit();
    et.in_window = 0;
    et.epoch++;
    et_world_changed();
    et_exercise(MPI_COMM_WORLD, "the new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    where = et_argument(argc, argv, "where", "begin");
    number = et_number(argc, argv, "fail", 1);
    victim = et.status == MPI_ADAPT_STATUS_NEW && et.rank == 0;
    if (victim && !strcmp(where, "probe")) {
        fault.countdown = number;
        fault.armed_mmap = 1;
    }
    double last = et_seconds();
    while (et.epoch < et.epochs) {
        int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;
        et_sleep_ms(strcmp(where, "begin") ? 5 : 50);
        ET_CHECK(et_seconds() < last + et.patience_s, "no adaptation");
        if (!joining_rank && !et_probe())
            continue;
        begin();
        commit();
        et.status = MPI_ADAPT_STATUS_STAYING;
    }
    return et_finish();
}
