/* See spawn.h.  No state. */

#include "spawn.h"
#include "pmiserv_pmi.h"
#include "hydra_server.h"
#include <limits.h>
#include <sys/stat.h>
#include "core.h"

#define PATH_BYTES 4096

struct command {
    struct HYD_pmcd_token *tokens;
    int n;
};

static const char *value(const struct command *command, const char *key)
{
    return HYD_pmcd_pmi_find_token_keyval(command->tokens, command->n, key);
}

/* A value of the info object of this command; NULL: not given. */
static const char *info(const struct command *command, const char *wanted)
{
    const char *count = value(command, "info_num");
    char key[PMI_MAXKEYLEN];

    for (int i = 0; count && i < atoi(count); i++) {
        MPL_snprintf(key, sizeof(key), "info_key_%d", i);
        const char *found = value(command, key);
        if (!found || strcmp(found, wanted))
            continue;
        MPL_snprintf(key, sizeof(key), "info_val_%d", i);
        return value(command, key);
    }
    return NULL;
}

static int all_are_local(const char *hosts)
{
    char *copy = MPL_strdup(hosts), *rest, *colon;
    int local = copy != NULL;

    for (char *host = strtok_r(copy, ",", &rest); host && local;
         host = strtok_r(NULL, ",", &rest)) {
        colon = strchr(host, ':');
        if (colon)
            *colon = '\0';
        local = MPL_host_is_local(host);
    }
    MPL_free(copy);
    return local;
}

static int is_here(const struct command *command)
{
    const char *hosts = info(command, "hosts") ? info(command, "hosts") : info(command, "host");

    if (info(command, "hostfile"))
        return 0;
    if (hosts)
        return all_are_local(hosts);
    for (const struct HYD_node * node = HYD_server_info.node_list; node; node = node->next) {
        if (!MPL_host_is_local(node->hostname))
            return 0;
    }
    return 1;
}

