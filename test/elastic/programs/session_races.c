/*
 * SA1, SA2, SA3, SI3: several processes do to one name what only one of them can do, or what all
 * can, at the same time.  It has one order, that of the serial numbers, and all agree on what came
 * last.  Run by 3 processes.
 */

#include "session_changes.h"

#define ROUNDS 20
#define MOVES 60

static MPI_Comm all;
static int rank, size;

/* By rank 0, of the first so many processes, from the last to the first. */
static void make_first(int n, pset_name made)
{
    MPI_Group world, first;
    int ranks[8];

    for (int i = 0; i < n; i++)
        ranks[i] = n - 1 - i;
    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_incl(world, n, ranks, &first));
    ET_MPI(MPIX_Session_pset_from_group(session, first, MPI_INFO_NULL, made));
    ET_MPI(MPI_Group_free(&first));
    ET_MPI(MPI_Group_free(&world));
}

static void share(pset_name name)
{
    ET_MPI(MPI_Bcast(name, sizeof(pset_name), MPI_BYTE, 0, all));
}

/* How many have done it; the others got MPI_ERR_ARG. */
static int count_winners(int error)
{
    int won = error == MPI_SUCCESS, sum;

    if (!won)
        ET_ERROR(error, MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Allreduce(&won, &sum, 1, MPI_INT, MPI_SUM, all));
    return sum;
}

static void race_to_free(void)
{
    pset_name name;
    int n;

    if (rank == 0)
        make_first(size, name);
    share(name);
    n = count_winners(MPIX_Session_pset_free(session, name));
    ET_CHECK(n == 1, "SA2: %d processes have freed %s", n, name);
}

/* One name for each process to move it to: one of them has got it. */
static void race_to_move(void)
{
    pset_name name, to;
    int n, running, sum;

    if (rank == 0)
        make_first(size, name);
    share(name);
    snprintf(to, sizeof(to), "app://of/%d", rank);
    int error = MPIX_Session_pset_move(session, name, to);
    n = count_winners(error);
    ET_CHECK(n == 1, "SA2: %d processes have moved %s", n, name);
    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    ET_CHECK(!running, "SO7: %s is still there", name);
    ET_MPI(MPIX_Session_pset_exists(session, to, &running, NULL));
    ET_CHECK(running == (error == MPI_SUCCESS), "SA2: %s is %sthere", to, running ? "" : "not ");
    ET_MPI(MPI_Allreduce(&running, &sum, 1, MPI_INT, MPI_SUM, all));
    ET_CHECK(sum == 1, "SA2: it has %d names", sum);
    if (running)
        ET_MPI(MPIX_Session_pset_free(session, to));
}

/* A set that one frees and the others move is freed or moved, and not both. */
static void race_to_free_and_move(void)
{
    pset_name name;
    int n, running;

    if (rank == 0)
        make_first(size, name);
    share(name);
    n = count_winners(rank == 1 ? MPIX_Session_pset_free(session, name)
                      : MPIX_Session_pset_move(session, name, "app://it"));
    ET_CHECK(n == 1, "SA2: %d processes have freed or moved %s", n, name);
    ET_MPI(MPIX_Session_pset_exists(session, "app://it", &running, NULL));
    ET_MPI(MPI_Barrier(all));
    if (rank == 0 && running)
        ET_MPI(MPIX_Session_pset_free(session, "app://it"));
    ET_MPI(MPI_Barrier(all));
}

static void query(const char *name, int *serial, int *members)
{
    pset_name value;
    MPI_Info info;

    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    ET_CHECK(value_of(info, "mpix_serial", value), "SI3: no mpix_serial");
    *serial = atoi(value);
    ET_CHECK(value_of(info, "mpi_size", value), "SI3: no mpi_size");
    *members = atoi(value);
    ET_MPI(MPI_Info_free(&info));
}

