/*
 * A program of epop.hpp: an elastic phase, a branch back, a rigid phase.  --throws PLACE: what the
 * place throws is notified, and ends the job.  EPOP_CXX_MORE: as many phases more.  SPEC-epop H2.
 */

#include <epop.hpp>
#include <adapt_data.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

struct Shared {
    std::int64_t steps, epochs, sum;
};

struct State {
    MPIX_Adapt_data data = nullptr;
    Shared *shared = nullptr;
    MPIX_Adapt_layout everywhere = MPIX_Layout_same(1);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::string throws;
    int epochs = 0;

    State() = default;
    State(const State &) = delete;
};

void throw_if(const State &s, const char *position)
{
    if (s.throws == position && s.shared && s.shared->epochs > 0)
        throw std::runtime_error(std::string("thrown in ") + position);
}

void set_up(epop::args a, State &s)
{
    int status;
    MPI_Init_adapt(a.count, a.words, &status);
    s.epochs = std::stoi(a[1]);
    s.throws = a.size() > 2 ? a[2] : "";
    MPI_Type_contiguous(3, MPI_INT64_T, &s.type);
    MPI_Type_commit(&s.type);
    MPIX_Adapt_data_create(&s.data);
    MPIX_Adapt_data_add(s.data, "shared", reinterpret_cast<void **>(&s.shared), s.type,
                        &s.everywhere, nullptr, nullptr);
    if (status != MPI_ADAPT_STATUS_JOINING)
        s.shared = static_cast<Shared *>(std::calloc(1, sizeof(Shared)));
}

void step(State &s)
{
    std::int64_t one = 1, all;
    int size;
    throw_if(s, "exec");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    s.shared->sum += all - size; /* 0 */
    s.shared->steps++;
    usleep(1000);
}

void move(State &s, const epop::window &w)
{
    MPIX_Adapt_data_move(s.data, &w);
    if (s.shared)
        s.shared->epochs++;
    throw_if(s, "window");
}

} // namespace

EPOP_PROGRAM(State, p)
{
    p.init(set_up);
    auto steps = p.elastic("steps", step)
                     .while_([](const State &s) {
                         return throw_if(s, "condition"), s.shared->steps % 5 != 0;
                     })
                     .redistribute(move)
                     .total([](const State &) { return 5; });
    p.branch("back", [=](const State &s, int pc) {
        throw_if(s, "branch");
        return s.shared->epochs < s.epochs ? steps.pc() : pc + 1;
    });
    for (int i = 0; std::getenv("EPOP_CXX_MORE") && i < std::atoi(std::getenv("EPOP_CXX_MORE"));
         i++)
        p.rigid("more", [](State &) { return 0; });
    p.rigid("last", [](State &s) {
        int rank, size;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (rank == 0 && s.shared->steps % 5 == 0 && s.shared->sum == 0)
            std::printf("PASS epoch=%d size=%d\n", static_cast<int>(s.shared->epochs), size);
        MPIX_Adapt_data_free(&s.data);
        MPI_Type_free(&s.type);
        return 0;
    });
}
