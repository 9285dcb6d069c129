/*
 * Common to the conformance programs: checks that state who failed and where, and the usual life of
 * an elastic program (probe, begin, commit) with the general clauses checked on the way.
 *
 * State is one object per process, `et`, owned by elastic_test.c; a program is single threaded
 * unless it states otherwise, and then only its main thread calls et_ functions.  A failed check
 * ends the whole job with exit code ET_FAILED: no program prints PASS after a failure.
 */

#ifndef ELASTIC_TEST_H_INCLUDED
#define ELASTIC_TEST_H_INCLUDED

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ET_FAILED 99

/* Identity of a process, for comparing orders across communicators (host and process number). */
typedef uint64_t et_identity;

struct et_state {
    /* command line: --epochs N --seed N --light --patience SECONDS; others stay in argv */
    int epochs;                 /* adaptations that this run must see */
    unsigned seed;
    int light;                  /* no general checks: for counting resources */
    double patience_s;          /* how long to wait for an adaptation before the run has failed */
    int report;                 /* 0: no JOINED and LEFT lines (the program counts other things) */

    int status;                 /* of this process: NEW, JOINING, and later STAYING or LEAVING */
    int rank, size;             /* of MPI_COMM_WORLD now */
    int epoch;                  /* adaptations that this world has seen */
    long step;                  /* iterations of the application, the same on all after a commit */
    long probes;                /* probe calls since start or last commit */

    /* the window, valid from begin to commit */
    int in_window;
    MPI_Comm inter, next;
    int staying, leaving, joining;
    et_identity *order;         /* expected members of the new world, in order */
    et_identity *old_order;     /* pre-existing processes, in order; then the joining ones */
    int *old_leaves;            /* which of them leave */

    /* what the program does, each may be NULL */
    void (*compute) (void);     /* one iteration; default: et_idle */
    void (*before) (void);      /* TRUE was seen, begin not yet called (not on joining ones) */
    void (*window) (void);      /* between begin and commit */
    void (*after) (void);       /* committed; not on leaving processes */
};
extern struct et_state et;

/* ---- checks ---------------------------------------------------------------- */
void et_fail(const char *file, int line, const char *what, const char *format, ...)
    __attribute__ ((noreturn, format(printf, 4, 5)));
void et_fail_mpi(const char *file, int line, const char *call, int error)
    __attribute__ ((noreturn));

#define ET_CHECK(condition, ...) \
    do { \
        if (!(condition)) \
            et_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)
#define ET_MPI(call) \
    do { \
        int et_error_ = (call); \
        if (et_error_ != MPI_SUCCESS) \
            et_fail_mpi(__FILE__, __LINE__, #call, et_error_); \
    } while (0)
/* The call must fail with this class and a message that holds the word (any case; NULL: any). */
#define ET_ERROR(call, class, word) et_expect_error(__FILE__, __LINE__, #call, (call), class, word)
void et_expect_error(const char *file, int line, const char *call, int error, int class,
                     const char *word);

/* ---- the life of an elastic program ---------------------------------------------------------- */
void et_options(int *argc, char ***argv);
void et_init(int *argc, char ***argv);  /* MPI_Init_adapt; et.status is the result */
void et_init_thread(int *argc, char ***argv, int required);
int et_probe(void);             /* 1: an adaptation is agreed */
void et_begin(void);            /* begin, with all general checks; joining ones get the state */
void et_commit(void);           /* does not return on leaving processes */
void et_adapt(void);            /* begin, et.window, commit, et.after */
void et_loop(void);             /* until et.epoch == et.epochs */
int et_finish(void);            /* last world: reports PASS, finalises; returns 0 */
int et_run(void);               /* et_loop and et_finish */
/* All processes call it: what the test is about cannot be tried here.  It finalises and ends the
 * process, and the test counts as skipped. */
void et_skip(const char *why) __attribute__ ((noreturn));
void et_world_changed(void);    /* reads rank and size anew */

/* ---- helpers ---------------------------------------------------------------- */
et_identity et_who(void);
double et_seconds(void);        /* monotonic */
void et_sleep_ms(double ms);
void et_spin_ms(double ms);     /* computes */
/* An iteration without communication of its own.  It calls MPI once, since MPICH carries messages
 * (and a slow process' MPI_Init) on in MPI calls only, and a probe is none of those. */
void et_idle(void);
/* Waits for a file to exist; fails after et.patience_s. */
void et_await_file(const char *path);
void et_make_file(const char *path);
/* --name VALUE or --name=VALUE in what is left of argv; def when missing. */
const char *et_argument(int argc, char **argv, const char *name, const char *def);
long et_number(int argc, char **argv, const char *name, long def);
/* Every byte encodes sender, tag and position, so that a wrong or torn message is seen. */
void et_fill(void *buffer, size_t bytes, int from, int tag);
void et_verify(const void *buffer, size_t bytes, int from, int tag, const char *what);
/* Barrier, allreduce, broadcast and a ring of messages on an intracommunicator. */
void et_exercise(MPI_Comm comm, const char *name);
/* Broadcast and messages both ways between the two groups. */
void et_exercise_inter(MPI_Comm inter, int in_first_group, const char *name);
/* Of a performance variable of MPI_T, of class level, that is one number. */
MPI_T_pvar_handle et_open_variable(MPI_T_pvar_session session, const char *name);
unsigned et_random(unsigned *state);
/* One line on standard output in one write. */
void et_log(const char *format, ...) __attribute__ ((format(printf, 1, 2)));

#endif /* ELASTIC_TEST_H_INCLUDED */