/* Each moves a set of its own there: all can, and one was the last. */
static void race_to_replace(void)
{
    pset_name own;
    int seen[2], most[2], least[2];

    make_first(rank + 1, own);
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPIX_Session_pset_move(session, own, "app://last"));
    ET_MPI(MPI_Barrier(all));
    query("app://last", &seen[0], &seen[1]);
    ET_MPI(MPI_Allreduce(seen, most, 2, MPI_INT, MPI_MAX, all));
    ET_MPI(MPI_Allreduce(seen, least, 2, MPI_INT, MPI_MIN, all));
    ET_CHECK(most[0] == least[0] &&
             most[1] == least[1], "SA3: serial %d to %d, size %d to %d", least[0], most[0],
             least[1], most[1]);
    ET_MPI(MPI_Barrier(all));
}

/* A process that makes one after a notification of another one gets a greater number. */
static void count_serials(void)
{
    int before = 0, serial, members;
    pset_name name;

    if (rank > 0)
        ET_MPI(MPI_Recv(&before, 1, MPI_INT, rank - 1, 0, all, MPI_STATUS_IGNORE));
    make_first(size, name);
    query(name, &serial, &members);
    ET_CHECK(serial > before, "SA1: serial %d after %d", serial, before);
    if (rank + 1 < size)
        ET_MPI(MPI_Send(&serial, 1, MPI_INT, rank + 1, 0, all));
    ET_MPI(MPIX_Session_pset_free(session, name));
    ET_MPI(MPI_Barrier(all));
}

/* Its members have their positions from the last to the first. */
static int is_first_reversed(const char *name)
{
    MPI_Group group, world;
    int n, positions[8], found[8], right = 1;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_size(group, &n));
    ET_CHECK(n >= 1 && n <= size, "SA3: %d members", n);
    for (int i = 0; i < n; i++)
        positions[i] = i;
    ET_MPI(MPI_Group_translate_ranks(group, n, positions, world, found));
    for (int i = 0; i < n; i++)
        right = right && found[i] == n - 1 - i;
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
    return right;
}

/* Rank 0 moves sets of other sizes to the name, and knows the serial of each; the others see some
 * of them, in order. */
static void query_while_it_moves(void)
{
    const char *name = "app://main";
    int sizes[MOVES + 1], serials[MOVES + 1], serial, members, last = 0, running = 0, k;
    pset_name next;
    MPI_Request request;

    if (rank == 0) {
        for (k = 0; k < MOVES; k++) {
            make_first(1 + k % size, next);
            ET_MPI(MPIX_Session_pset_move(session, next, name));
            query(name, &serials[k], &sizes[k]);
            ET_CHECK(sizes[k] == 1 + k % size, "SO7: size %d, not %d", sizes[k], 1 + k % size);
        }
    }
    ET_MPI(MPI_Ibarrier(all, &request));        /* rank 0 has come to it when it has ended */
    int seen[2 * MOVES], n = 0, over = 0;
    while (rank > 0 && !over) {
        ET_MPI(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
        ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
        if (!running)
            continue;
        query(name, &serial, &members);
        ET_CHECK(serial >= last, "SA1: serial %d after %d", serial, last);
        ET_CHECK(is_first_reversed(name), "SA3: the members of %s are in another order", name);
        if (serial > last && n < MOVES) {
            seen[2 * n] = last = serial;
            seen[2 * n++ + 1] = members;
        }
    }
    if (rank == 0)
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Bcast(serials, MOVES, MPI_INT, 0, all));
    ET_MPI(MPI_Bcast(sizes, MOVES, MPI_INT, 0, all));
    for (int i = 0; i < n; i++) {
        for (k = 0; k < MOVES && serials[k] != seen[2 * i]; k++);
        ET_CHECK(k < MOVES &&
                 sizes[k] == seen[2 * i + 1], "SA3: serial %d has %d members here", seen[2 * i],
                 seen[2 * i + 1]);
    }
    ET_CHECK(rank == 0 || n > 0, "nothing was seen");
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    open_session();
    all = connect_set("mpi://WORLD", "races");
    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
    for (int i = 0; i < ROUNDS; i++) {
        race_to_free();
        race_to_move();
        race_to_free_and_move();
        race_to_replace();
        count_serials();
    }
    query_while_it_moves();
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_races");
    return 0;
}
