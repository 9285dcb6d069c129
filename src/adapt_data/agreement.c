/* See agreement.h. */

#include "agreement.h"

#include <stdio.h>
#include <string.h>
#include "failure.h"

static const char NOTHING_MOVED[] = "nothing has moved";

#define MANY 512                /* numbers of a list that are compared at a time */

/* ---- hashes ---------------------------------------------------------------------------------- */

int64_t adapt_mix(int64_t hash, int64_t number)
{
    const uint64_t mixed = ((uint64_t) hash ^ (uint64_t) number) * UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t) ((mixed ^ mixed >> 29) >> 1);
}

int64_t adapt_mix_all(int64_t hash, const int64_t numbers[], int64_t count)
{
    hash = adapt_mix(hash, count);
    for (int64_t k = 0; k < count; k++)
        hash = adapt_mix(hash, numbers[k]);
    return hash;
}

int64_t adapt_mix_text(int64_t hash, const char *text)
{
    for (; *text; text++)
        hash = adapt_mix(hash, (unsigned char) *text + 1);
    return adapt_mix(hash, 0);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *role_of(const struct adapt_channel *channel, int process, int *number)
{
    const bool is_old = process < channel->old_size;

    *number = is_old ? process : process - channel->old_size;
    return is_old ? "old rank" : "joining process";
}

static void append(char *message, size_t capacity, const char *text, int more, const char *role,
                   int number)
{
    const size_t length = strlen(message);

    if (more > 0)
        snprintf(message + length, capacity - length, "%s on %s %d and %d more", text, role, number,
                 more);
    else
        snprintf(message + length, capacity - length, "%s on %s %d", text, role, number);
}

/* Writes the text of process 0, that of the first process with another text, and how many others
 * have each. */
static int list_texts(struct adapt_channel *channel, const char *text, char *message,
                      size_t capacity)
{
    char first[AGREEMENT_TEXT], second[AGREEMENT_TEXT];
    int rank, processes, other, counts[2], number;

    MPI_Comm_rank(channel->all, &rank);
    MPI_Comm_size(channel->all, &processes);
    snprintf(first, sizeof(first), "%s", text);
    int code = MPI_Bcast(first, AGREEMENT_TEXT, MPI_CHAR, 0, channel->all);
    const bool is_first = strncmp(first, text, AGREEMENT_TEXT - 1) == 0;
    other = is_first ? processes : rank;
    if (!code)
        code = MPI_Allreduce(MPI_IN_PLACE, &other, 1, MPI_INT, MPI_MIN, channel->all);
    if (code || other == processes)
        return code;
    snprintf(second, sizeof(second), "%s", text);
    code = MPI_Bcast(second, AGREEMENT_TEXT, MPI_CHAR, other, channel->all);
    counts[0] = is_first;
    counts[1] = !is_first && strncmp(second, text, AGREEMENT_TEXT - 1) == 0;
    if (!code)
        code = MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT, MPI_SUM, channel->all);
    const char *role = role_of(channel, 0, &number);
    append(message, capacity, first, counts[0] - 1, role, number);
    role = role_of(channel, other, &number);
    strncat(message, ", ", capacity - strlen(message) - 1);
    append(message, capacity, second, counts[1] - 1, role, number);
    if (counts[0] + counts[1] < processes)
        strncat(message, ", others elsewhere", capacity - strlen(message) - 1);
    return code;
}

int adapt_refuse_difference(struct adapt_channel *channel, const char *function, const char *what,
                            const char *text)
{
    char message[3 * AGREEMENT_TEXT] = "";

    int code = list_texts(channel, text, message, sizeof(message));
    return code ? code : adapt_fail(MPI_ERR_ARG,
                                    "%s: processes differ in %s: %s; nothing has moved", function,
                                    what, message);
}

static int refuse_calls(struct adapt_channel *channel, const struct adapt_proposal *mine)
{
    char message[3 * AGREEMENT_TEXT] = "", text[AGREEMENT_TEXT];

    if (mine->object)
        snprintf(text, sizeof(text), "%s of '%.100s'", adapt_called(mine->function), mine->object);
    else
        snprintf(text, sizeof(text), "%s", adapt_called(mine->function));
    int code = list_texts(channel, text, message, sizeof(message));
    return code ? code : adapt_fail(MPI_ERR_ARG,
                                    "%s: processes are in different calls: %s; %s.  All processes "
                                    "of a window, also the joining ones, must make the same calls "
                                    "in the same order", mine->function, message, NOTHING_MOVED);
}

