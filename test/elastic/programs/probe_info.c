/*
 * P2: TRUE comes with STAYING or LEAVING and an info object of the caller's own whose keys tell the
 * same as begin does.  P5: until begin, TRUE stays TRUE with the same content, whatever the
 * application does on the old world in between.
 */

#include "elastic_test.h"
#include <errno.h>

static struct content {
    int status;
    char keys[1024];
} first;
static long said_epoch, said_staying, said_leaving, said_joining, said_size;

static void get(MPI_Info info, const char *key, char *value, int bytes)
{
    int flag = 0;

    ET_MPI(MPI_Info_get(info, key, bytes - 1, value, &flag));
    ET_CHECK(flag, "no key %s in the info object of the probe", key);
}

static long number(MPI_Info info, const char *key)
{
    char value[64] = "", *end;
    long n;

    get(info, key, value, sizeof(value));
    errno = 0;
    n = strtol(value, &end, 10);
    ET_CHECK(end != value && *end == '\0' && errno == 0, "key %s is '%s'", key, value);
    return n;
}

/* All keys and values as one text, so that two answers can be compared. */
static struct content ask(int without_info)
{
    struct content c = { 0 };
    MPI_Info info = MPI_INFO_NULL;
    char reason[256] = "", deadline[64] = "";
    int pending = -1;

    ET_MPI(MPI_Probe_adapt(&pending, &c.status, without_info ? NULL : &info));
    ET_CHECK(pending == MPI_ADAPT_TRUE, "TRUE was taken back");
    if (without_info)
        return c;
    ET_CHECK(info != MPI_INFO_NULL, "TRUE without an info object");
    said_epoch = number(info, "epoch");
    said_staying = number(info, "staying");
    said_leaving = number(info, "leaving");
    said_joining = number(info, "joining");
    said_size = number(info, "new_size");
    get(info, "reason", reason, sizeof(reason));
    get(info, "deadline", deadline, sizeof(deadline));
    snprintf(c.keys, sizeof(c.keys), "%ld %ld %ld %ld %ld %s %s", said_epoch, said_staying,
             said_leaving, said_joining, said_size, reason, deadline);
    ET_MPI(MPI_Info_set(info, "epoch", "not yours"));   /* a new object each time: no harm done */
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(info == MPI_INFO_NULL, "the info object cannot be freed");
    return c;
}

static void before(void)
{
    first = ask(0);
    ET_CHECK(first.status == et.status, "status %d, before it was %d", first.status, et.status);
    for (int i = 0; i < 200; i++) {
        struct content again = ask(0);
        ET_CHECK(again.status == first.status && strcmp(again.keys, first.keys) == 0,
                 "the content changed from '%s' to '%s'", first.keys, again.keys);
        again = ask(1);
        ET_CHECK(again.status == first.status, "status %d without info", again.status);
        if (i % 50 == 0)
            et_exercise(MPI_COMM_WORLD, "the old world between TRUE and begin");
    }
    ET_CHECK(said_epoch == et.epoch + 1, "epoch %ld, the last was %d", said_epoch, et.epoch);
    ET_CHECK(said_size == said_staying + said_joining, "%ld stay, %ld join, new size %ld",
             said_staying, said_joining, said_size);
}

static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        return;
    ET_CHECK(said_staying == et.staying && said_leaving == et.leaving && said_joining == et.joining,
             "probe said %ld %ld %ld, begin says %d %d %d", said_staying, said_leaving,
             said_joining, et.staying, et.leaving, et.joining);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.before = before;
    et.window = window;
    return et_run();
}
