/* The macro by which Hydra's own files call our functions that can fail. */

#ifndef HOOK_H_INCLUDED
#define HOOK_H_INCLUDED

#include "hydra.h"

/* Handles an error as the caller's other errors.  The texts after the call describe it, as in
 * HYDU_ERR_POP. */
#define HYD_HOOK(call, ...)                             \
    do {                                                \
        status = (call);                                \
        HYDU_ERR_POP(status, __VA_ARGS__);              \
    } while (0)

#endif /* HOOK_H_INCLUDED */
