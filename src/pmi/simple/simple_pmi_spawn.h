/*
 * Sends a spawn to mpiexec, and waits for the reply.  Included by simple_pmi.c.
 *
 * Upstream's function writes texts into lines of PMIU_MAXLINE bytes; a longer text fails without a
 * reason, or is truncated.  Here a text may have any length, and mpiexec refuses a text that it
 * cannot pass on, with the reason (mpiexec/spawn.c).
 *
 * The reply arrives when all new processes have called MPI_Init.  Meanwhile this process makes
 * progress, because other processes, also new ones, may wait for it.
 */

#ifndef SIMPLE_PMI_SPAWN_H_INCLUDED
#define SIMPLE_PMI_SPAWN_H_INCLUDED

#include "pmi_adapt_calls.h"

/* In simple_pmi_adapt.h. 0: the reply is in `reply`. */
static int await_spawn(char reply[PMIU_MAXLINE]);
/* The next line that no other thread awaits. */
static int read_answer(char answer[PMIU_MAXLINE]);

/* Writes the content of `buf`, which is empty afterwards, and KEYNUMBER=VALUE, without NUMBER if
 * that is negative. */
static int write_spawn_text(char *buf, const char *key, int number, const char *value)
{
    char digits[16] = "";
    /* =, newline, 0 */
    size_t bytes = strlen(buf) + strlen(key) + sizeof(digits) + strlen(value) + 3;
    char *text = MPL_malloc(bytes, MPL_MEM_OTHER);

    if (!text)
        return PMI_FAIL;
    if (number >= 0)
        MPL_snprintf(digits, sizeof(digits), "%d", number);
    int length = MPL_snprintf(text, bytes, "%s%s%s=%s\n", buf, key, digits, value);
    int rc = PMIU_Adapt_send(text, length) ? PMI_FAIL : PMI_SUCCESS;
    MPL_free(text);
    buf[0] = '\0';
    return rc;
}

#endif /* SIMPLE_PMI_SPAWN_H_INCLUDED */
