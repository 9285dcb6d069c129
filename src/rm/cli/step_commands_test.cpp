/* The requests that commands make of their options. */

#include "cli/step_commands.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(StepCommands, RanksThatLeaveAreTakenInBothForms)
{
    for (const char *leave : {"0,2-3", "0+2-3"}) {
        ResizeWish wish;
        wish.size = 3;
        wish.leave = leave;
        auto request = resize_request(wish);
        ASSERT_TRUE(request) << leave;
        EXPECT_EQ(request.value()["leave"], Json({0, 2, 3})) << leave;
    }
}

}  // namespace
}  // namespace elastic
