/*
 * P2: TRUE comes with STAYING or LEAVING and an info object of the caller's own whose keys state
 * the same as begin does.  P5: until begin, TRUE stays TRUE with the same content, whatever the
 * application does on the old world in between.
 */

#include "elastic_test.h"
#include <errno.h>

static struct content {
    int status;
    char keys[1024];
} first;
static long epoch_reported, staying_reported, leaving_reported, joining_reported, size_reported;

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
static struct content query(int without_info)
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
    epoch_reported = number(info, "epoch");
    staying_reported = number(info, "staying");
    leaving_reported = number(info, "leaving");
    joining_reported = number(info, "joining");
    size_reported = number(info, "new_size");
    get(info, "reason", reason, sizeof(reason));
    get(info, "deadline", deadline, sizeof(deadline));
    snprintf(c.keys, sizeof(c.keys), "%ld %ld %ld %ld %ld %s %s", epoch_reported, staying_reported,
             leaving_reported, joining_reported, size_reported, reason, deadline);
    ET_MPI(MPI_Info_set(info, "epoch", "not yours"));   /* a new object each time: no harm done */
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(info == MPI_INFO_NULL, "the info object cannot be freed");
    return c;
}

static void before(void)
{
    first = query(0);
    ET_CHECK(first.status == et.status, "status %d, before it was %d", first.status, et.status);
    for (int i = 0; i < 200; i++) {
        struct content again = query(0);
        ET_CHECK(again.status == first.status && strcmp(again.keys, first.keys) == 0,
                 "the content changed from '%s' to '%s'", first.keys, again.keys);
        again = query(1);
        ET_CHECK(again.status == first.status, "status %d without info", again.status);
        if (i % 50 == 0)
            et_exercise(MPI_COMM_WORLD, "the old world between TRUE and begin");
    }
    ET_CHECK(epoch_reported == et.epoch + 1, "epoch %ld, the last was %d", epoch_reported,
             et.epoch);
    ET_CHECK(size_reported == staying_reported + joining_reported,
             "%ld stay, %ld join, new size %ld", staying_reported, joining_reported, size_reported);
}

static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        return;
    ET_CHECK(staying_reported == et.staying && leaving_reported == et.leaving &&
             joining_reported == et.joining, "probe returned %ld %ld %ld, begin %d %d %d",
             staying_reported, leaving_reported, joining_reported, et.staying, et.leaving,
             et.joining);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.before = before;
    et.window = window;
    return et_run();
}
