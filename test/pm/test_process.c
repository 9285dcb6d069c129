/*
 * Plays an adaptive MPI process by raw PMI and the adapt board, without libmpi, so that mpiexec,
 * the proxies and the board can be tested alone.  SPEC I1, I2 (less communication), P1, P3, P4, P6,
 * W1-W4, C1, C3 as far as they are the process manager's.
 *
 *   test_process [key=value ...]
 *     probes=N       end after N adaptations (0: none, run for `seconds`); the world then ends
 *                    together, by a count of commits that all members share
 *     seconds=S      end S seconds after start at the latest, default 20
 *     probe_us=U     computing time between two probes, default 200
 *     slow=F         ranks with an odd uid compute F times longer
 *     mode=rigid     states that it is rigid and never probes
 *     fail=WHERE     the joining process with the lowest uid ends in a bad way: start (before PMI
 *                    init), ready (instead of waiting), window (between plan and commit); it ends
 *                    by SIGKILL, or by exit code with code=N
 *     fail_epoch=E   in which epoch it fails, default 1
 *     verbose=1      a line for each event
 *     stdin=1        rank 0 of the world echoes a line of standard input per commit
 *     end=N          processes that joined and are still members at the end exit with code N
 *     usr1=1         prints a line when SIGUSR1 comes
 *     term=WHAT      when SIGTERM or SIGINT comes: hang (wait for a lock that nobody gives, in the
 *                    handler, with term_at=init before the process has introduced itself), ignore,
 *                    or N: end well N seconds later
 *     delay=S        joining processes wait S seconds before they do anything
 *     card=N         gives an address of N bytes, at most 400
 *     spill=KB       a child of each process prints as much, in lines of 1 KB with uid and number:
 *                    of launched ones when they are adaptive, of joining ones from the start
 *     spill_from=E   only processes of epoch E or later do so
 *     stop=1         uid 0 stops mpiexec, its proxy's parent, before it introduces itself
 *
 * Its world is as in the plans.  In the window all processes synchronise (through a shared file
 * that is named after mpiexec's pid, so all must be on one machine); real communication is libmpi's
 * business.  Exit code 0, or 2 with a message if the protocol is broken: a target passed, a TRUE at
 * another count than the limit's, a plan that does not hold us, an epoch out of order.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "pmi_adapt.h"
#include "pmi_adapt_plan.h"

static struct {
    long probes;
    double seconds, slow;
    long probe_us, code, fail_epoch, verbose, echo, end, usr1, delay, card, spill, spill_from, stop;
    int rigid;
    const char *fail, *term;
    int term_at_init;
} options = {.seconds = 20,.slow = 1,.probe_us = 200,.fail_epoch = 1 };

static int pmi = -1, pmi_rank, pmi_size;
static int board_fd = -1;
static unsigned slot, uid, join_epoch, pre;
static struct pmi_adapt_control *board;
static struct pmi_adapt_slot *me;
static unsigned last_epoch;     /* committed */
static int world_rank, world_size;
static double start;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void die(const char *format, ...) __attribute__ ((noreturn, format(printf, 1, 2)));
static void die(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fprintf(stderr, "test_process uid %u: ", uid);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    exit(2);
}

