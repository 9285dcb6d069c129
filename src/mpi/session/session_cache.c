/*
 * The cache of process sets, by name: a second lookup is local.  SA1, SI3,
 * SI6, SI7, costs of Part A.
 *
 * A reply is valid as long as the board's `invalidations` has the same value as before the query:
 * the step manager lets the proxy change it before any process is notified of the change by other
 * means (stepmgr/psets/pset_invalidation.h).  It decides which replies may be cached at all.
 * Members are ranks, so that a new world (MPIR_Adapt_epoch) also requires a new query.
 *
 * At most ENTRIES names; a new one replaces an old one.  Invalid entries are freed when the next
 * reply is cached, so that many changes need no more memory than one.  The thread that holds the
 * library's critical section owns the cache.
 */

#include "session.h"
#include "connect_board.h"
#include "mpir_adapt.h"

#define ENTRIES 1024             /* a power of 2 */
#define TRIES 8                 /* possible slots of a name */

struct cached {
    uint32_t hash;
    struct MPIR_Session_stamp stamp;
    struct MPIR_Session_made *made;
    char name[PMI_SET_NAME_MAX + 1];    /* as in the query: there may be two spellings */
};

static struct cached *entries[ENTRIES];

/* FNV-1a */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char) *name) * 16777619u;
    return hash;
}

struct MPIR_Session_stamp MPIR_Session_stamp(void)
{
    const struct pmi_adapt_control *board = MPIR_Board_answered()? MPIR_Board_words() : NULL;

    return (struct MPIR_Session_stamp) {
        board ? __atomic_load_n(&board->invalidations, __ATOMIC_ACQUIRE) : 0, MPIR_Adapt_epoch()
    };
}

static bool same(struct MPIR_Session_stamp one, struct MPIR_Session_stamp other)
{
    return one.invalidations == other.invalidations && one.epoch == other.epoch;
}

struct MPIR_Session_made *MPIR_Session_cache_find(const char *name, bool state_matters)
{
    if (!MPIR_Board_words())
        return NULL;            /* no query was sent */
    const struct MPIR_Session_stamp now = MPIR_Session_stamp();
    uint32_t hash = hash_of(name);

    for (uint32_t i = 0; i < TRIES; i++) {
        struct cached *entry = entries[(hash + i) % ENTRIES];
        if (entry && entry->hash == hash && same(entry->stamp, now) && !strcmp(entry->name, name)) {
            if (state_matters && !entry->made->state_lasts)
                return NULL;
            entry->made->references++;
            return entry->made;
        }
    }
    return NULL;
}

static void free_what_does_not_hold(struct MPIR_Session_stamp now)
{
    static struct MPIR_Session_stamp freed_until;

    if (same(freed_until, now))
        return;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        if (entries[i] && !same(entries[i]->stamp, now)) {
            MPIR_Session_made_release(entries[i]->made);
            MPL_free(entries[i]);
            entries[i] = NULL;
        }
    }
    freed_until = now;
}

/* The entry of this name, or a free one; else one of another name. */
static struct cached **find_entry(const char *name, uint32_t hash)
{
    struct cached **slot = NULL;

    for (uint32_t i = 0; i < TRIES; i++) {
        struct cached **candidate = &entries[(hash + i) % ENTRIES];
        if (*candidate && (*candidate)->hash == hash && !strcmp((*candidate)->name, name))
            return candidate;
        if (!slot && !*candidate)
            slot = candidate;
    }
    return slot ? slot : &entries[hash % ENTRIES];
}

void MPIR_Session_cache_store(const char *name, struct MPIR_Session_made *made,
                              struct MPIR_Session_stamp stamp)
{
    const struct MPIR_Session_stamp now = MPIR_Session_stamp();

    if (!same(stamp, now) || strlen(name) > PMI_SET_NAME_MAX)
        return;
    free_what_does_not_hold(now);
    uint32_t hash = hash_of(name);
    struct cached **slot = find_entry(name, hash);
    if (*slot)
        MPIR_Session_made_release((*slot)->made);
    else
        *slot = MPL_malloc(sizeof(**slot), MPL_MEM_OTHER);
    if (!*slot)
        return;
    **slot = (struct cached) {
        .hash = hash,.stamp = stamp,.made = made
    };
    MPL_strncpy((*slot)->name, name, sizeof((*slot)->name));
    made->references++;
}
