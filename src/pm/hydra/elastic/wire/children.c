/*
 * See children.h.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* execvpe */
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "wire/children.h"

int (*HYD_excuses_child) (pid_t pid) = NULL;
int HYD_child_clears_env = 0;

char *HYD_child_clear_env(void)
{
    const char *path = HYD_child_clears_env ? getenv("PATH") : NULL;
    char *copy = path ? strdup(path) : NULL;

    if (HYD_child_clears_env)
        clearenv();
    return copy;
}

int HYD_child_execute(char **args, const char *path)
{
    size_t n = 0;

    while (environ && environ[n])
        n++;
    char **only = path && !getenv("PATH") ? calloc(n + 1, sizeof(*only)) : NULL;
    if (!only)
        return execvp(args[0], args);
    if (n > 0)
        memcpy(only, environ, n * sizeof(*only));
    setenv("PATH", path, 1);    /* for the search, not for the program */
    return execvpe(args[0], args, only);
}
