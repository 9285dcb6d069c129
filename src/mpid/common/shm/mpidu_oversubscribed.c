/*
 * See mpidu_oversubscribed.h.  The state is set by initialisation, begin and commit; it is only
 * read elsewhere.
 */

#include "mpidimpl.h"
#include "mpidu_oversubscribed.h"
#include <sys/syscall.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_PROGRESS_YIELD
      category    : CH4
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        Whether a process that waits yields its core (sched_yield) between two polls.
        auto   - if the node has more processes of MPI_COMM_WORLD than cores that they may run on;
                 determined again at each adaptation of MPI_COMM_WORLD
        always - even if there are enough cores, for example because other jobs share the node
        never  - as MPICH does

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define WORD_BITS (8 * (int) sizeof(unsigned long))
#define MASK_WORDS (8192 / WORD_BITS)

typedef struct {
    unsigned long word[MASK_WORDS];
} mask_t;

unsigned MPIDU_oversubscribed = 0;

/* The processors that a process may run on, 0 for the calling one; false if the kernel does not
 * report it. */
static bool get_mask(int pid, mask_t * mask)
{
    memset(mask, 0, sizeof(*mask));
    return syscall(SYS_sched_getaffinity, pid, sizeof(*mask), mask) > 0;
}

static int count_bits(const mask_t * mask)
{
    int n = 0;
    for (int i = 0; i < MASK_WORDS; i++)
        n += __builtin_popcountl(mask->word[i]);
    return n;
}

/* Adds `mask` to `all`; returns whether it is a subset of `outer`. */
static bool merge_mask(const mask_t * mask, const mask_t * outer, mask_t * all)
{
    unsigned long outside = 0;

    for (int i = 0; i < MASK_WORDS; i++) {
        outside |= mask->word[i] & ~outer->word[i];
        all->word[i] |= mask->word[i];
    }
    return outside == 0;
}

/* Whether there are too many processes for all processors together, or for those of this process.
 * It makes one system call for each examined process, so it examines as few as possible: it runs in
 * begin and commit. */
static bool is_oversubscribed(const int *pids, int n)
{
    mask_t mine, all, other;
    int inside = 0;

    if (!get_mask(0, &mine))
        return false;
    int capacity = count_bits(&mine);
    if (n <= capacity)
        return false;
    all = mine;
    for (int i = 0; i < n; i++) {
        /* an invisible process (another pid namespace) probably has the same processors */
        const mask_t *mask = get_mask(pids[i], &other) ? &other : &mine;
        inside += merge_mask(mask, &mine, &all);
        if (inside > capacity)
            return true;
    }
    return n > count_bits(&all);
}

void MPIDU_Oversubscribed_set(const int *pids, int n)
{
    switch (MPIR_CVAR_PROGRESS_YIELD) {
        case MPIR_CVAR_PROGRESS_YIELD_always:
            MPIDU_oversubscribed = 1;
            break;
        case MPIR_CVAR_PROGRESS_YIELD_never:
            MPIDU_oversubscribed = 0;
            break;
        default:
            MPIDU_oversubscribed = is_oversubscribed(pids, n);
            break;
    }
}
