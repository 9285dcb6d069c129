/* How Hydra's own files call functions of ours that can fail. */

#ifndef HOOK_H_INCLUDED
#define HOOK_H_INCLUDED

#include "hydra.h"

/* An error goes the way of the caller's others; the texts after the call describe it, as in
 * HYDU_ERR_POP. */
#define HYD_HOOK(call, ...)                             \
    do {                                                \
        status = (call);                                \
        HYDU_ERR_POP(status, __VA_ARGS__);              \
    } while (0)

#endif /* HOOK_H_INCLUDED */
