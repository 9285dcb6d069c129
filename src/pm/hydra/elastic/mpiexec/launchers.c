/*
 * Additions to Hydra's launchers, for processes that are started while a job runs.  Hydra calls
 * launchers through HYDT_bsci_fns; HYD_step_use_launcher puts a function of this file before the
 * stock one.
 *
 * All: a failed launcher of the job's own launch is detected (launcher_ends.h).
 *
 * ssh: the stock launcher counts its connections to each host and sleeps when there are many within
 * a short time.  mpiexec must never sleep while a job runs, and an adaptation makes one connection
 * to a host: for groups after the launch it starts with an empty record.
 *
 * Slurm: the stock launcher starts the proxies of all nodes with one srun, which cannot be used for
 * more:
 * - a step waits for resources that no other step of the job has, so the second group on a node
 *   would wait until the first one ends: later steps may overlap;
 * - the proxies take their numbers from Slurm's order of the nodes, whatever order was requested;
 * - when the job releases a node, Slurm ends the step that uses it on all of its nodes.
 * Hence one step for each node and group, with the proxy's number given.  The launch is done the
 * stock way if nothing in the command states that the step is elastic, but always on the nodes that
 * Hydra has chosen: stock assumes that Slurm chooses the same.
 */

#include "state.h"
#include "launcher_ends.h"
#include "launchers.h"
#include "options.h"
#include "socket.h"
#include "bsci.h"
#include "bscu.h"
#include "demux.h"
#include "wire/job_secret.h"
#include "tools/bootstrap/external/ssh.h"

typedef HYD_status(*launch_function) (char **args, struct HYD_proxy * proxy_list, int use_rmk,
                                      int *control_fd);
static launch_function stock_launch, launch_by_name;

static int is_launch(const struct HYD_proxy *proxy_list)
{
    return proxy_list->pg->pgid == 0;
}

/* ---- ssh ------------------------------------------------------------------------------------- */

static HYD_status launch_by_ssh(char **args, struct HYD_proxy *proxy_list, int use_rmk,
                                int *control_fd)
{
    for (struct HYDT_bscd_ssh_time * e = is_launch(proxy_list) ? NULL : HYDT_bscd_ssh_time; e;
         e = e->next)
        for (int i = 0; i < HYDT_bscd_ssh_limit; i++)
            e->init_time[i] = (struct timeval) {0, 0};
    return stock_launch(args, proxy_list, use_rmk, control_fd);
}

/* ---- Slurm ----------------------------------------------------------------------------------- */

/* Whether the hosts are in the order in which Slurm numbers them. */
static int in_slurm_order(const struct HYD_proxy *proxy_list)
{
    for (const struct HYD_proxy *p = proxy_list; p->next; p = p->next)
        if (strverscmp(p->node->hostname, p->next->node->hostname) >= 0)
            return 0;
    return 1;
}

static HYD_status append(char **list, int *n, const char *word)
{
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, *n + 2 > HYD_NUM_TMP_STRINGS, HYD_INTERNAL_ERROR,
                        "the command for a node has too many arguments\n");
    list[*n] = MPL_strdup(word);
    HYDU_ERR_CHKANDJUMP(status, !list[*n], HYD_NO_MEM, "no memory for a command\n");
    list[++*n] = NULL;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* srun and its options, for one node. */
static HYD_status srun_words(const char *hostname, char **list, int *n)
{
    static const char *const options[] = { "-N", "1", "-n", "1", "--ntasks-per-node", "1",
        "--input", "all", "--nodelist"
    };
    char *path = NULL, *extra = NULL, *rest = NULL;
    const char *given = NULL;
    HYD_status status = HYD_SUCCESS;

    path = HYDT_bsci_info.launcher_exec ? MPL_strdup(HYDT_bsci_info.launcher_exec) :
        HYDU_find_full_path("srun");
    status = append(list, n, path ? path : "/usr/bin/srun");
    HYDU_ERR_POP(status, "unable to name srun\n");
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        status = append(list, n, options[i]);
        HYDU_ERR_POP(status, "unable to write srun's options\n");
    }
    status = append(list, n, hostname);
    HYDU_ERR_POP(status, "unable to write srun's options\n");

    if (MPL_env2str("HYDRA_LAUNCHER_EXTRA_ARGS", &given))
        extra = MPL_strdup(given);
    for (char *word = extra ? strtok_r(extra, " ", &rest) : NULL; word;
         word = strtok_r(NULL, " ", &rest)) {
        status = append(list, n, word);
        HYDU_ERR_POP(status, "unable to write srun's options\n");
    }

  fn_exit:
    MPL_free(path);
    MPL_free(extra);
    return status;

  fn_fail:
    goto fn_exit;
}

