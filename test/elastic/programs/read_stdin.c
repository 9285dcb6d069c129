/*
 * Standard input goes to rank 0 of the launch, before and after adaptations; the joining processes have
 * an empty one and do not take anything away.
 */

#include "elastic_test.h"

static int lines;

static void read_lines(int n)
{
    char line[256];

    for (int i = 0; i < n && fgets(line, sizeof(line), stdin); i++) {
        line[strcspn(line, "\n")] = '\0';
        et_say("READ epoch=%d %s", et.epoch, line);
        lines++;
    }
}

static void after(void)
{
    if (et.rank == 0)
        read_lines(10);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        ET_CHECK(fgetc(stdin) == EOF, "a joining process has standard input");
    else if (et.rank == 0)
        read_lines(10);
    et.after = after;
    et_loop();
    if (et.rank == 0)
        read_lines(1 << 30);
    return et_finish();
}
