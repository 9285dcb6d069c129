/* See pmi_rest.h. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* memmem, memrchr */
#endif
#include "state.h"
#include "pmi_rest.h"

static struct half {
    char *bytes;
    int length;
} *halves;                      /* by process */

void HYD_pmi_rest_take(int process_id, char *buffer, int *length)
{
    if (process_id < 0 || !halves || !halves[process_id].bytes || *length > 0)
        return;
    struct half *half = &halves[process_id];
    memcpy(buffer, half->bytes, (size_t) half->length);
    *length = half->length;
    MPL_free(half->bytes);
    half->bytes = NULL;
}

int HYD_pmi_rest_keep(int process_id, char *buffer, char **rest, int *length)
{
    memmove(buffer, *rest, (size_t) *length);
    *rest = buffer;
    if (process_id < 0 || *length == 0)
        return *length == 0;
    if (!halves)
        halves = MPL_calloc((size_t) HYD_proxy_process_count(), sizeof(*halves), MPL_MEM_PM);
    if (!halves || !(halves[process_id].bytes = MPL_malloc((size_t) *length, MPL_MEM_PM)))
        return 0;
    memcpy(halves[process_id].bytes, buffer, (size_t) *length);
    halves[process_id].length = *length;
    *length = 0;
    return 1;
}

/* Bytes of the first lines of a spawn; 0: the command is no spawn. */
static int head_of_spawn(const char *buffer, int length)
{
    const char begin[] = "mcmd=spawn\n", last[] = "\nspawnssofar=";
    const char *at = memmem(buffer, (size_t) length, last, strlen(last));
    const char *end = at ? memchr(at + 1, '\n', (size_t) (buffer + length - at - 1)) : NULL;

    return end && !strncmp(buffer, begin, strlen(begin)) ? (int) (end - buffer) + 1 : 0;
}

int HYD_pmi_rest_fits(char *buffer, int *length)
{
    if (*length < HYD_TMPBUF_SIZE)
        return 1;
    int head = head_of_spawn(buffer, *length);
    const char *line = memrchr(buffer, '\n', (size_t) *length);
    if (head == 0 || !line)
        return 0;
    int rest = *length - (int) (line + 1 - buffer);
    if (head + rest >= HYD_TMPBUF_SIZE)
        rest = 0;
    memmove(buffer + head, buffer + *length - rest, (size_t) rest);
    *length = head + rest;
    return 1;
}
