/* See pmi_rest.h. */

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
        halves = MPL_calloc((size_t) HYD_agent_process_count(), sizeof(*halves), MPL_MEM_PM);
    if (!halves || !(halves[process_id].bytes = MPL_malloc((size_t) *length, MPL_MEM_PM)))
        return 0;
    memcpy(halves[process_id].bytes, buffer, (size_t) *length);
    halves[process_id].length = *length;
    *length = 0;
    return 1;
}
