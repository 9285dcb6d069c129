/*
 * A program of epop.hpp whose state is registered (program::arrays): two elastic phases whose
 * windows move it, over one registration, because the positions of block_free are part of it.
 * Every element is compared in each iteration.  SPEC-epop H2, D4.
 */

#include <elastic.hpp>
#include <epop.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int CELLS = 101, TIMES = 4;

struct State {
    elastic::layout cells = elastic::block_free(CELLS);
    std::vector<long> field;
    std::vector<long> index;    /* of each element of field, moved with it */
    /* the size is that of the world in which this was written */
    long step = 0, size = 0, worlds = 0;
    int epochs = 0, done = 0;
};

void set_up(epop::args a, State &s)
{
    int status, rank, size;

    MPI_Init_adapt(a.count, a.words, &status);
    s.epochs = std::stoi(a[1]);
    if (status == MPI_ADAPT_STATUS_JOINING)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    s.size = size;
    for (int i = 0; i < CELLS; i++) {
        if (s.cells.owner(i, size) != rank)
            continue;
        s.index.push_back(i);
        s.field.push_back(0);
    }
}

int check(const State &s)
{
    long mine[2] = {static_cast<long>(s.field.size()), 0}, all[2];

    for (std::size_t i = 0; i < s.field.size(); i++) {
        if (s.field[i] != s.index[i] * s.step)
            throw std::runtime_error("cell " + std::to_string(s.index[i]) + " is wrong");
        mine[1] += s.index[i];
    }
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (s.index.size() != s.field.size() || all[0] != CELLS || all[1] != CELLS * (CELLS - 1) / 2)
        throw std::runtime_error("cells are missing");
    return 0;
}

int advance(State &s)
{
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    s.worlds += size != s.size; /* joining processes have got both, as they were */
    s.size = size;
    check(s);
    for (std::size_t i = 0; i < s.field.size(); i++)
        s.field[i] += s.index[i];
    s.step++;
    usleep(1000);
    return 0;
}

} // namespace

EPOP_PROGRAM(State, p)
{
    p.init(set_up);
    /* the world is the new one: collective calls are allowed */
    p.after([](State &s, int rank, int size) {
        int its_rank, its_size;
        MPI_Comm_rank(MPI_COMM_WORLD, &its_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &its_size);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != its_rank || size != its_size)
            throw std::runtime_error("after is called with another world");
        s.done++;
    });
    p.arrays([](State &s, elastic::data &d) {
        d.add("field", s.field, s.cells);
        d.add("index", s.index, s.cells);
        d.add("step", s.step);
        d.add("size", s.size);
        d.add("worlds", s.worlds);
    });
    auto first =
        p.elastic("first", advance).while_([](const State &s) { return s.step % TIMES != 0; });
    p.elastic("second", advance).while_([](const State &s) { return s.step % TIMES != 0; });
    p.branch("back",
             [=](const State &s, int pc) { return s.worlds < s.epochs ? first.pc() : pc + 1; });
    p.rigid("last", [](State &s) {
        int rank, size;
        check(s);
        if (s.done < 1)      /* the last window was everybody's */
            throw std::runtime_error("after was not called");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (rank == 0)
            std::printf("PASS epoch=%d size=%d\n", s.epochs, size);
    });
}
