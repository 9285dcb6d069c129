/*
 * The process' side of the adapt board (pmi_adapt.h): mapping it, and the one-way messages to the
 * proxy. SPEC I3.
 */

#include "connect_board.h"
#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "pmi.h"
#include "pmi_adapt_calls.h"

struct MPIR_Board MPIR_Board = {.fd = -1 };

/* The number after "name=" in the environment variable's text; -1 where it is missing or too
 * large. */
static long env_field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *p = text; (p = strstr(p, name)) != NULL; p += length) {
        if ((p == text || p[-1] == ' ') && p[length] == '=') {
            char *end;
            long value = strtol(p + length + 1, &end, 10);
            return (end > p + length + 1 && value >= 0 && value <= INT_MAX) ? value : -1;
        }
    }
    return -1;
}

bool MPIR_Board_joins(unsigned *uid)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    long number = text ? env_field(text, "uid") : -1;

    *uid = (unsigned) MPL_MAX(number, 0);
    return number >= 0 && env_field(text, "version") == PMI_ADAPT_VERSION &&
        env_field(text, "epoch") > 0;
}

bool MPIR_Board_is_created(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    unsigned uid;

    return text && MPIR_Board_joins(&uid) && env_field(text, "modify") > 0;
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

    MPIR_Board.control = control;
    MPIR_Board.slot = (struct pmi_adapt_slot *) ((char *) base + control->slots_offset) + slot;
    MPIR_Board.bytes = bytes;
    MPIR_Board.fd = fd;
    return 0;
}

void MPIR_Board_open(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    if (!text || MPIR_Board.control)
        return;

    long fd = env_field(text, "fd"), slot = env_field(text, "slot"), uid = env_field(text, "uid");
    if (env_field(text, "version") != PMI_ADAPT_VERSION || fd < 0 || slot < 0 || uid < 0)
        return;
    if (map_board((int) fd, slot) != 0)
        return;

    MPIR_Board.uid = (unsigned) uid;
    MPIR_Board.join_epoch = (unsigned) MPL_MAX(env_field(text, "epoch"), 0);
    MPIR_Board.pre = (int) MPL_MAX(env_field(text, "pre"), 0);
    MPIR_Board.local_pre = (int) MPL_MAX(env_field(text, "local_pre"), 0);
    MPIR_Board.created = MPIR_Board.join_epoch && env_field(text, "modify") > 0;
}

void MPIR_Board_close(void)
{
    if (MPIR_Board.control)
        munmap(MPIR_Board.control, MPIR_Board.bytes);
    MPIR_Board.control = NULL;
    MPIR_Board.slot = NULL;
}

int MPIR_Board_is_ours(void)
{
    char name[PMI_ADAPT_GROUP_MAX];

    if (!MPIR_Board.control)
        return 0;
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMI_KVS_Get_my_name(name, sizeof(name));
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return failed == PMI_SUCCESS && strncmp(name, MPIR_Board.control->group, sizeof(name)) == 0;
}

int MPIR_Board_notify_proxy(const char *format, ...)
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
    MPIR_ERR_CHKANDJUMP(failed, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");

  fn_exit:
    MPL_free(line);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
