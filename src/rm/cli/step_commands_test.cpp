/* The requests that commands make of their options. */

#include "cli/step_commands.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(StepCommands, RanksThatLeaveAreTakenInBothForms)
{
    for (const char *leave : {"0,2-3", "0+2-3"}) {
        ResizeOptions options;
        options.size = 3;
        options.leave = leave;
        auto request = resize_request(options);
        ASSERT_TRUE(request) << leave;
        EXPECT_EQ(request.value()["leave"], Json({0, 2, 3})) << leave;
    }
}

}  // namespace
}  // namespace elastic