static void note(const char *format, ...) __attribute__ ((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    char text[512];
    va_list list;

    if (!options.verbose)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    printf("uid %u: %s\n", uid, text);
    fflush(stdout);
}

/* ---- PMI ------------------------------------------------------------------------------------- */

static void send_line(const char *format, ...) __attribute__ ((format(printf, 1, 2)));
static void send_line(const char *format, ...)
{
    char line[4096];
    va_list list;

    va_start(list, format);
    int n = vsnprintf(line, sizeof(line), format, list);
    if (n < 0 || n >= (int) sizeof(line) || write(pmi, line, (size_t) n) != n)
        die("unable to write a PMI command");
}

/* One line, which must begin with `expected`. */
static void receive_line(const char *expected, char *line, size_t bytes)
{
    size_t n = 0;

    while (n + 1 < bytes && read(pmi, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    if (strncmp(line, expected, strlen(expected)))
        die("expected %s, got %s", expected, line);
}

static void query(const char *command, const char *expected)
{
    char line[2048];

    send_line("%s\n", command);
    receive_line(expected, line, sizeof(line));
}

static int environment(const char *name)
{
    const char *text = getenv(name);

    if (!text)
        die("no %s in the environment", name);
    return atoi(text);
}

static void pmi_init(void)
{
    char line[2048], group[PMI_ADAPT_GROUP_MAX];

    pmi = environment("PMI_FD");
    pmi_rank = environment("PMI_RANK");
    pmi_size = environment("PMI_SIZE");
    query("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init");
    send_line("cmd=get_my_kvsname\n");
    receive_line("cmd=my_kvsname", line, sizeof(line));
    if (sscanf(line, "cmd=my_kvsname kvsname=%255s", group) != 1)
        die("no key-value space in %s", line);
    if (board && strcmp(group, board->group))
        die("the board belongs to group %s, we to %s", board->group, group);
    query("cmd=get key=PMI_process_mapping", "cmd=get_result rc=0");
    query("cmd=barrier_in", "cmd=barrier_out");
}

static void pmi_finalize(void)
{
    query("cmd=finalize", "cmd=finalize_ack");
    close(pmi);
}

/* ---- board ----------------------------------------------------------------------------------- */

static void open_board(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    int version;
    unsigned local_pre;
    struct stat found;

    if (!text)
        die("no %s in the environment", PMI_ADAPT_ENV);
    if (sscanf(text, "version=%d fd=%d slot=%u uid=%u epoch=%u pre=%u local_pre=%u", &version,
               &board_fd, &slot, &uid, &join_epoch, &pre, &local_pre) != 7 ||
        version != PMI_ADAPT_VERSION)
        die("%s=%s", PMI_ADAPT_ENV, text);
    if (fstat(board_fd, &found) < 0)
        die("no board: %s", strerror(errno));
    board = mmap(NULL, (size_t) found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, board_fd, 0);
    if (board == MAP_FAILED || board->magic != PMI_ADAPT_MAGIC || slot >= board->slots)
        die("bad board");
    me = (struct pmi_adapt_slot *) ((char *) board + board->slots_offset) + slot;
    last_epoch = join_epoch;
}

static void set_phase(enum pmi_adapt_phase phase)
{
    __atomic_store_n(&me->phase, (uint32_t) phase, __ATOMIC_SEQ_CST);
}

static void wait_wake(uint32_t seen)
{
    struct timespec second = { 1, 0 };

    syscall(SYS_futex, &board->wake, FUTEX_WAIT, seen, &second, NULL, 0);
    if (now() - start > options.seconds + 60)
        die("waited too long on the board");
}

static uint32_t load32(const uint32_t * word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static int probe(void)
{
    uint64_t n = me->count + 1, limit;

    __atomic_store_n(&me->count, n, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (n < __atomic_load_n(&board->gate, __ATOMIC_SEQ_CST))
        return 0;
    for (;;) {
        uint32_t seen = load32(&board->wake);
        if (load32(&board->epoch) < last_epoch)
            break;
        uint32_t agreed = load32(&board->agreed);
        limit = __atomic_load_n(&board->limit, __ATOMIC_SEQ_CST);
        if (n < limit)
            break;
        if (agreed == last_epoch + 1) {
            if (n != limit)
                die("TRUE at probe %llu, agreed on %llu", (unsigned long long) n,
                    (unsigned long long) limit);
            set_phase(PMI_ADAPT_PHASE_TOLD);
            return 1;
        }
        set_phase(PMI_ADAPT_PHASE_WAITING);
        wait_wake(seen);
    }
    set_phase(PMI_ADAPT_PHASE_RUNNING);
    return 0;
}

static struct pmi_adapt_plan *map_plan(size_t * bytes)
{
    *bytes = (size_t) board->plan_bytes;
    struct pmi_adapt_plan *plan = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, board_fd,
                                       (off_t) board->plan_offset);
    if (plan == MAP_FAILED || !pmi_adapt_plan_holds(plan, *bytes))
        die("bad plan");
    if (plan->epoch != (join_epoch > last_epoch ? join_epoch : last_epoch + 1) &&
        plan->epoch != last_epoch)
        die("plan of epoch %u after %u", plan->epoch, last_epoch);
    return plan;
}

#define CARD_MAX 400

static void write_address(char card[CARD_MAX + 1], unsigned whose)
{
    int n = snprintf(card, CARD_MAX + 1, "address-of-%u", whose);

    while (n < options.card && n < CARD_MAX)
        card[n++] = '.';
    card[n] = 0;
}

static void check_address(const struct pmi_adapt_plan *plan, const struct pmi_adapt_member *m)
{
    char expected[CARD_MAX + 1];

    write_address(expected, m->uid);
    if (m->bc_bytes != strlen(expected) ||
        memcmp((const char *) plan + m->bc_offset, expected, m->bc_bytes))
        die("wrong card of uid %u in the plan", m->uid);
}

/* ---- barrier in the window, for want of communication ---------------------------------------- */

#define EPOCHS_MAX 65536

static char rendezvous_name[256];
static uint32_t *arrived;       /* processes that have arrived, by epoch */

static void open_rendezvous(void)
{
    int mpiexec;
    size_t bytes = EPOCHS_MAX * sizeof(*arrived);

    if (sscanf(board->group, "kvs_%d_", &mpiexec) != 1)
        die("group %s does not contain the pid of mpiexec", board->group);
    /* the harness removes its folder, also after a job that was killed */
    const char *folder = getenv("ELASTIC_PM_TEST");
    snprintf(rendezvous_name, sizeof(rendezvous_name), "%s/test_process-%d",
             folder ? folder : "/dev/shm", mpiexec);
    int fd = open(rendezvous_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t) bytes) < 0)
        die("unable to open %s: %s", rendezvous_name, strerror(errno));
    arrived = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arrived == MAP_FAILED)
        die("unable to map %s: %s", rendezvous_name, strerror(errno));
    close(fd);
}

static void wait_for_members(unsigned epoch, unsigned members)
{
    double limit = now() + 60;

    if (epoch >= EPOCHS_MAX)
        die("too many epochs");
    __atomic_add_fetch(&arrived[epoch], 1, __ATOMIC_SEQ_CST);
    while (load32(&arrived[epoch]) < members) {
        if (now() > limit)
            die("alone in the window of epoch %u", epoch);
        usleep(200);
    }
}

static void fail_here(const char *where, unsigned epoch)
{
    if (!options.fail || strcmp(options.fail, where) || epoch != (unsigned) options.fail_epoch ||
        join_epoch != epoch || environment("PMI_RANK") != 0)
        return;
    note("failing at %s", where);
    if (options.code)
        _exit((int) options.code);
    raise(SIGKILL);
}

/* As a process does that has nothing to report first, or, every other one, as one that has. */
static void count_committed(unsigned epoch)
{
    if (uid % 2)
        send_line("cmd=adapt_committed epoch=%u\n", epoch);
    else
        __atomic_add_fetch(&board->committed, 1, __ATOMIC_SEQ_CST);
}

/* Begin and commit.  Returns whether we stay. */
static int window(void)
{
    size_t bytes;
    struct pmi_adapt_plan *plan = map_plan(&bytes);
    const struct pmi_adapt_member *m =
        (const struct pmi_adapt_member *) ((char *) plan + plan->members_offset);
    unsigned epoch = plan->epoch, members = plan->pre + plan->joining, rank = 0;
    int mine = -1, new_rank = -1;

    set_phase(PMI_ADAPT_PHASE_WINDOW);
    for (unsigned k = 0; k < members; k++) {
        check_address(plan, &m[k]);
        if (((m[k].flags & PMI_ADAPT_MEMBER_JOINING) != 0) != (k >= plan->pre))
            die("member %u of %u is misplaced in the plan", k, members);
        if (m[k].uid == uid) {
            mine = (int) k;
            new_rank = m[k].flags & PMI_ADAPT_MEMBER_LEAVING ? -1 : (int) rank;
        }
        if (!(m[k].flags & PMI_ADAPT_MEMBER_LEAVING))
            rank++;
    }
    if (mine < 0)
        die("the plan of epoch %u does not name us", epoch);
    if (rank != plan->pre + plan->joining - plan->leaving)
        die("counts of the plan do not add up");
    fail_here("window", epoch);
    set_phase(PMI_ADAPT_PHASE_COMMIT);
    wait_for_members(epoch, members);

    /* before it is counted: the next plan may come then */
    __atomic_store_n(&me->count, 0, __ATOMIC_SEQ_CST);
    last_epoch = epoch;
    set_phase(PMI_ADAPT_PHASE_RUNNING);
    count_committed(epoch);
    note("epoch %u: rank %d of %d becomes %d of %u", epoch, world_rank, world_size, new_rank, rank);
    world_rank = new_rank;
    world_size = (int) rank;
    munmap(plan, bytes);
    if (new_rank >= 0)
        return 1;
    for (;;) {
        uint32_t seen = load32(&board->wake);
        if (load32(&board->released) >= epoch)
            return 0;
        wait_wake(seen);
    }
}

static void echo_line(void)
{
    char line[256];

    if (options.echo && world_rank == 0 && fgets(line, sizeof(line), stdin)) {
        printf("uid %u read %s", uid, line);
        fflush(stdout);
    }
}

static void join_world(void)
{
    set_phase(PMI_ADAPT_PHASE_JOINING);
    fail_here("ready", join_epoch);
    send_line("cmd=adapt_ready epoch=%u segment=%d:%d:%d:%d:%d:%d\n", join_epoch, (int) getpid(),
              77, 4096, 1, 2, 3);
    last_epoch = join_epoch - 1;
    for (int prepared = 0;;) {
        uint32_t seen = load32(&board->wake);
        int has_plan = load32(&board->plan_epoch) == join_epoch;
        if (has_plan && !prepared) {
            prepared = 1;
            if (__atomic_add_fetch(&board->prepared, 1, __ATOMIC_ACQ_REL) == board->participants) {
                send_line("cmd=adapt_prepared epoch=%u\n", join_epoch);
                /* by nobody: no network */
                send_line("cmd=adapt_greeted epoch=%u\n", join_epoch);
            }
        }
        if (has_plan && load32(&board->agreed) == join_epoch)
            break;
        wait_wake(seen);
    }
    window();
    echo_line();
}

static void compute(void)
{
    long us = options.probe_us;

    if (uid % 2)
        us = (long) ((double) us * options.slow);
    if (us > 0)
        usleep((useconds_t) us);
}

static void run(void)
{
    long done = join_epoch ? (long) join_epoch : 0;

    while (now() - start < options.seconds) {
        if (options.probes && done >= options.probes)
            break;
        compute();
        if (!probe())
            continue;
        if (!window())
            return;
        done++;
        echo_line();
    }
    /* As MPI_Finalize: who ends while the proxies have yet to learn of the last commit would be
     * taken for one that fails in the window. */
    for (;;) {
        uint32_t seen = load32(&board->wake);
        if (load32(&board->epoch) >= last_epoch)
            break;
        wait_wake(seen);
    }
    unlink(rendezvous_name);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void read_option(const char *text)
{
    if (sscanf(text, "probes=%ld", &options.probes) == 1 ||
        sscanf(text, "seconds=%lf", &options.seconds) == 1 ||
        sscanf(text, "probe_us=%ld", &options.probe_us) == 1 ||
        sscanf(text, "slow=%lf", &options.slow) == 1 ||
        sscanf(text, "code=%ld", &options.code) == 1 ||
        sscanf(text, "fail_epoch=%ld", &options.fail_epoch) == 1 ||
        sscanf(text, "verbose=%ld", &options.verbose) == 1 ||
        sscanf(text, "end=%ld", &options.end) == 1 ||
        sscanf(text, "usr1=%ld", &options.usr1) == 1 ||
        sscanf(text, "delay=%ld", &options.delay) == 1 ||
        sscanf(text, "card=%ld", &options.card) == 1 ||
        sscanf(text, "spill=%ld", &options.spill) == 1 ||
        sscanf(text, "spill_from=%ld", &options.spill_from) == 1 ||
        sscanf(text, "stop=%ld", &options.stop) == 1 ||
        sscanf(text, "stdin=%ld", &options.echo) == 1)
        return;
    if (!strncmp(text, "fail=", 5))
        options.fail = text + 5;
    else if (!strncmp(text, "term=", 5))
        options.term = text + 5;
    else if (!strcmp(text, "term_at=init"))
        options.term_at_init = 1;
    else if (!strcmp(text, "mode=rigid"))
        options.rigid = 1;
    else
        die("unknown option %s", text);
}

static void introduce(void)
{
    char card[CARD_MAX + 1], hex[2 * CARD_MAX + 1] = "";

    if (options.rigid) {
        send_line("cmd=adapt_init mode=rigid\n");
        return;
    }
    write_address(card, uid);
    for (size_t i = 0; card[i]; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned) card[i]);
    me->pid = (uint32_t) getpid();
    set_phase(PMI_ADAPT_PHASE_RUNNING);
    send_line("cmd=adapt_init mode=adaptive card=%s\n", hex);
}

static void on_usr1(int signum)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "uid %u got signal %d\n", uid, signum);

    if (write(STDOUT_FILENO, text, (size_t) n) != n)
        _exit(2);
}

