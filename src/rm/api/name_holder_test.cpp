#include "api/name_holder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace elastic::rm {
namespace {

TEST(NameHolderTest, a_process_holds_until_it_ends)
{
    pid_t process = fork();
    if (process == 0) {
        for (;;)
            pause();
    }
    std::string holder = holder_of(process);
    EXPECT_FALSE(holder.empty());
    EXPECT_FALSE(has_ended(holder));
    kill(process, SIGKILL);
    siginfo_t end = {};
    waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | WNOWAIT);
    EXPECT_TRUE(has_ended(holder)) << "nobody has collected it yet";
    EXPECT_EQ(holder_of(process), "");
    waitpid(process, nullptr, 0);
    EXPECT_TRUE(has_ended(holder));
}

TEST(NameHolderTest, a_number_alone_is_nobody)
{
    std::string self = holder_of(getpid());
    EXPECT_TRUE(has_ended(self + "1")) << "started at another time";
    EXPECT_TRUE(has_ended("x"));
    EXPECT_FALSE(has_ended("")) << "not known";
    EXPECT_EQ(holder_of(0), "");
    EXPECT_EQ(holder_of(-1), "");
}

}  // namespace
}  // namespace elastic::rm