/* Whether the file can be executed.  `folder`: for names that do not begin with a slash. */
static int is_program(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    struct stat status;
    int length = file[0] == '/' ? MPL_snprintf(path, sizeof(path), "%s", file) :
        MPL_snprintf(path, sizeof(path), "%s/%s", folder, file);

    return length > 0 && length < (int) sizeof(path) && stat(path, &status) == 0 &&
        S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static int is_on_path(const char *path, const char *folder, const char *file)
{
    char element[PATH_BYTES];

    for (;;) {
        size_t length = strcspn(path, ":");
        int used =
            path[0] == '/' ? MPL_snprintf(element, sizeof(element), "%.*s", (int) length,
                                          path) : MPL_snprintf(element, sizeof(element), "%s/%.*s",
                                                               folder, (int) length, path);
        if (used < (int) sizeof(element) && is_program(element, file))
            return 1;
        if (!path[length])
            return 0;
        path += length + 1;
    }
}

/* The search path of the job's processes. */
static const char *search_path(void)
{
    for (const struct HYD_env * env = HYD_server_info.user_global.global_env.user; env;
         env = env->next) {
        if (!strcmp(env->env_name, "PATH"))
            return env->env_value;
    }
    return getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin";
}

/* ---- what has come
 * ------------------------------------------------------------------------------------------------
 *
 * The proxy takes at most 64 KiB of a command: what does not fit is missing here. */

#define ARGS_MAX (HYD_NUM_TMP_STRINGS - 3)      /* beside the program, and what the proxy adds */
#define NUMBER_BYTES 32

static int number(const struct command *command, const char *key)
{
    const char *text = value(command, key);

    return text ? atoi(text) : -1;
}

static int refuse(const struct command *command, const char *why)
{
    const char *name = value(command, "execname");

    HYDU_dump(stderr, "MPI_Comm_spawn: %.200s: %s\n", name ? name : "a program", why);
    return 0;
}

/* Whether KEY1, KEY2, ... or KEY0, ... exist. */
static int has_all(const struct command *command, const char *key, int first, int n)
{
    char name[NUMBER_BYTES];

    for (int i = first; i < first + n; i++) {
        MPL_snprintf(name, sizeof(name), "%s%d", key, i);
        if (!value(command, name))
            return 0;
    }
    return 1;
}

/* Whether there is a line without KEY=VALUE: the rest of a text with a newline. */
static int has_rest(const struct command *command)
{
    static const char *const keys[] =
        { "nprocs", "execname", "totspawns", "spawnssofar", "arg", "preput_", "info_", "endcmd"
    };
    size_t known;

    for (int i = 0; i < command->n; i++) {
        const char *key = command->tokens[i].key;
        for (known = 0; known < sizeof(keys) / sizeof(*keys); known++)
            if (!strncmp(key, keys[known], strlen(keys[known])))
                break;
        if (known == sizeof(keys) / sizeof(*keys) ||
            (!command->tokens[i].val && strcmp(key, "endcmd")))
            return 1;
    }
    return 0;
}

static int is_well_formed(const struct command *command)
{
    int n_args = number(command, "argcnt"), n_info = number(command, "info_num");

    if (has_rest(command))
        return refuse(command,
                      "its name, an argument or an info value has a newline, or all have more than "
                      "60000 "
                      "bytes: write them to a file");
    if (n_args > ARGS_MAX)
        return refuse(command,
                      "there are more arguments than Hydra can pass: write them to a file, or "
                      "start a script");
    if (!value(command, "execname") || n_args < 0 || n_info < 0 ||
        !has_all(command, "arg", 1, n_args) || !has_all(command, "info_key_", 0, n_info) ||
        !has_all(command, "info_val_", 0, n_info))
        return refuse(command,
                      "its name, arguments and info values have more than 60000 bytes: write them "
                      "to a file");
    if (number(command, "nprocs") < 0)
        return refuse(command, "the number of processes is negative");
    return 1;
}

/* ---- what can be started --------------------------------------------------------------------- */

static int can_start(const struct command *command)
{
    const char *name = value(command, "execname"), *folder = info(command, "wdir"), *under =
        info(command, "path");
    char here[PATH_BYTES], full[PATH_BYTES];
    struct stat status;
    int found;

    if (!is_well_formed(command))
        return 0;
    if (!name || !is_here(command) || !getcwd(here, sizeof(here)))
        return 1;
    if (folder && folder[0] != '/' &&
        MPL_snprintf(full, sizeof(full), "%s/%s", here, folder) < (int) sizeof(full))
        folder = full;
    if (folder && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))) {
        HYDU_dump(stderr, "MPI_Comm_spawn: there is no directory %s\n", folder);
        return 0;
    }
    if (!folder)
        folder = here;
    if (under) {
        char path[PATH_BYTES];
        int length = MPL_snprintf(path, sizeof(path), "%s/%s", under, name);
        found = length >= (int) sizeof(path) || is_program(folder, path);
    } else {
        found =
            strchr(name, '/') ? is_program(folder, name) : is_on_path(search_path(), folder, name);
    }
    if (!found)
        HYDU_dump(stderr, "MPI_Comm_spawn: %s does not exist, or is not executable\n", name);
    return found;
}

/* Whether the resource manager permits so many more processes. */
static int is_allowed(int64_t processes)
{
    char why[512];

    if (HYD_core_check_spawn(processes > INT_MAX ? INT_MAX : (int) processes, why, sizeof(why)) ==
        0)
        return 1;
    HYDU_dump(stderr, "MPI_Comm_spawn: %s\n", why);
    return 0;
}

int HYD_spawn_can_start(struct HYD_pmcd_token *tokens,
                        const struct HYD_pmcd_token_segment *commands, int n)
{
    int64_t processes = 0;

    for (int i = 0; i < n; i++) {
        struct command command = { tokens + commands[i].start_idx, commands[i].token_count };
        if (!can_start(&command))
            return 0;
        processes += number(&command, "nprocs");
    }
    if (processes == 0)
        HYDU_dump(stderr, "MPI_Comm_spawn: the number of processes is 0\n");
    return processes > 0 && is_allowed(processes);
}
