/*
 * The descriptor that a joining process names for the host's shared memory may be another file by
 * the time somebody opens it: that file is not touched, and the adaptation is withdrawn.  A thread
 * of the first joining process puts an ordinary file, `victim`, instead; the second one lets it,
 * and only then makes the adaptation go on.  The others probe until the file `stop` is there.
 */

#include "elastic_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* The descriptor behind which this memory file is, or -1. */
static int find_descriptor(const char *name)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    char path[300], target[256];
    int found = -1;

    while (folder && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        target[length < 0 ? 0 : length] = '\0';
        if (strstr(target, name))
            found = atoi(entry->d_name);
    }
    closedir(folder);
    return found;
}

static void *replace(void *unused)
{
    int fd, victim = open("victim", O_RDWR);

    ET_CHECK(victim >= 0, "no file to put there");
    while ((fd = find_descriptor("memfd:mpich-adapt")) < 0)
        usleep(1000);
    usleep(50000);      /* what it is has been written down by then */
    ET_CHECK(dup2(victim, fd) == fd, "cannot put a file there");
    et_make_file("replaced");
    return unused;
}

int main(int argc, char **argv)
{
    int stop = 0;
    pthread_t thread;

    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        if (et.rank == 0)
            ET_CHECK(pthread_create(&thread, NULL, replace, NULL) == 0, "no thread");
        else
            et_await_file("replaced");
        et_begin();             /* ended in there */
        ET_CHECK(0, "begin came back");
    }
    while (!stop) {
        et_idle();
        ET_CHECK(!et_probe(), "the adaptation was not withdrawn");
        stop = access("stop", F_OK) == 0;
        ET_MPI(MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
    return et_finish();
}
