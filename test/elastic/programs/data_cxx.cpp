/*
 * elastic.hpp: environment, loop, window, layouts and data, in each window all arrays at once or
 * one by one.  Every element encodes its number.  An error throws on all processes, the program's
 * error handlers stay, and the window goes on.  SPEC-epop D4, D5, D6, X1, F1, F3.  Arguments: the
 * number of adaptations.
 */

#include <elastic.hpp>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace {

constexpr std::int64_t N = 1003;

void check_here(bool ok, const char *what, int line)
{
    if (ok)
        return;
    std::fprintf(stderr, "FAIL data_cxx.cpp:%d: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}
#define CHECK(condition) check_here(condition, #condition, __LINE__)

/* A type with gaps, and one that is sent as its owner states. */
struct Particle {
    char kind;
    double position[3];
    bool operator==(const Particle &other) const
    {
        return kind == other.kind && std::equal(position, position + 3, other.position);
    }
};

struct Guarded {
    int value = -1;
    Guarded() = default;
    explicit Guarded(int its) : value(its) {}
    Guarded(const Guarded &other) : value(other.value) {}
    Guarded &operator=(const Guarded &other)
    {
        value = other.value;
        return *this;
    }
};

Particle particle(std::int64_t i)
{
    return {char('a' + i % 26), {double(i), -double(i), 0.5 * double(i)}};
}

}  // namespace

template <> struct elastic::datatype<Guarded> {
    static MPI_Datatype make()
    {
        MPI_Datatype made;
        MPI_Type_contiguous(1, MPI_INT, &made);
        return made;
    }
};

namespace {

/* Old lengths in another order. */
std::vector<std::int64_t> heavy_last(const std::vector<std::int64_t> &old_lengths, int new_size)
{
    const auto n = std::accumulate(old_lengths.begin(), old_lengths.end(), std::int64_t(0));
    std::vector<std::int64_t> lengths(std::size_t(new_size), 1);
    CHECK(n == N);
    lengths.back() = n - (new_size - 1);
    return lengths;
}

std::vector<elastic::interval> every_fourth(int rank, int size)
{
    std::vector<elastic::interval> found;
    for (std::int64_t first = 4 * rank; first < N; first += 4 * std::int64_t(size))
        found.push_back({first, std::min(first + 4, N)});
    return found;
}

struct State {
    std::vector<double> field, rows;
    std::vector<Particle> particles;
    std::vector<Guarded> guarded;
    std::vector<std::int64_t> uneven, pieces, table;
    long step = 0;
    int epoch = 0;
    std::string title = "none";
    elastic::data data;
    int field_number, rows_number;

    State()
    {
        field_number = data.add("field", field, elastic::block_free(N));
        rows_number = data.add("rows", rows, elastic::block(N), {.width = 5, .ghost = 2});
        data.add("particles", particles, elastic::block_cyclic(N, 7));
        data.add("guarded", guarded, elastic::block(3));
        data.add("uneven", uneven, elastic::irregular(heavy_last));
        data.add("pieces", pieces, elastic::user(every_fourth));
        data.add("table", table, elastic::same(10));
        data.add("step", step);
        data.add("epoch", epoch);
    }
    void fill(int rank, int size);
    void check(int rank, int size);
};

void State::fill(int rank, int size)
{
    const elastic::interval mine = elastic::block(N).range(rank, size);
    for (std::int64_t i = mine.first; i < mine.end; i++)
        field.push_back(double(i));
    rows.assign(std::size_t(mine.count() + 4) * 5, -1.0);
    for (std::int64_t i = 0; i < mine.count() * 5; i++)
        rows[std::size_t(i + 10)] = double(mine.first * 5 + i);
    for (std::int64_t i = 0; i < N; i++)
        if (elastic::block_cyclic(N, 7).owner(i, size) == rank)
            particles.push_back(particle(i));
    for (std::int64_t i = 0; i < 3; i++)
        if (elastic::block(3).owner(i, size) == rank)
            guarded.push_back(Guarded(int(i)));
    const std::int64_t first = N * rank / size, end = N * (rank + 1) / size;
    for (std::int64_t i = first; i < end; i++)
        uneven.push_back(i);
    for (const elastic::interval &piece : every_fourth(rank, size))
        for (std::int64_t i = piece.first; i < piece.end; i++)
            pieces.push_back(i);
    table.resize(10);
    std::iota(table.begin(), table.end(), 40);
    title = "a title that does not fit into a small buffer";
}

void State::check(int rank, int size)
{
    const int position = data.position(field_number, rank);
    const elastic::interval mine = elastic::block_free(N).range(position, size);
    CHECK(std::int64_t(field.size()) == mine.count());
    for (std::int64_t i = mine.first; i < mine.end; i++)
        CHECK(field[std::size_t(i - mine.first)] == double(i));
    const elastic::interval ours = elastic::block(N).range(rank, size);
    CHECK(std::int64_t(rows.size()) == (ours.count() + 4) * 5);
    for (std::int64_t i = 0; i < ours.count() * 5; i++)
        CHECK(rows[std::size_t(i + 10)] == double(ours.first * 5 + i));
    std::size_t at = 0;
    for (std::int64_t i = 0; i < N; i++) {
        if (elastic::block_cyclic(N, 7).owner(i, size) != rank)
            continue;
        CHECK(elastic::block_cyclic(N, 7).local(i, size) == std::int64_t(at));
        CHECK(at < particles.size() && particles[at++] == particle(i));
    }
    CHECK(at == particles.size());
    CHECK(std::int64_t(guarded.size()) == elastic::block(3).count(rank, size));
    for (const Guarded &one : guarded)
        CHECK(elastic::block(3).owner(one.value, size) == rank);
    CHECK(uneven.size() == (rank < size - 1 ? 1u : std::size_t(N - size + 1)));
    for (std::size_t k = 0; k < uneven.size(); k++)
        CHECK(uneven[k] == rank + std::int64_t(k));
    at = 0;
    for (const elastic::interval &piece : every_fourth(rank, size))
        for (std::int64_t i = piece.first; i < piece.end; i++)
            CHECK(at < pieces.size() && pieces[at++] == i);
    CHECK(at == pieces.size() && table.size() == 10 && table[9] == 49);
    CHECK(title.size() == 45);

    /* the halo of block_free: neighbours have the elements before and behind */
    const elastic::neighbours around = data.neighbours(field_number);
    double mine_at_ends[2] = {field.front(), field.back()}, theirs[2] = {-1, double(N)};
    MPI_Sendrecv(&mine_at_ends[0], 1, MPI_DOUBLE, around.previous, 1, &theirs[1], 1, MPI_DOUBLE,
                 around.next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&mine_at_ends[1], 1, MPI_DOUBLE, around.next, 2, &theirs[0], 1, MPI_DOUBLE,
                 around.previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(theirs[0] == field.front() - 1 && theirs[1] == field.back() + 1);
}

template <class Call> void expect_error(Call &&call, int error_class, const char *word)
{
    MPI_Errhandler handler;
    bool thrown = false;
    try {
        call();
    } catch (const elastic::error &failure) {
        thrown = true;
        if (failure.error_class() != error_class || !std::strstr(failure.what(), word))
            std::fprintf(stderr, "%d: %s\n", failure.error_class(), failure.what());
        CHECK(failure.error_class() == error_class && std::strstr(failure.what(), word));
    }
    CHECK(thrown);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

void try_errors(elastic::window &window)
{
    std::vector<double> short_one, thrown;
    elastic::data wrong, throwing;

    expect_error([&] { wrong.wait(3); }, MPI_ERR_ARG, "not been started");
    expect_error([&] { wrong.add("x", short_one, elastic::block(-1)); }, MPI_ERR_ARG, "is invalid");
    expect_error([] { elastic::block(5).owner(5, 2); }, MPI_ERR_ARG, "out of range");
    expect_error([&] { wrong.add("w", short_one, elastic::block(1), {.width = 0}); }, MPI_ERR_ARG,
                 "width");
    wrong.add("short", short_one, elastic::block(N));
    short_one.assign(window.joining() ? 0 : 3, 1.0);
    expect_error([&] { wrong.move(window); }, MPI_ERR_ARG, "'short'");
    CHECK(window.joining() || (short_one.size() == 3 && short_one[2] == 1.0));
    throwing.add("thrown", thrown, elastic::irregular([](auto &, int) -> std::vector<std::int64_t> {
                     throw std::runtime_error("no");
                 }));
    expect_error([&] { throwing.move(window); }, MPI_ERR_ARG, "'thrown'");
}

void move(State &state, elastic::window &window)
{
    window.share(state.epoch);
    window.share(state.title);
    try_errors(window);
    if (state.epoch % 2 == 0) {
        state.data.move(window);
        return;
    }
    for (int array = 0; array < 9; array++)
        state.data.start(window, array);
    expect_error([&] { window.close(); }, MPI_ERR_PENDING, "'field'");
    state.data.test(state.rows_number);
    for (int array = 0; array < 9; array++)
        state.data.wait((array + 4) % 9);
}

}  // namespace

int main(int argc, char **argv)
{
    elastic::environment mpi(argc, argv);
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 1;
    State state;
    int done = 0;
    bool was_in_window = false;

    if (!mpi.joining())
        state.fill(elastic::rank(), elastic::size());
    const bool is_here = elastic::loop(
        mpi, [&] { return state.epoch < epochs; },
        [&] {
            if (was_in_window)
                state.check(elastic::rank(), elastic::size());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            MPI_Barrier(MPI_COMM_WORLD);
            state.step++;
        },
        [&](elastic::window &window) {
            CHECK(window.joining() == (window.old_rank() < 0));
            CHECK(elastic::size(window.all()) == window.old_size() + window.joining_count());
            std::int64_t before = state.step;
            move(state, window);
            CHECK(window.joining() ? state.step > 0 : state.step == before);
            CHECK(!window.leaving() || (state.field.empty() && state.rows.empty()));
            was_in_window = true;
            state.epoch++;
        },
        [&](int rank, int size) {       /* the world is the new one: collective calls are allowed */
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(rank == elastic::rank() && size == elastic::size());
            done++;
        });
    CHECK(is_here && done > 0);
    state.check(elastic::rank(), elastic::size());
    if (elastic::rank() == 0)
        std::printf("PASS epoch=%d size=%d\n", state.epoch, elastic::size());
    return 0;
}
