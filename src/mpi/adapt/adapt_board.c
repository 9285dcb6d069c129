/*
 * The process' side of the adapt board (pmi_adapt.h): mapping it, waiting on it, and the one-way
 * messages to the node daemon.  SPEC I3, P1.
 */

#include "adapt.h"
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "pmi.h"
#include "pmi_adapt_calls.h"

/* The longest sleep between two rounds of progress; while connections between hosts may be made */
#define BOARD_WAIT_MS 20
#define CONNECTING_WAIT_MS 1

MPIR_Adapt_t MPIR_Adapt = {.board_fd = -1 };


/* The number after "name=" in the environment variable's text; -1 where it is missing or too large. */
static int64_t env_number(const char *text, const char *name, int64_t max)
{
    size_t length = strlen(name);

    for (const char *p = text; (p = strstr(p, name)) != NULL; p += length) {
        if ((p == text || p[-1] == ' ') && p[length] == '=') {
            char *end;
            long long value = strtoll(p + length + 1, &end, 10);
            return (end > p + length + 1 && value >= 0 && value <= max) ? value : -1;
        }
    }
    return -1;
}

static long env_field(const char *text, const char *name)
{
    return (long) env_number(text, name, INT_MAX);
}

bool MPIR_Adapt_joins(unsigned *uid)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    long number = text ? env_field(text, "uid") : -1;

    *uid = (unsigned) MPL_MAX(number, 0);
    return number >= 0 && env_field(text, "version") == PMI_ADAPT_VERSION && env_field(text, "epoch") > 0;
}

bool MPIR_Adapt_is_created(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    unsigned uid;

    return text && MPIR_Adapt_joins(&uid) && env_field(text, "modify") > 0;
}

uint64_t MPIR_Adapt_pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static int map_board(int fd, long slot)
{
    struct stat status;

    if (fstat(fd, &status) != 0 || (size_t) status.st_size < sizeof(struct pmi_adapt_control))
        return -1;

    size_t bytes = status.st_size;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -1;

    struct pmi_adapt_control *control = base;
    uint64_t end = control->slots_offset + ((uint64_t) slot + 1) * sizeof(struct pmi_adapt_slot);
    if (control->magic != PMI_ADAPT_MAGIC || control->version != PMI_ADAPT_VERSION ||
        slot >= control->slots || end > bytes) {
        munmap(base, bytes);
        return -1;
    }

    MPIR_Adapt.control = control;
    MPIR_Adapt.slot = (struct pmi_adapt_slot *) ((char *) base + control->slots_offset) + slot;
    MPIR_Adapt.board_bytes = bytes;
    MPIR_Adapt.board_fd = fd;
    return 0;
}

void MPIR_Adapt_board_open(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    if (!text || MPIR_Adapt.control)
        return;

    long fd = env_field(text, "fd"), slot = env_field(text, "slot"), uid = env_field(text, "uid");
    if (env_field(text, "version") != PMI_ADAPT_VERSION || fd < 0 || slot < 0 || uid < 0)
        return;
    if (map_board((int) fd, slot) != 0)
        return;

    MPIR_Adapt.uid = (unsigned) uid;
    MPIR_Adapt.join_epoch = (unsigned) MPL_MAX(env_field(text, "epoch"), 0);
    MPIR_Adapt.pre = (int) MPL_MAX(env_field(text, "pre"), 0);
    MPIR_Adapt.local_pre = (int) MPL_MAX(env_field(text, "local_pre"), 0);
    MPIR_Adapt.created = MPIR_Adapt.join_epoch && env_field(text, "modify") > 0;
    MPIR_Adapt.daemon_pid_namespace = (uint64_t) MPL_MAX(env_number(text, "pidns", INT64_MAX), 0);
}

void MPIR_Adapt_board_close(void)
{
    if (MPIR_Adapt.control)
        munmap(MPIR_Adapt.control, MPIR_Adapt.board_bytes);
    MPIR_Adapt.control = NULL;
    MPIR_Adapt.slot = NULL;
}

int MPIR_Adapt_board_is_ours(void)
{
    char name[PMI_ADAPT_GROUP_MAX];

    if (!MPIR_Adapt.control)
        return 0;
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMI_KVS_Get_my_name(name, sizeof(name));
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return failed == PMI_SUCCESS && strncmp(name, MPIR_Adapt.control->group, sizeof(name)) == 0;
}

int MPIR_Adapt_notify_proxy(const char *format, ...)
{
    int mpi_errno = MPI_SUCCESS;
    char *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);

    line = MPL_malloc(length + 2, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!line, mpi_errno, MPI_ERR_OTHER, "**nomem");
    va_start(arguments, format);
    vsnprintf(line, length + 1, format, arguments);
    va_end(arguments);
    line[length] = '\n';
    line[length + 1] = '\0';

    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMIU_Adapt_send(line, length + 1);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPIR_ERR_CHKANDJUMP(failed, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");

  fn_exit:
    MPL_free(line);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_board_wait(uint32_t seen)
{
    bool connecting = MPIR_Adapt.plan && MPIR_Adapt.plan->n_hosts > 1;
    struct timespec limit = {
        .tv_nsec = (connecting ? CONNECTING_WAIT_MS : BOARD_WAIT_MS) * 1000000L
    };
    int err;

    /* let other threads of this process work meanwhile */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    syscall(SYS_futex, &MPIR_Adapt.control->wake, FUTEX_WAIT, seen, &limit, NULL, 0);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);

    err = MPID_Progress_test(NULL);
    return err;
}

void MPIR_Adapt_set_phase(enum pmi_adapt_phase phase)
{
    struct timespec now;

    if (!MPIR_Adapt.slot)
        return;
    if (phase >= PMI_ADAPT_PHASE_TOLD && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        __atomic_store_n(&MPIR_Adapt.slot->since_ms,
                         (uint64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000, __ATOMIC_RELAXED);
    __atomic_store_n(&MPIR_Adapt.slot->phase, phase, __ATOMIC_RELEASE);
}
