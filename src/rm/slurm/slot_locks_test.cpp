/* Slots that steps of srun use are free again when their last process has ended. */

#include "slurm/slot_locks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace elastic::rm {
namespace {

using Slots = std::vector<bool>;

struct SlotLocksTest : testing::Test {
    SlotLocksTest()
    {
        int file = mkstemp(path);
        EXPECT_GE(file, 0);
        close(file);
    }
    ~SlotLocksTest() override { unlink(path); }

    SlotLocks open()
    {
        auto locks = SlotLocks::open(path);
        EXPECT_TRUE(locks) << (locks ? "" : locks.error());
        return std::move(locks.value());
    }

    char path[32] = "/tmp/slot-locks-XXXXXX";
};

TEST_F(SlotLocksTest, another_step_sees_which_slots_are_used)
{
    SlotLocks first = open(), second = open();
    EXPECT_TRUE(first.take({0, 2}));
    EXPECT_EQ(second.used(3), (Slots{true, false, true}));
    EXPECT_FALSE(second.take({2}));
    EXPECT_TRUE(second.take({1}));
    EXPECT_EQ(open().used(4), (Slots{true, true, true, false}));
}

TEST_F(SlotLocksTest, a_process_that_inherits_them_uses_them_until_it_ends)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t child;
    {
        SlotLocks step = open();
        ASSERT_TRUE(step.take({0}));
        child = fork();
        if (child == 0) {
            char byte;
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) < 0);
        }
    }
    close(ends[0]);
    SlotLocks other = open();
    EXPECT_EQ(other.used(1), Slots{true});
    close(ends[1]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(other.used(1), Slots{false});
}

TEST_F(SlotLocksTest, steps_are_numbered)
{
    SlotLocks first = open(), second = open();
    for (int number = 0; number < 4; number++) {
        SlotLocks &locks = number % 2 ? second : first;
        locks.begin();
        EXPECT_EQ(locks.next_step(), number);
        locks.end();
    }
}

TEST_F(SlotLocksTest, a_missing_file_is_named)
{
    auto locks = SlotLocks::open("/nowhere/slots");
    ASSERT_FALSE(locks);
    EXPECT_NE(locks.error().find("/nowhere/slots"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
