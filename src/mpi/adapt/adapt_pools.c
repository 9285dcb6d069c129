/* See adapt_handles.h. */

#include "adapt_handles.h"

void MPIR_Adapt_foreach_in_use(MPIR_Object_alloc_t * pool, int objects_per_block,
                               void (*function) (void *, void *), void *context)
{
    if (!pool->initialized)
        return;

    for (int block = -1; block < pool->indirect_size; block++) {
        char *object = block < 0 ? pool->direct : pool->indirect[block];
        int count = block < 0 ? pool->direct_size : objects_per_block;
        for (int i = 0; i < count; i++, object += pool->size) {
            if (MPIR_Object_get_ref((MPIR_Handle_common *) (void *) object) > 0)
                function(object, context);
        }
    }
}

struct group_visit {
    void (*function) (MPIR_Group *, void *);
    void *context;
};

static void visit_group(void *object, void *context)
{
    struct group_visit *visit = context;
    visit->function(object, visit->context);
}

void MPIR_Adapt_foreach_group(void (*function) (MPIR_Group *, void *), void *context)
{
    struct group_visit visit = { function, context };
    MPIR_Adapt_foreach_in_use(&MPIR_Group_mem, HANDLE_NUM_INDICES, visit_group, &visit);
}

void MPIR_Adapt_foreach_request(void (*function) (void *, void *), void *context)
{
    for (int pool = 0; pool < MPIR_REQUEST_NUM_POOLS; pool++)
        MPIR_Adapt_foreach_in_use(&MPIR_Request_mem[pool], REQUEST_NUM_INDICES, function, context);
}

void MPIR_Adapt_foreach_win(void (*function) (void *, void *), void *context)
{
    MPIR_Adapt_foreach_in_use(&MPIR_Win_mem, HANDLE_NUM_INDICES, function, context);
}
