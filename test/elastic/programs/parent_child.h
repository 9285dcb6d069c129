/*
 * The processes that parent.c starts: they talk with their parents, or end before they have
 * initialised MPI.
 */

#ifndef PARENT_CHILD_H_INCLUDED
#define PARENT_CHILD_H_INCLUDED

#include "elastic_test.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 4

static const char *program;
static int rank, size;

/* ---- messages sent early --------------------------------------------------------------------- */

#define WORDS 4
#define LONG_WORD 100000        /* integers */

static int long_word[LONG_WORD];

/* Each process of the world does this at the same time, some before the parent knows that there are
 * children: short and long, synchronous ones, and one with gaps. */
static void send_words(MPI_Comm parent, int to, MPI_Request words[WORDS])
{
    static int reported[2 * WORDS];
    MPI_Datatype gaps;

    for (int i = 0; i < 2 * WORDS; i++)
        reported[i] = 100 * rank + i;
    for (int i = 0; i < LONG_WORD; i++)
        long_word[i] = 100 * rank + i;
    ET_MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    ET_MPI(MPI_Type_commit(&gaps));
    ET_MPI(MPI_Isend(&reported[0], 1, MPI_INT, to, 8, parent, &words[0]));
    ET_MPI(MPI_Isend(long_word, LONG_WORD, MPI_INT, to, 8, parent, &words[1]));
    ET_MPI(MPI_Issend(&reported[1], 1, MPI_INT, to, 8, parent, &words[2]));
    ET_MPI(MPI_Isend(&reported[2], 1, gaps, to, 8, parent, &words[3]));
    ET_MPI(MPI_Type_free(&gaps));
}

static void receive_words(MPI_Comm children, int from)
{
    static int received[LONG_WORD];

    ET_MPI(MPI_Recv(received, 1, MPI_INT, from, 8, children, MPI_STATUS_IGNORE));
    ET_CHECK(received[0] == 100 * from, "%d from %d", received[0], from);
    ET_MPI(MPI_Recv(received, LONG_WORD, MPI_INT, from, 8, children, MPI_STATUS_IGNORE));
    for (int i = 0; i < LONG_WORD; i++)
        ET_CHECK(received[i] == 100 * from + i, "%d at %d from %d", received[i], i, from);
    ET_MPI(MPI_Recv(received, 1, MPI_INT, from, 8, children, MPI_STATUS_IGNORE));
    ET_CHECK(received[0] == 100 * from + 1, "%d from %d", received[0], from);
    ET_MPI(MPI_Recv(received, 2, MPI_INT, from, 8, children, MPI_STATUS_IGNORE));
    ET_CHECK(received[0] == 100 * from + 2 &&
             received[1] == 100 * from + 4, "%d and %d from %d", received[0], received[1], from);
}

static void exercise_merged(MPI_Comm inter, int is_high)
{
    MPI_Comm merged;

    ET_MPI(MPI_Intercomm_merge(inter, is_high, &merged));
    et_exercise(merged, "parents and children, merged");
    ET_MPI(MPI_Comm_free(&merged));
}

/* ---- sides that come late -------------------------------------------------------------------- */

/* The end that stalls in the exchange of sides.  The children send theirs after they have received
 * that of the parents. If the parents do not find that of the children, they make no call until the
 * children have ended. */
static enum { NOBODY, CHILDREN, PARENTS, PARENTS_AFTER_SIDE } stalls;

/* MPI uses these as well, in place of libc's. */
ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    struct pollfd other = {.fd = fd,.events = POLLIN };

    if (stalls != NOBODY && bytes >= 4 && !memcmp(data, "EMDS", 4)) {
        if (stalls == CHILDREN)
            ET_CHECK(poll(&other, 1, -1) == 1, "poll");
        stalls = stalls == PARENTS ? PARENTS_AFTER_SIDE : NOBODY;
    }
    return sendto(fd, data, bytes, flags, NULL, 0);
}

ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    ssize_t n = recvfrom(fd, data, bytes, flags, NULL, NULL);

    if (n < 0 && errno == EAGAIN && stalls == PARENTS_AFTER_SIDE) {
        stalls = NOBODY;
        et_await_file("aborts");
        et_sleep_ms(300);       /* that they have ended comes meanwhile, mostly */
        errno = EAGAIN;
    }
    return n;
}

/* ---- who is started -------------------------------------------------------------------------- */

/* Parent 1 answers, while parent 2 is in no MPI call. */
static void talk_early(MPI_Comm parent)
{
    MPI_Request words[2][WORDS];
    char name[32];

    send_words(parent, 2, words[1]);
    send_words(parent, 1, words[0]);
    ET_MPI(MPI_Waitall(WORDS, words[0], MPI_STATUSES_IGNORE));
    ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 1, 9, parent, MPI_STATUS_IGNORE));
    snprintf(name, sizeof(name), "answered-%d", rank);
    et_make_file(name);
    ET_MPI(MPI_Waitall(WORDS, words[1], MPI_STATUSES_IGNORE));
    exercise_merged(parent, 1);
}

/* To parent 1, who has not been notified that there is somebody. */
static void talk_unanswered(MPI_Comm parent)
{
    MPI_Request words[WORDS];

    ET_MPI(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));       /* that of MPI_Wait */
    send_words(parent, 1, words);
    et_make_file("sent");
    for (int i = 0; i < WORDS; i++)
        ET_ERROR(MPI_Wait(&words[i], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED, "ended");
    ET_ERROR(MPI_Send(long_word, 1, MPI_INT, 1, 8, parent), MPIX_ERR_PROC_FAILED, "ended");
    exit(5);
}

static int child(int argc, char **argv, const char *what)
{
    MPI_Comm parent = MPI_COMM_NULL;
    int position = (int) et_number(argc, argv, "position", 0), value, parents;

    if (!strcmp(what, "absent") && position == 1)
        return 7;
    if (!strcmp(what, "killed") && position == 1)
        kill(getpid(), SIGKILL);
    stalls = !strcmp(what, "aborts") ? CHILDREN : NOBODY;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    ET_CHECK(parent != MPI_COMM_NULL && parent == MPIX_COMM_PARENT, "no parent");
    ET_CHECK(rank == position, "rank %d is started by request %d", rank, position);
    ET_CHECK(!getenv("PMI_PARENT"), "its children would have parents of their own");
    MPI_Comm_remote_size(parent, &parents);
    ET_CHECK(getchar() == EOF, "there is input");
    et_exercise(MPI_COMM_WORLD, "the children");
    if (!strcmp(what, "aborts") && rank == size - 1) {
        et_make_file("aborts");
        MPI_Abort(MPI_COMM_WORLD, 23);
    }
    if (!strcmp(what, "waits")) {
        char name[32];
        snprintf(name, sizeof(name), "waits-%d", rank);
        et_make_file(name);
    }
    if (!strcmp(what, "aborts") || !strcmp(what, "waits"))
        pause();
    if (!strcmp(what, "early"))
        talk_early(parent);
    if (!strcmp(what, "unanswered"))
        talk_unanswered(parent);
    if (!strcmp(what, "receives"))
        ET_MPI(MPI_Recv(&value, 1, MPI_INT, 0, 4, parent, MPI_STATUS_IGNORE));
    et_exercise_inter(parent, 0, "parents and children");
    MPI_Comm_disconnect(&parent);
    ET_CHECK(MPIX_COMM_PARENT == MPI_COMM_NULL, "the parent is there");
    value = size == 1 ? 5 : 10 + rank;
    MPI_Finalize();
    return value;
}

#endif /* PARENT_CHILD_H_INCLUDED */
