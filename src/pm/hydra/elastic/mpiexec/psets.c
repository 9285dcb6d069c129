/* See psets.h.  Blocks have their ranks one after the other, in the order of the command line. */

#include "psets.h"
#include "core.h"
#include "options.h"
#include "../../ui/mpich/mpiexec.h"

#define NAME_BYTES_MAX 254

struct named_block {
    char *name;
    int appnum;                 /* of the block */
    struct named_block *next;   /* in the order of the command line */
};

static struct named_block *blocks;

/* The error in the name, NULL: none. */
static const char *fault_of(const char *name)
{
    const char *rest = strstr(name, "://");
    static const char *const reserved[] = { "mpi://", "mpix://", "mpidynres://" };

    if (strlen(name) > NAME_BYTES_MAX)
        return "a name has at most 254 characters";
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return "a name has printable characters without blanks";
    if (!rest || rest == name || !rest[3])
        return "a name has the form of app://ocean";
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (!strncasecmp(name, reserved[i], strlen(reserved[i])))
            return "names that begin with mpi://, mpix:// and mpidynres:// are reserved for the "
                   "library";
    return NULL;
}

/* The block that is being read: the last one. */
static HYD_status current_block(int *appnum)
{
    HYD_status status = HYD_SUCCESS;
    struct HYD_exec *exec;

    if (!HYD_uii_mpx_exec_list) {
        status = HYDU_alloc_exec(&HYD_uii_mpx_exec_list);
        HYDU_ERR_POP(status, "unable to allocate exec\n");
        HYD_uii_mpx_exec_list->appnum = 0;
    }
    for (exec = HYD_uii_mpx_exec_list; exec->next; exec = exec->next);
    *appnum = exec->appnum;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_step_pset_fn(char *arg, char ***argv)
{
    HYD_status status = HYD_SUCCESS;
    struct named_block *block, **last = &blocks;
    char error[HYD_TMP_STRLEN];

    if (!**argv)
        HYD_step_option_error("--pset", "a value is missing");
    const char *fault = fault_of(**argv);
    if (fault) {
        MPL_snprintf(error, sizeof(error), "'%.300s': %s", **argv, fault);
        HYD_step_option_error("--pset", error);
    }
    HYDU_MALLOC_OR_JUMP(block, struct named_block *, sizeof(*block), status);
    block->name = MPL_strdup(**argv);
    block->next = NULL;
    status = current_block(&block->appnum);
    HYDU_ERR_POP(status, "unable to find the executable block\n");
    while (*last)
        last = &(*last)->next;
    *last = block;
    (*argv)++;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_step_pset_help_fn(void)
{
    printf("\n");
    printf("-pset NAME: The processes of this executable are (with others of the same name) a "
           "process\n");
    printf("   set of MPI Sessions, for example app://ocean; may be repeated\n\n");
}

static bool is_in(const char *name, int appnum)
{
    for (const struct named_block * block = blocks; block; block = block->next)
        if (block->appnum == appnum && !strcmp(block->name, name))
            return true;
    return false;
}

static bool is_repeated(const struct named_block *block)
{
    const struct named_block *before = blocks;

    while (before != block && strcmp(before->name, block->name))
        before = before->next;
    return before != block;
}

static void add_one(const char *name)
{
    uint32_t(*runs)[2] = NULL;
    int first = 0, n = 0;

    for (const struct HYD_exec * exec = HYD_uii_mpx_exec_list; exec; exec = exec->next)
        n++;
    runs = MPL_malloc((size_t) n * sizeof(*runs), MPL_MEM_PM);
    n = 0;
    for (const struct HYD_exec * exec = HYD_uii_mpx_exec_list; runs && exec; exec = exec->next) {
        if (exec->proc_count <= 0)
            continue;
        if (is_in(name, exec->appnum)) {
            runs[n][0] = (uint32_t) first;
            runs[n++][1] = (uint32_t) exec->proc_count;
        }
        first += exec->proc_count;
    }
    if (!runs || HYD_core_add_set(name, runs, n) < 0)
        HYDU_error_printf("unable to create the process set %s\n", name);
    MPL_free(runs);
}

void HYD_step_psets_add(void)
{
    for (const struct named_block * block = blocks; block; block = block->next)
        if (!is_repeated(block))
            add_one(block->name);
}
