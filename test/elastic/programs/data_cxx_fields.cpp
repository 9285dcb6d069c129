/*
 * elastic.hpp: fields on boxes, one for each rank or several tiles, with ghost layers and values on
 * the sides of cells; items in one vector of structs and in two vectors side by side.  Every value
 * encodes its place, every item its number.  An error throws on all processes, moves nothing, and
 * the window goes on.  SPEC-epop D4, V1, F1, F3.  Arguments: the number of adaptations.
 */

#include <elastic.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

constexpr std::int64_t ROWS = 23, COLUMNS = 31, ITEMS = 501;

void check_here(bool ok, const char *what, int line)
{
    if (ok)
        return;
    std::fprintf(stderr, "FAIL data_cxx_fields.cpp:%d: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}
#define CHECK(condition) check_here(condition, #condition, __LINE__)

struct Particle {
    char kind;
    double position[2];
    std::int64_t number;
};

Particle particle(std::int64_t number)
{
    return {char('a' + number % 26), {double(number), -0.5 * double(number)}, number};
}

int home(std::int64_t number, int size)
{
    return int(number * 7919 / 3 % size);
}

/* Stripes of two rows each, dealt out: a rank may have none. */
std::vector<elastic::box> stripes(int rank, int size)
{
    std::vector<elastic::box> found;
    for (std::int64_t low = 2 * rank; low < ROWS; low += 2 * std::int64_t(size))
        found.push_back(elastic::box_of({low, 0}, {std::min(low + 2, ROWS), COLUMNS}));
    return found;
}

double value(std::int64_t i, std::int64_t j)
{
    return double(1000 * i + j);
}

/* Each value of the box, and where it is stored. */
template <class Visit>
void visit(const elastic::box &box, const elastic::field_shape &shape, Visit &&each)
{
    const std::int64_t width = box.high[1] - box.low[1] + shape.nodes[1] + 2 * shape.ghost[1];
    for (std::int64_t i = box.low[0]; i < box.high[0] + shape.nodes[0]; i++)
        for (std::int64_t j = box.low[1]; j < box.high[1] + shape.nodes[1]; j++)
            each(i, j, std::size_t((i - box.low[0] + shape.ghost[0]) * width + j - box.low[1] +
                                   shape.ghost[1]));
}

std::size_t capacity(const elastic::box &box, const elastic::field_shape &shape)
{
    std::size_t product = 1;
    for (std::size_t a = 0; a < 2; a++)
        product *= std::size_t(box.high[a] - box.low[a] + shape.nodes[a] + 2 * shape.ghost[a]);
    return product;
}

const elastic::field_shape CELLS = {.ghost = {1, 2}, .nodes = {}},
                           SIDES = {.ghost = {}, .nodes = {1, 0}}, PLAIN = {};

struct State {
    int epoch = 0;
    std::vector<double> cells;
    std::vector<float> sides;
    std::vector<std::vector<int>> tiles;
    std::vector<Particle> particles;
    std::vector<double> x;
    std::vector<int> n;
    std::vector<double> windows{0}; /* over all ranks: how many there have been */
    elastic::boxes even{2, elastic::box_of({0, 0}, {ROWS, COLUMNS})}, striped{2, stripes};

    State()
    {
        even.add("cells", cells, CELLS);
        even.add("sides", sides, SIDES);
        striped.add("tiles", tiles);
    }
    void fill(int rank, int size);
    void check(int rank, int size);
    void move(elastic::window &window);
    void try_errors(elastic::window &window);
};

void State::fill(int rank, int size)
{
    const elastic::box box = even.of(rank, size)[0];
    cells.assign(capacity(box, CELLS), -1);
    sides.assign(capacity(box, SIDES), -1);
    visit(box, CELLS, [&](auto i, auto j, auto at) { cells[at] = value(i, j); });
    visit(box, SIDES, [&](auto i, auto j, auto at) { sides[at] = float(value(i, j)); });
    for (const elastic::box &tile : stripes(rank, size)) {
        tiles.emplace_back(capacity(tile, PLAIN));
        visit(tile, PLAIN, [&](auto i, auto j, auto at) { tiles.back()[at] = int(value(i, j)); });
    }
    for (std::int64_t number = 0; number < ITEMS; number++) {
        if (home(number, size) != rank)
            continue;
        particles.push_back(particle(number));
        x.push_back(0.25 * double(number));
        n.push_back(int(number));
    }
}

void State::check(int rank, int size)
{
    const elastic::box box = even.of(rank, size)[0];
    CHECK(cells.size() == capacity(box, CELLS) && sides.size() == capacity(box, SIDES));
    visit(box, CELLS, [&](auto i, auto j, auto at) { CHECK(cells[at] == value(i, j)); });
    visit(box, SIDES, [&](auto i, auto j, auto at) { CHECK(sides[at] == float(value(i, j))); });
    const std::vector<elastic::box> mine = stripes(rank, size);
    CHECK(tiles.size() == mine.size());
    for (std::size_t k = 0; k < mine.size(); k++) {
        CHECK(tiles[k].size() == capacity(mine[k], PLAIN));
        visit(mine[k], PLAIN,
              [&](auto i, auto j, auto at) { CHECK(tiles[k][at] == int(value(i, j))); });
    }
    double sum = 0;
    MPI_Allreduce(windows.data(), &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == epoch);
    std::vector<bool> seen(ITEMS), seen_apart(ITEMS);
    std::size_t expected = 0;
    for (std::int64_t number = 0; number < ITEMS; number++)
        expected += home(number, size) == rank;
    CHECK(particles.size() == expected && x.size() == expected && n.size() == expected);
    for (std::size_t i = 0; i < expected; i++) {
        const Particle &it = particles[i], right = particle(it.number);
        CHECK(home(it.number, size) == rank && it.kind == right.kind &&
              it.position[0] == right.position[0] && it.position[1] == right.position[1] &&
              !seen[std::size_t(it.number)]);
        CHECK(home(n[i], size) == rank && x[i] == 0.25 * n[i] && !seen_apart[std::size_t(n[i])]);
        seen[std::size_t(it.number)] = seen_apart[std::size_t(n[i])] = true;
    }
}

template <class Call> void expect_error(Call &&call, const char *word)
{
    bool thrown = false;
    try {
        call();
    } catch (const elastic::error &failure) {
        thrown = true;
        CHECK(failure.error_class() == MPI_ERR_ARG && std::strstr(failure.what(), word));
    }
    CHECK(thrown);
}

void State::try_errors(elastic::window &window)
{
    std::vector<double> wrong(window.old_rank() == 0 ? 3 : 0);
    std::vector<int> to(particles.size(), 0);
    const std::vector<double> before = cells;
    const std::size_t items = particles.size();
    elastic::boxes bad(2, elastic::box_of({0, 0}, {ROWS, COLUMNS})), gaps(2, [](int, int size) {
        return std::vector<elastic::box>{elastic::box_of({0, 0}, {size, 1})};
    });

    bad.add("cells", cells, CELLS);
    bad.add("wrong", wrong);
    expect_error([&] { bad.move(window); },
                 "elastic::boxes::move: field 'wrong': part 0, of box [0, ");
    expect_error([&] { bad.move(window); }, " elements, needed with nodes and ghost layers are ");
    expect_error([&] { gaps.move(window); }, "nothing has moved");
    if (window.old_rank() == 0)
        to.push_back(0);
    expect_error([&] { elastic::move_items(window, to, particles); },
                 "elastic::move_items: there are not as many destinations as items (old rank 0)");
    to.assign(particles.size(), window.new_size());
    expect_error([&] { elastic::move_items(window, to, x, n); }, "nothing has moved");
    expect_error([] { elastic::box_of({0}, {1, 2}); }, "as many");
    CHECK(cells == before && particles.size() == items && x.size() == items);
}

void State::move(elastic::window &window)
{
    std::vector<int> to, to_apart;
    window.share(epoch);
    try_errors(window);
    even.move(window);
    striped.move(window);
    for (const Particle &it : particles)
        to.push_back(home(it.number, window.new_size()));
    for (int number : n)
        to_apart.push_back(home(number, window.new_size()));
    elastic::move_items(window, to, particles);
    elastic::move_items(window, to_apart, x, n);
    window.sums(windows);
    windows[0] += window.new_rank() == window.new_size() - 1;
    CHECK(!window.leaving() || (cells.empty() && sides.empty() && tiles.empty() && x.empty()));
    epoch++;
}

}  // namespace

int main(int argc, char **argv)
{
    elastic::environment mpi(argc, argv);
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 1;
    State state;

    if (!mpi.joining())
        state.fill(elastic::rank(), elastic::size());
    elastic::loop(
        mpi, [&] { return state.epoch < epochs; },
        [&] {
            state.check(elastic::rank(), elastic::size());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            MPI_Barrier(MPI_COMM_WORLD);
        },
        [&](elastic::window &window) { state.move(window); });
    state.check(elastic::rank(), elastic::size());
    if (elastic::rank() == 0)
        std::printf("PASS epoch=%d size=%d\n", state.epoch, elastic::size());
    return 0;
}
