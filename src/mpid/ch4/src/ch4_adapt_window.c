/* See ch4_adapt_window.h. */

#include "mpidimpl.h"
#include "mpidu_init_shm_adapt.h"
#include "ch4_adapt.h"
#include "ch4_adapt_window.h"
#include "mpir_adapt.h"

uint64_t MPIDI_Adapt_am_source;

struct MPIDI_Adapt_window MPIDI_Adapt_window;

int MPID_Adapt_bc(void **bc, int *bytes)
{
    return MPIDI_NM_adapt_bc(bc, bytes);
}

void MPID_Adapt_set_uid(unsigned uid)
{
    MPIDI_Adapt_am_source = MPIDI_NM_adapt_am_source(uid);
}

void MPIDI_Adapt_window_set(const struct pmi_adapt_plan *plan, int index)
{
    MPIDI_Adapt_window.pre = (int) plan->pre;
    MPIDI_Adapt_window.joining = (int) plan->joining;
    MPIDI_Adapt_window.size = MPIDI_Adapt_window.pre + MPIDI_Adapt_window.joining;
    MPIDI_Adapt_window.index = index;
    MPIDI_Adapt_window.shift = index - MPIR_Process.rank;
}

bool MPIDI_Adapt_shares_memory(void)
{
    return MPIDU_Init_shm_adapt_size() == MPIDI_Adapt_window.size && !MPIR_CVAR_NOLOCAL &&
        !MPIR_CVAR_ODD_EVEN_CLIQUES && MPIR_CVAR_NUM_CLIQUES == 1;
}
