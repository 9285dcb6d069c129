// The adapt board with the real code of both sides: board.c of the proxy and src/mpi/adapt of the
// processes, which are threads here: two boards of two processes each, that probe as fast as they
// can while the proxy writes, freezes, withdraws, agrees and releases.  It must hold that all
// processes are notified at the same probe, the agreed one; none is notified of a withdrawn change;
// a plan stays as it is while a process reads it, also when it is withdrawn and others come.
// fake/litmus_steps.h makes rare orders common.  Also runs under the thread sanitizer.

#include "board_litmus.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

constexpr int PROCESSES = LITMUS_PROCESSES, BOARDS = 2, SLOTS = PROCESSES / BOARDS;
constexpr unsigned DEADLINE_S = 1800;
// of 8 bytes: more than a page, so that reading one takes a while
constexpr int PLAN_NUMBERS = 3000;

const std::array<const litmus_process *, PROCESSES> process = {&litmus_process_0, &litmus_process_1,
                                                               &litmus_process_2,
                                                               &litmus_process_3};

// State shared by the threads and the proxy's thread.
struct {
    std::atomic<bool> stop;
    std::atomic<int> notified; // processes that have seen TRUE in this epoch
    std::atomic<uint32_t> epoch_agreed; // 0: none
    std::atomic<int> boards_committed;
    std::atomic<uint64_t> target;
    std::atomic<int> spin; // max length of the pause between two probes
    std::atomic<long> plans_read;
    std::atomic<long> wrong_probe, not_agreed, torn_plan;
} shared;

void spin(int turns)
{
    for (int i = 0; i < turns; i++)
        asm volatile("");
}

// Until the value is reached.
void await(std::atomic<int> &value, int wanted)
{
    for (int now = value; now < wanted; now = value)
        value.wait(now);
}

// ---- processes

void live(int rank, unsigned seed)
{
    std::minstd_rand random(seed);
    uint32_t epoch = 0;

    for (long turn = 0; !shared.stop; turn++) {
        if (turn % 64 == 0)
            std::this_thread::yield(); // else a running thread gets far ahead of the others
        if (int most = shared.spin.load(std::memory_order_relaxed))
            spin(int(random() % unsigned(most)));
        if (!process[rank]->probe())
            continue;
        epoch++;
        if (shared.epoch_agreed != epoch)
            shared.not_agreed++;
        if (process[rank]->count() != shared.target)
            shared.wrong_probe++;
        // the window: all processes arrive here before one commits
        shared.notified++;
        shared.notified.notify_all();
        await(shared.notified, PROCESSES * int(epoch));
        process[rank]->commit();
    }
}

// ---- proxy

class Proxy {
  public:
    Proxy()
    {
        for (auto &board : boards) {
            if (HYD_board_create(&board, "litmus", SLOTS))
                abort();
        }
        for (int rank = 0; rank < PROCESSES; rank++)
            process[rank]->open(&boards[rank / SLOTS], rank % SLOTS, rank);
    }
    ~Proxy()
    {
        for (auto &board : boards)
            HYD_board_destroy(&board);
    }

    // One adaptation, before which some may be withdrawn.
    void adapt(uint32_t epoch)
    {
        shared.spin = random() % 3 ? int(random() % 200) : 0;
        slot(epoch);
        while (random() % 3 == 0) {
            if (random() % 2)
                freeze();
            pause();
            for (auto &board : boards)
                HYD_board_thaw(&board);
            pause();
            slot(epoch);
        }
        uint64_t target = freeze();
        pause();
        shared.target = target;
        shared.epoch_agreed = epoch;
        for (auto &board : boards)
            HYD_board_target(&board, epoch, target);
        await(shared.boards_committed, BOARDS * int(epoch));
        for (auto &board : boards)
            HYD_board_release(&board, epoch);
        pause();
    }

  private:
    std::array<HYD_board, BOARDS> boards{};
    std::minstd_rand random{1};
    uint64_t serial = 0;

    void pause() { spin(int(random() % 2000)); }

    void slot(uint32_t epoch)
    {
        size_t members_end = sizeof(pmi_adapt_plan) + PROCESSES * sizeof(pmi_adapt_member);
        size_t numbers = (members_end + sizeof(pmi_adapt_host)) / 8 + PLAN_NUMBERS;
        std::vector<uint64_t> bytes(numbers, ++serial);
        auto *plan = reinterpret_cast<pmi_adapt_plan *>(bytes.data());
        *plan = {};
        plan->magic = PMI_ADAPT_MAGIC;
        plan->bytes = bytes.size() * 8;
        plan->epoch = epoch;
        plan->pre = PROCESSES;
        plan->n_hosts = 1;
        plan->members_offset = sizeof(*plan);
        plan->hosts_offset = members_end;
        plan->deadline_ms = serial;
        auto *members = reinterpret_cast<pmi_adapt_member *>(plan + 1);
        for (unsigned rank = 0; rank < PROCESSES; rank++)
            members[rank] = {rank, 0, 0, 0, members_end};
        for (auto &board : boards) {
            if (HYD_board_assign(&board, plan, plan->bytes, SLOTS))
                abort();
            pause();
        }
    }

    uint64_t freeze()
    {
        uint64_t target = 0;
        for (auto &board : boards)
            target = std::max(target, HYD_board_freeze(&board, random() % 8 ? 1 : 0));
        return target;
    }
};

} // namespace

void litmus_plan_read(const pmi_adapt_plan *plan)
{
    const auto *numbers = reinterpret_cast<const uint64_t *>(plan);
    size_t count = plan->bytes / 8;

    shared.plans_read++;
    for (size_t i = count - PLAN_NUMBERS; i < count; i++) {
        if (i % (PLAN_NUMBERS / 4) == 0)
            std::this_thread::yield(); // lets the proxy continue
        if (numbers[i] != plan->deadline_ms) {
            shared.torn_plan++;
            return;
        }
    }
}

void litmus_line_sent(const char *line)
{
    if (strncmp(line, "cmd=adapt_committed ", 20) == 0)
        shared.boards_committed++;
    shared.boards_committed.notify_all();
}

TEST(BoardLitmus, all_are_notified_at_the_agreed_probe)
{
    const char *given = getenv("ELASTIC_LITMUS_EPOCHS");
    const uint32_t epochs = given ? uint32_t(atoi(given)) : 100;
    alarm(DEADLINE_S); // threads that wait for each other for ever can only be ended all at once
    Proxy proxy;
    std::vector<std::thread> threads;

    for (int rank = 0; rank < PROCESSES; rank++)
        threads.emplace_back(live, rank, unsigned(rank + 1));
    for (uint32_t epoch = 1; epoch <= epochs; epoch++)
        proxy.adapt(epoch);
    shared.stop = true;
    for (auto &thread : threads)
        thread.join();
    alarm(0);
    EXPECT_EQ(shared.notified, PROCESSES * int(epochs));
    EXPECT_EQ(shared.wrong_probe, 0)
        << "of so many were notified at another probe than the agreed one";
    EXPECT_EQ(shared.not_agreed, 0) << "were notified of what nobody agreed on";
    EXPECT_EQ(shared.torn_plan, 0) << "plans changed while they were read";
    EXPECT_GT(shared.plans_read, 0);
}

TEST(Board, cannot_be_made_shorter)
{
    HYD_board board{};
    ASSERT_EQ(HYD_board_create(&board, "sealed", 1), 0);
    EXPECT_NE(ftruncate(board.fd, 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(board.fd, off_t(board.bytes) + 4096), 0) << "plans need space";
    HYD_board_destroy(&board);
}