enum { LEVEL_NO_MEMORY = 1, LEVEL_WEAK, LEVEL_WRONG };

/* A greater value is a worse error: wrong use before lack of memory, then the lowest order, then
 * the lowest process. */
static int64_t severity(const struct adapt_channel *channel, const struct adapt_proposal *mine)
{
    int rank;

    if (!mine->error)
        return 0;
    MPI_Comm_rank(channel->all, &rank);
    const int level = mine->error_class == MPI_ERR_NO_MEM ? LEVEL_NO_MEMORY : mine->is_weak
        ? LEVEL_WEAK : LEVEL_WRONG;
    return (int64_t) level << 48 |
        (int64_t) (0xffff - (mine->order & 0xffff)) << 32 | (INT32_MAX - rank);
}

/* Returns the error of one process, on all. */
static int refuse_worst(struct adapt_channel *channel, const struct adapt_proposal *mine,
                        int64_t worst)
{
    const int process = INT32_MAX - (int) (worst & INT32_MAX);
    char text[AGREEMENT_TEXT];
    int number;

    snprintf(text, sizeof(text), "%s", mine->error ? mine->error : "");
    int code = MPI_Bcast(text, AGREEMENT_TEXT, MPI_CHAR, process, channel->all);
    const char *role = role_of(channel, process, &number);
    return code ? code : adapt_fail(worst >> 48 > LEVEL_NO_MEMORY ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                                    "%s: %s (%s %d); %s", mine->function, text, role, number,
                                    mine->moved ? mine->moved : NOTHING_MOVED);
}

/* ---- the agreement --------------------------------------------------------------------------- */

int adapt_agree_on_call(struct adapt_channel *channel, const struct adapt_proposal *mine,
                        struct adapt_agreed *agreed)
{
    enum { KIND, KIND_MIN, WORST, CHUNK, TERMS, TERMS_MIN, WORDS };
    int64_t words[WORDS] = { mine->kind, -(int64_t) mine->kind, severity(channel, mine),
        -mine->chunk, mine->terms, -mine->terms
    };

    int code = MPI_Allreduce(MPI_IN_PLACE, words, WORDS, MPI_INT64_T, MPI_MAX, channel->all);
    if (code)
        return code;
    if (words[KIND] != -words[KIND_MIN])
        return refuse_calls(channel, mine);
    const bool differ = words[TERMS] != -words[TERMS_MIN];
    if (words[WORST] > 0 && !(differ && words[WORST] >> 48 == LEVEL_WEAK))
        return refuse_worst(channel, mine, words[WORST]);
    *agreed = (struct adapt_agreed) {.chunk = -words[CHUNK],.terms_differ = differ };
    return MPI_SUCCESS;
}

int adapt_find_difference(struct adapt_channel *channel, const int64_t numbers[], int64_t count,
                          int64_t *index)
{
    int64_t root_count = count, found, buffer[MANY];
    int rank;

    MPI_Comm_rank(channel->all, &rank);
    int code = MPI_Bcast(&root_count, 1, MPI_INT64_T, 0, channel->all);
    found = count == root_count ? INT64_MAX : count < root_count ? count : root_count;
    for (int64_t from = 0; !code && from < root_count; from += MANY) {
        const int many = root_count - from < MANY ? (int) (root_count - from) : MANY;
        if (rank == 0)
            memcpy(buffer, numbers + from, (size_t) many * sizeof(int64_t));
        code = MPI_Bcast(buffer, many, MPI_INT64_T, 0, channel->all);
        for (int k = 0; !code && k < many && from + k < count && from + k < found; k++)
            if (buffer[k] != numbers[from + k])
                found = from + k;
    }
    if (!code)
        code = MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT64_T, MPI_MIN, channel->all);
    *index = found == INT64_MAX ? -1 : found;
    return code;
}
