/* See spawn.h.  No state. */

#include "spawn.h"
#include "hydra_server.h"
#include <sys/stat.h>

#define PATH_BYTES 4096

struct command {
    struct HYD_pmcd_token *tokens;
    int n;
};

static const char *value(const struct command *command, const char *key)
{
    return HYD_pmcd_pmi_find_token_keyval(command->tokens, command->n, key);
}

/* Of the info object of this command; NULL: not given. */
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

    for (char *host = strtok_r(copy, ",", &rest); host && local; host = strtok_r(NULL, ",", &rest)) {
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

/* Whether the file can be executed; `folder` is where names without a slash at their beginning are. */
static int is_program(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    struct stat status;
    int length = file[0] == '/' ? MPL_snprintf(path, sizeof(path), "%s", file) :
        MPL_snprintf(path, sizeof(path), "%s/%s", folder, file);

    return length > 0 && length < (int) sizeof(path) && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        access(path, X_OK) == 0;
}

static int is_on_path(const char *path, const char *folder, const char *file)
{
    char element[PATH_BYTES];

    for (;;) {
        size_t length = strcspn(path, ":");
        int used = path[0] == '/' ? MPL_snprintf(element, sizeof(element), "%.*s", (int) length, path) :
            MPL_snprintf(element, sizeof(element), "%s/%.*s", folder, (int) length, path);
        if (used < (int) sizeof(element) && is_program(element, file))
            return 1;
        if (!path[length])
            return 0;
        path += length + 1;
    }
}

/* As the processes of the job have it. */
static const char *search_path(void)
{
    for (const struct HYD_env * env = HYD_server_info.user_global.global_env.user; env; env = env->next) {
        if (!strcmp(env->env_name, "PATH"))
            return env->env_value;
    }
    return getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin";
}

static int can_start(const struct command *command)
{
    const char *name = value(command, "execname"), *folder = info(command, "wdir"), *under = info(command, "path");
    char here[PATH_BYTES], full[PATH_BYTES];
    struct stat status;
    int found;

    if (!name || !is_here(command) || !getcwd(here, sizeof(here)))
        return 1;
    if (folder && folder[0] != '/' && MPL_snprintf(full, sizeof(full), "%s/%s", here, folder) < (int) sizeof(full))
        folder = full;
    if (folder && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))) {
        HYDU_dump(stderr, "MPI_Comm_spawn: there is no folder %s\n", folder);
        return 0;
    }
    if (!folder)
        folder = here;
    if (under) {
        char path[PATH_BYTES];
        int length = MPL_snprintf(path, sizeof(path), "%s/%s", under, name);
        found = length >= (int) sizeof(path) || is_program(folder, path);
    } else {
        found = strchr(name, '/') ? is_program(folder, name) : is_on_path(search_path(), folder, name);
    }
    if (!found)
        HYDU_dump(stderr, "MPI_Comm_spawn: %s is not there, or no program\n", name);
    return found;
}

int HYD_spawn_can_start(struct HYD_pmcd_token *tokens, const struct HYD_pmcd_token_segment *commands, int n)
{
    for (int i = 0; i < n; i++) {
        struct command command = { tokens + commands[i].start_idx, commands[i].token_count };
        if (!can_start(&command))
            return 0;
    }
    return 1;
}