static volatile sig_atomic_t end_in_s = 0;

static void on_term(int signum)
{
    static int lock = 1;

    (void) signum;
    if (!strcmp(options.term, "hang"))
        for (;;)
            syscall(SYS_futex, &lock, FUTEX_WAIT, 1, NULL, NULL, 0);
    end_in_s = atoi(options.term);
}

/* The effect of a signal, ignored or slow, on a process that has work. */
static void work(void)
{
    while (now() - start < options.seconds && !end_in_s)
        usleep(10000);
    if (end_in_s) {
        sleep((unsigned) end_in_s);
        printf("uid %u is ready\n", uid);
    }
}

static void heed_signals(void)
{
    struct sigaction action = {.sa_handler = strcmp(options.term, "ignore") ? on_term : SIG_IGN };

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    printf("uid %u heeds signals\n", uid);
    fflush(stdout);
}

/* Prints from a process of its own: that one waits for who reads, and we do not. */
static void spill(void)
{
    char line[1024];

    if (!options.spill || join_epoch < (unsigned) options.spill_from || fork() != 0)
        return;
    close(environment("PMI_FD"));       /* our end is not the process' */
    memset(line, '.', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (long i = 0; i < options.spill; i++) {
        int n = snprintf(line, sizeof(line), "spilt %u %ld", uid, i);
        line[n] = ' ';
        for (size_t done = 0; done < sizeof(line);) {
            ssize_t written = write(STDOUT_FILENO, line + done, sizeof(line) - done);
            if (written < 0 && errno != EINTR)
                _exit(2);
            done += written < 0 ? 0 : (size_t) written;
        }
    }
    _exit(0);
}

static void stop_mpiexec(void)
{
    char path[64];
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) getppid());
    FILE *stat = fopen(path, "r");
    if (!stat || fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) != 1 || kill(parent, SIGSTOP))
        die("unable to stop mpiexec (pid %d)", parent);
    fclose(stat);
}

int main(int argc, char **argv)
{
    start = now();
    signal(SIGCHLD, SIG_IGN);
    for (int i = 1; i < argc; i++)
        read_option(argv[i]);
    open_board();
    if (join_epoch)
        spill();
    if (options.usr1)
        signal(SIGUSR1, on_usr1);
    fail_here("start", join_epoch);
    if (join_epoch)
        sleep((unsigned) options.delay);
    open_rendezvous();
    pmi_init();
    if (options.term)
        heed_signals();
    if (options.term_at_init)
        work();
    if (options.stop && uid == 0)
        stop_mpiexec();
    introduce();
    if (!join_epoch)
        spill();
    world_rank = pmi_rank;
    world_size = pmi_size;
    note("started as rank %d of %d, epoch %u", pmi_rank, pmi_size, join_epoch);
    if (join_epoch) {
        world_rank = -1;
        join_world();
    }
    if (options.term)
        work();
    else if (options.rigid)
        sleep((unsigned) options.seconds);
    else
        run();
    note("ends as rank %d of %d", world_rank, world_size);
    pmi_finalize();
    return join_epoch && world_rank >= 0 ? (int) options.end : 0;
}
