/* The environment of processes that programs start one by one (tasks.h). */

#include "state.h"
#include "task_output.h"
#include "tasks.h"

char **HYD_task_environment = NULL;

static int is_managers(const char *name)
{
    static const char *const prefixes[] = { "PMI_", "PMIX_", "MPI_LOCAL", "HYDI_" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return 1;
    return 0;
}

static int is_given(const struct HYD_env *env, const char *entry)
{
    for (; env; env = env->next)
        if (!strncmp(env->env_name, entry, strlen(env->env_name)) &&
            entry[strlen(env->env_name)] == '=')
            return 1;
    return 0;
}

/* The existing environment, and then the launch's additions. */
void HYD_tasks_environment(const struct HYD_env *env)
{
    extern char **environ;
    size_t n = 0, size = 1;

    for (char **entry = environ; *entry; entry++)
        size++;
    for (const struct HYD_env * e = env; e; e = e->next)
        size++;
    MPL_free(HYD_task_environment);
    HYD_task_environment = MPL_calloc(size, sizeof(*HYD_task_environment), MPL_MEM_PM);
    if (!HYD_task_environment)
        return;
    for (char **entry = environ; *entry; entry++)
        if (!is_managers(*entry) && !is_given(env, *entry))
            HYD_task_environment[n++] = MPL_strdup(*entry);
    for (const struct HYD_env * e = env; e; e = e->next) {
        if (is_managers(e->env_name))
            continue;
        size_t bytes = strlen(e->env_name) + (e->env_value ? strlen(e->env_value) : 0) + 2;
        char *entry = MPL_malloc(bytes, MPL_MEM_PM);
        if (!entry)
            return;
        MPL_snprintf(entry, bytes, "%s=%s", e->env_name, e->env_value ? e->env_value : "");
        HYD_task_environment[n++] = entry;
    }
}
