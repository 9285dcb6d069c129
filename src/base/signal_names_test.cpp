#include "base/signal_names.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace elastic::rm {
namespace {

TEST(SignalNamesTest, each_spelling_is_the_same_signal)
{
    for (const char *text : {"USR1", "SIGUSR1", "usr1", "sigusr1"})
        EXPECT_EQ(signal_number(text), SIGUSR1) << text;
    EXPECT_EQ(signal_number(std::to_string(SIGUSR1)), SIGUSR1);
    EXPECT_EQ(signal_number("9"), SIGKILL);
    EXPECT_STREQ(signal_name(signal_number("winch")), "WINCH");
}

TEST(SignalNamesTest, others_are_refused)
{
    for (const char *text : {"", "SIG", "STOP", "19", "0", "-9", "09", "USR3", "USR1 ", "1e1"})
        EXPECT_EQ(signal_number(text), 0) << text;
    EXPECT_STREQ(signal_name(0), "?");
    EXPECT_NE(known_signals().find("HUP, INT"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