/* Makes space for one more node in Hydra's lists of launchers and of their output. */
static HYD_status grow_launcher_lists(void)
{
    HYD_status status = HYD_SUCCESS;

    HYDU_REALLOC_OR_JUMP(HYD_bscu_pid_list, int *, (HYD_bscu_pid_count + 1) * sizeof(int), status);
    HYDU_REALLOC_OR_JUMP(HYD_bscu_fd_list, int *, (HYD_bscu_fd_count + 2) * sizeof(int), status);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status watch_output(int fd, int where)
{
    HYD_bscu_fd_list[HYD_bscu_fd_count++] = fd;
    return HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, (void *) (size_t) where, HYDT_bscu_stdio_cb);
}

static HYD_status srun(const struct HYD_proxy *proxy, char **args)
{
    char *words[HYD_NUM_TMP_STRINGS] = { NULL }, number[16];
    struct HYD_env *overlap = NULL;
    int n = 0, in, out, err;
    HYD_status status = HYD_SUCCESS;

    status = srun_words(proxy->node->hostname, words, &n);
    HYDU_ERR_POP(status, "unable to write srun's command\n");
    for (int i = 0; args[i]; i++) {
        status = append(words, &n, args[i]);
        HYDU_ERR_POP(status, "unable to write the proxy's command\n");
    }
    MPL_snprintf(number, sizeof(number), "%d", proxy->proxy_id);
    status = append(words, &n, number);
    HYDU_ERR_POP(status, "unable to write the proxy's command\n");
    if (HYDT_bsci_info.debug) {
        HYDU_dump(stdout, "Launch arguments: ");
        HYDU_print_strlist(words);
    }

    /* in the environment, because old versions of srun do not know the option */
    status = HYDU_env_create(&overlap, "SLURM_OVERLAP", "1");
    HYDU_ERR_POP(status, "unable to create env\n");
    status = grow_launcher_lists();
    HYDU_ERR_POP(status, "unable to register a launcher\n");
    status = HYDU_create_process(words, overlap, &in, &out, &err,
                                 &HYD_bscu_pid_list[HYD_bscu_pid_count++], -1);
    HYDU_ERR_POP(status, "create process returned error\n");
    HYD_secret_give(in);
    status = watch_output(out, STDOUT_FILENO);
    HYDU_ERR_POP(status, "demux returned error registering fd\n");
    status = watch_output(err, STDERR_FILENO);
    HYDU_ERR_POP(status, "demux returned error registering fd\n");

  fn_exit:
    HYDU_env_free(overlap);
    HYDU_free_strlist(words);
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status launch_by_slurm(char **args, struct HYD_proxy *proxy_list, int use_rmk,
                                  int *control_fd)
{
    int elastic = HYD_step_options_given() || HYD_step_managed();
    HYD_status status = HYD_SUCCESS;

    if (is_launch(proxy_list) && !elastic && in_slurm_order(proxy_list))
        return stock_launch(args, proxy_list, HYD_FALSE, control_fd);
    for (const struct HYD_proxy * p = proxy_list; p; p = p->next) {
        status = srun(p, args);
        HYDU_ERR_POP(status, "unable to start the proxy of %s\n", p->node->hostname);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---------------------------------------------------------------------------------------------- */

static HYD_status launch(char **args, struct HYD_proxy *proxy_list, int use_rmk, int *control_fd)
{
    int first = HYD_bscu_pid_count;
    HYD_status status = launch_by_name(args, proxy_list, use_rmk, control_fd);

    HYDU_ERR_POP(status, "unable to launch\n");
    if (is_launch(proxy_list) && HYD_step_find_group(0)) {
        status = HYD_step_watch_launchers(HYD_step_find_group(0), first);
        HYDU_ERR_POP(status, "unable to watch the launchers\n");
    }
    for (const struct HYD_proxy * p = is_launch(proxy_list) ? proxy_list : NULL; p; p = p->next)
        HYD_step_watch_launcher(p);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_step_use_launcher(void)
{
    stock_launch = launch_by_name = HYDT_bsci_fns.launch_procs;
    if (!strcmp(HYDT_bsci_info.launcher, "slurm"))
        launch_by_name = launch_by_slurm;
    else if (!strcmp(HYDT_bsci_info.launcher, "ssh"))
        launch_by_name = launch_by_ssh;
    HYDT_bsci_fns.launch_procs = launch;
    HYD_step_excuse_launchers();
}
