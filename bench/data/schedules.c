/*
 * The processor time in which one process computes its schedule, without MPI.
 *
 *     schedules PROCESSES       a world of so many becomes one of 5/4 as many
 *
 * Prints a line of JSON for each layout: milliseconds of each of 15 schedules, of processes all
 * over the world, and the number of its runs.
 */

#include "../../src/adapt_data/schedule.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 15 };

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double) now.tv_sec + 1e-6 * (double) now.tv_nsec;
}

static int must(const char *error)
{
    if (error)
        fprintf(stderr, "schedules: %s\n", error);
    return error != NULL;
}

static int measure(const char *name, const MPIX_Adapt_layout *layout,
                   const struct adapt_roles *world)
{
    double ms[SAMPLES];
    long long runs = 0;

    for (int k = 0; k < SAMPLES; k++) {
        struct adapt_roles roles = *world;
        struct adapt_distribution old, coming;
        struct adapt_schedule schedule;
        roles.old_rank = roles.new_rank = (int) ((long long) world->old_size * k / SAMPLES);
        double start = cpu_ms();
        if (must(adapt_distribution_make(&old, layout, world->old_size, NULL, NULL)) ||
            must(adapt_distribution_make(&coming, layout, world->new_size, NULL, NULL)) ||
            must(adapt_schedule_make(&schedule, &old, &coming, &roles)))
            return 1;
        ms[k] = cpu_ms() - start;
        runs = schedule.retained_from_runs + schedule.retained_to_runs;
        for (int peer = 0; peer < schedule.send.peer_count; peer++)
            runs += schedule.send.peers[peer].runs;
        for (int peer = 0; peer < schedule.receive.peer_count; peer++)
            runs += schedule.receive.peers[peer].runs;
        adapt_schedule_clear(&schedule);
        adapt_distribution_clear(&old);
        adapt_distribution_clear(&coming);
    }
    printf("{\"layout\":\"%s\",\"runs\":%lld,\"ms\":[", name, runs);
    for (int k = 0; k < SAMPLES; k++)
        printf("%s%.4g", k ? "," : "", ms[k]);
    printf("]}\n");
    return 0;
}

int main(int argc, char **argv)
{
    const int old_size = argc > 1 ? atoi(argv[1]) : 1000000, new_size = old_size / 4 * 5;
    int *ranks = malloc(((size_t) old_size + (size_t) new_size) * sizeof(int));

    if (!ranks || old_size < SAMPLES)
        return 2;
    for (int rank = 0; rank < old_size; rank++)
        ranks[rank] = rank;
    for (int rank = 0; rank < new_size; rank++)
        ranks[old_size + rank] = rank;
    const struct adapt_roles world = {.old_size = old_size,.new_size = new_size,
                                      .new_rank_of = ranks,
        .process_of_new = ranks + old_size
    };
    const MPIX_Adapt_layout block = MPIX_Layout_block(1000 * (int64_t) old_size);
    const MPIX_Adapt_layout cyclic = MPIX_Layout_block_cyclic(1000 * (int64_t) old_size, 10);
    const MPIX_Adapt_layout same = MPIX_Layout_same(1000);
    int bad = measure("block", &block, &world) || measure("block_cyclic", &cyclic, &world) ||
        measure("same", &same, &world);
    free(ranks);
    return bad;
}
