/*
 * elastic_mesh.hpp: a graph whose partition depends on the number of processes moves with its
 * lists, and ghosts are numbered anew; each process computes the whole problem alone and compares.
 * An error throws on all processes.  SPEC-epop D4, V1.  Arguments: the number of adaptations.
 */

#include <elastic_mesh.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

namespace {

constexpr int ROWS = 120;

void check_here(bool ok, const char *what, int line)
{
    if (ok)
        return;
    std::fprintf(stderr, "FAIL data_cxx_mesh.cpp:%d: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}
#define CHECK(condition) check_here(condition, #condition, __LINE__)

unsigned mixed(unsigned seed)
{
    seed = (seed ^ seed >> 16) * 0x45d9f3bu;
    return seed ^ seed >> 16;
}

std::vector<int> around(int row)
{
    std::vector<int> found;
    for (unsigned k = 0; k < mixed(unsigned(row)) % 7; k++)
        found.push_back(int(mixed(unsigned(row) * 8 + k) % ROWS));
    return found;
}

int home(int row, int size)
{
    return int(mixed(unsigned(row + 1000 * size)) % unsigned(size));
}

struct State {
    std::vector<int> global, first{0}, column;
    std::vector<double> weight, x, whole;
    std::optional<elastic::ghosts> halo;
    int epoch = 0, steps = 0;

    void fill(int rank, int size)
    {
        for (int row = ROWS - 1; row >= 0; row--) {
            if (home(row, size) != rank)
                continue;
            for (int other : around(row)) {
                column.push_back(other);
                weight.push_back(0.1 + 0.001 * other);
            }
            global.push_back(row);
            first.push_back(int(column.size()));
            x.push_back(1 + 0.5 * row);
        }
    }

    /* The same in one process. */
    void step_whole()
    {
        std::vector<double> next(ROWS);
        for (int row = 0; row < ROWS; row++) {
            next[std::size_t(row)] = 0.25 * whole[std::size_t(row)];
            for (int other : around(row))
                next[std::size_t(row)] += (0.1 + 0.001 * other) * whole[std::size_t(other)];
        }
        whole = next;
    }

    void step()
    {
        halo->update(x);
        std::vector<double> next(x.size());
        for (std::size_t i = 0; i < global.size(); i++) {
            next[i] = 0.25 * x[i];
            for (int k = first[i]; k < first[i + 1]; k++)
                next[i] += weight[std::size_t(k)] * x[std::size_t(column[std::size_t(k)])];
        }
        x = next;
        steps++;
    }

    void check(int rank, int size)
    {
        long rows = long(global.size());
        whole.resize(ROWS);
        for (int row = 0; row < ROWS; row++)
            whole[std::size_t(row)] = 1 + 0.5 * row;
        for (int k = 0; k < steps; k++)
            step_whole();
        for (std::size_t i = 0; i < global.size(); i++) {
            CHECK(home(global[i], size) == rank &&
                  (epoch == 0 || i == 0 || global[i - 1] < global[i]));
            CHECK(x[i] == whole[std::size_t(global[i])]);
        }
        MPI_Allreduce(MPI_IN_PLACE, &rows, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(rows == ROWS);
    }

    /* Ghosts live from one window to the next. */
    void set_up()
    {
        halo.emplace(MPI_COMM_WORLD, global, column);
        x.resize(global.size() + halo->count());
    }

    void move(elastic::window &window)
    {
        std::vector<int> to;
        window.share(epoch);
        window.share(steps);
        if (halo) {
            halo->restore(column);
            halo.reset();
        }
        x.resize(global.size());
        for (int row : global)
            to.push_back(home(row, window.new_size()));
        elastic::move_rows(window, to, global, first, std::tie(column, weight), x);
        CHECK(!window.leaving() || (global.empty() && column.empty() && first.size() == 1));
        epoch++;
    }
};

void try_errors()
{
    std::vector<long> mine{elastic::rank()}, names{0, 99};
    try {
        elastic::ghosts wrong(MPI_COMM_WORLD, mine, names);
        CHECK(!"an unknown row is taken");
    } catch (const elastic::error &failure) {
        CHECK(failure.error_class() == MPI_ERR_ARG &&
              std::string(failure.what()).find("row 99") != std::string::npos);
    }
    CHECK(names[1] == 99);
}

}  // namespace

int main(int argc, char **argv)
{
    elastic::environment mpi(argc, argv);
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 1;
    State state;

    if (!mpi.joining()) {
        try_errors();
        state.fill(elastic::rank(), elastic::size());
        state.set_up();
    }
    elastic::loop(
        mpi, [&] { return state.epoch < epochs; },
        [&] {
            state.step();
            state.check(elastic::rank(), elastic::size());
            state.steps %= 10;
            if (state.steps == 0)
                for (std::size_t i = 0; i < state.global.size(); i++)
                    state.x[i] = 1 + 0.5 * state.global[i];
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        [&](elastic::window &window) { state.move(window); },
        [&](int, int) { state.set_up(); });
    state.check(elastic::rank(), elastic::size());
    state.halo.reset();
    if (elastic::rank() == 0)
        std::printf("PASS epoch=%d size=%d\n", state.epoch, elastic::size());
    return 0;
}
