/* MPIX_Spawn: MPI_Comm_spawn_multiple with names of hosts and an architecture.  DS1-DS4. */

#include "dynproc.h"
#include <sys/utsname.h>

#define HOST_MAX 255

/* The root's request to MPI_Comm_spawn_multiple: a command for each name, because mpiexec starts
 * one process for each host that it is given. */
struct spawn {
    int n;                      /* commands */
    char *executable;
    char **commands, ***argvs;
    int *counts;
    MPIR_Info **infos;
};

static void free_spawn(struct spawn *spawn)
{
    for (int i = 0; spawn->infos && i < spawn->n; i++) {
        if (spawn->infos[i])
            MPIR_Info_free_impl(spawn->infos[i]);
    }
    MPL_free(spawn->infos);
    MPL_free(spawn->executable);
    MPL_free(spawn->commands);
    MPL_free(spawn->argvs);
    MPL_free(spawn->counts);
}

static bool is_any(const char *name)
{
    return !strcmp(name, MPIX_ANYWHERE);
}

static int check(const char *arch, int count, const char *const names[], const char *executable,
                 int flag, const char *have)
{
    int mpi_errno = MPI_SUCCESS;
    bool arch_counts = !names;

    MPIR_ERR_CHKANDJUMP1(count < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", count);
    MPIR_ERR_CHKANDJUMP2(count == 0, mpi_errno, MPI_ERR_ARG, "**argnonpos", "**argnonpos %s %d",
                         "count", count);
    MPIR_ERR_CHKANDJUMP1(!executable, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "executable");
    MPIR_ERR_CHKANDJUMP1(!arch, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "arch_type");
    MPIR_ERR_CHKANDJUMP1(flag & ~MPIX_SPAWN_SOFT, mpi_errno, MPI_ERR_ARG, "**dynprocflag",
                         "**dynprocflag %d", flag);
    for (int i = 0; names && i < count; i++) {
        MPIR_ERR_CHKANDJUMP1(!names[i] || !names[i][0] ||
                             strlen(names[i]) > HOST_MAX, mpi_errno, MPI_ERR_ARG, "**dynprochost",
                             "**dynprochost %d", i);
        arch_counts = arch_counts || is_any(names[i]);
    }
    MPIR_ERR_CHKANDJUMP2(arch_counts && !is_any(arch) &&
                         strcmp(arch, have), mpi_errno, MPIX_ERR_ALLOCATE, "**dynprocarch",
                         "**dynprocarch %s %s", arch, have);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* %a: the architecture. */
static char *expand(const char *executable, const char *arch)
{
    size_t n_marks = 0;
    const char *at = executable;

    while ((at = strstr(at, "%a")) != NULL) {
        n_marks++;
        at += 2;
    }
    char *text = MPL_malloc(strlen(executable) + n_marks * strlen(arch) + 1, MPL_MEM_OTHER), *end =
        text;
    if (!text)
        return NULL;
    while ((at = strstr(executable, "%a")) != NULL) {
        end += sprintf(end, "%.*s%s", (int) (at - executable), executable, arch);
        executable = at + 2;
    }
    strcpy(end, executable);
    return text;
}

static int add_command(struct spawn *spawn, const char *host, int count, char *const argv[],
                       int flag)
{
    int mpi_errno = MPI_SUCCESS, i = spawn->n++;
    char range[32];

    spawn->commands[i] = spawn->executable;
    spawn->argvs[i] = (char **) argv;   /* which is only read */
    spawn->counts[i] = count;
    mpi_errno = MPIR_Info_alloc(&spawn->infos[i]);
    MPIR_ERR_CHECK(mpi_errno);
    if (host) {
        mpi_errno = MPIR_Info_set_impl(spawn->infos[i], "host", host);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (flag & MPIX_SPAWN_SOFT) {
        snprintf(range, sizeof(range), "1:%d", count);
        mpi_errno = MPIR_Info_set_impl(spawn->infos[i], "soft", range);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int write_commands(struct spawn *spawn, int count, const char *const names[],
                          char *const argv[], int flag)
{
    int mpi_errno = MPI_SUCCESS;
    size_t most = (size_t) (names ? count : 1);
    const char *some_host = NULL;       /* for entries that allow any host */

    spawn->commands = MPL_calloc(most, sizeof(*spawn->commands), MPL_MEM_OTHER);
    spawn->argvs = MPL_calloc(most, sizeof(*spawn->argvs), MPL_MEM_OTHER);
    spawn->counts = MPL_calloc(most, sizeof(*spawn->counts), MPL_MEM_OTHER);
    spawn->infos = MPL_calloc(most, sizeof(*spawn->infos), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!spawn->executable || !spawn->commands || !spawn->argvs || !spawn->counts ||
                        !spawn->infos, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; names && i < count && !some_host; i++)
        some_host = is_any(names[i]) ? NULL : names[i];
    for (int i = 0; i < (some_host ? count : 1); i++) {
        const char *host = some_host && !is_any(names[i]) ? names[i] : some_host;
        mpi_errno = add_command(spawn, host, some_host ? 1 : count, argv, flag);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int prepare(struct spawn *spawn, const char *arch, int count, const char *const names[],
                   const char *executable, char *const argv[], int flag)
{
    struct utsname host;
    int mpi_errno;

    if (uname(&host) != 0)
        snprintf(host.machine, sizeof(host.machine), "unknown");
    mpi_errno = check(arch, count, names, executable, flag, host.machine);
    MPIR_ERR_CHECK(mpi_errno);
    spawn->executable = expand(executable, host.machine);
    mpi_errno = write_commands(spawn, count, names, argv, flag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The other processes receive the class of an error of the root. */
int MPIR_Spawn_impl(MPIR_Comm * comm, int root, const char *arch, int count,
                    const char *const names[], const char *executable, char *const argv[], int flag,
                    MPIR_Comm ** newcomm)
{
    struct spawn spawn = { 0 };
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno = MPI_SUCCESS, root_class, root_error = MPI_SUCCESS;

    MPIR_ERRTEST_INTRA_ROOT(comm, root, mpi_errno);
    if (comm->rank == root)
        root_error = prepare(&spawn, arch, count, names, executable, argv, flag);
    root_class = root_error ? MPIR_ERR_GET_CLASS(root_error) : MPI_SUCCESS;
    mpi_errno = MPIR_Bcast(&root_class, 1, MPI_INT, root, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = root_error;
    if (root_class && !mpi_errno)
        mpi_errno = MPIR_Dynproc_error_elsewhere(root_class);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        MPID_Comm_spawn_multiple(spawn.n, spawn.commands, spawn.argvs, spawn.counts, spawn.infos,
                                 root, comm, newcomm, MPI_ERRCODES_IGNORE);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    free_spawn(&spawn);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
