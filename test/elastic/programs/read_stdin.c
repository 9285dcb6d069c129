/*
 * Standard input goes to rank 0 of the launch, before and after adaptations; the joining processes
 * have an empty one and do not take anything away.
 */

#include "elastic_test.h"
#include <poll.h>
#include <unistd.h>

static int lines;

static void read_lines(int n)
{
    char line[256];

    for (int i = 0; i < n && fgets(line, sizeof(line), stdin); i++) {
        line[strcspn(line, "\n")] = '\0';
        et_log("READ epoch=%d %s", et.epoch, line);
        lines++;
    }
}

static void nothing_to_read(void)
{
    struct pollfd input = {.fd = STDIN_FILENO,.events = POLLIN };
    char byte;

    if (poll(&input, 1, 0) == 1 && (input.revents & POLLIN))
        ET_CHECK(read(STDIN_FILENO, &byte, 1) <= 0, "a joining process has standard input");
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
        nothing_to_read();
    else if (et.rank == 0)
        read_lines(10);
    et.after = after;
    et_loop();
    if (et.rank == 0)
        read_lines(1 << 30);
    return et_finish();
}
