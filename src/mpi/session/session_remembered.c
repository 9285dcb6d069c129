/*
 * What was told of process sets is remembered by their names, so that a look-up is local the second time.  SA1, SI3,
 * SI6, SI7, costs of Part A.
 *
 * An answer holds as long as the board's `forgets` is what it was before the question was sent: the step manager has
 * the daemon change it before anybody is told otherwise (stepmgr/psets/pset_invalidation.h).  It says which answers
 * may be remembered at all.  Members are ranks, so that a new world (MPIR_Adapt_epoch) is another reason to ask again.
 *
 * At most PLACES names; a new one takes the place of an old one.  What does not hold any more is freed when the next
 * answer is remembered, so that many changes need no more memory than one.  Owned by whichever thread holds the
 * library's critical section.
 */

#include "session.h"
#include "adapt.h"

#define PLACES 1024             /* a power of 2 */
#define TRIES 8                 /* places in which a name can be */

struct remembered {
    uint32_t hash;
    struct MPIR_Session_stamp stamp;
    struct MPIR_Session_made *made;
    char name[PMI_SET_NAME_MAX + 1];    /* as it was asked for: there may be two spellings */
};

static struct remembered *places[PLACES];

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
    const struct pmi_adapt_control *board = MPIR_Adapt_board_answered()? MPIR_Adapt_board_words() : NULL;

    return (struct MPIR_Session_stamp) {
        board ? __atomic_load_n(&board->forgets, __ATOMIC_ACQUIRE) : 0, MPIR_Adapt_epoch()
    };
}

static bool same(struct MPIR_Session_stamp one, struct MPIR_Session_stamp other)
{
    return one.forgets == other.forgets && one.epoch == other.epoch;
}

struct MPIR_Session_made *MPIR_Session_recall(const char *name, bool state_matters)
{
    if (!MPIR_Adapt_board_words())
        return NULL;            /* nothing has been asked */
    const struct MPIR_Session_stamp now = MPIR_Session_stamp();
    uint32_t hash = hash_of(name);

    for (uint32_t i = 0; i < TRIES; i++) {
        struct remembered *entry = places[(hash + i) % PLACES];
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
    for (uint32_t i = 0; i < PLACES; i++) {
        if (places[i] && !same(places[i]->stamp, now)) {
            MPIR_Session_made_release(places[i]->made);
            MPL_free(places[i]);
            places[i] = NULL;
        }
    }
    freed_until = now;
}

/* One of this name, or that is free; else that of another one. */
static struct remembered **find_place(const char *name, uint32_t hash)
{
    struct remembered **place = NULL;

    for (uint32_t i = 0; i < TRIES; i++) {
        struct remembered **at = &places[(hash + i) % PLACES];
        if (*at && (*at)->hash == hash && !strcmp((*at)->name, name))
            return at;
        if (!place && !*at)
            place = at;
    }
    return place ? place : &places[hash % PLACES];
}

void MPIR_Session_remember(const char *name, struct MPIR_Session_made *made, struct MPIR_Session_stamp stamp)
{
    const struct MPIR_Session_stamp now = MPIR_Session_stamp();

    if (!same(stamp, now) || strlen(name) > PMI_SET_NAME_MAX)
        return;
    free_what_does_not_hold(now);
    uint32_t hash = hash_of(name);
    struct remembered **place = find_place(name, hash);
    if (*place)
        MPIR_Session_made_release((*place)->made);
    else
        *place = MPL_malloc(sizeof(**place), MPL_MEM_OTHER);
    if (!*place)
        return;
    **place = (struct remembered) {
        .hash = hash,.stamp = stamp,.made = made
    };
    MPL_strncpy((*place)->name, name, sizeof((*place)->name));
    made->references++;
}
