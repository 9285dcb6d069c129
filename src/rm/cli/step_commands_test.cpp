/* The requests of commands, made from their options. */

#include "cli/step_commands.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(StepCommands, ListsAreTakenInAllForms)
{
    std::pair<const char *, const char *> forms[] = {
        {"0,2-3", "a,b"}, {"0+2-3", "a+b"}, {"[0,2-3]", "[a,b]"}, {"[0, 2-3]", "[a, b]"}};
    for (auto [leave, hosts] : forms) {
        ResizeOptions options;
        options.size = 3;
        options.leave = leave;
        options.hosts = hosts;
        auto request = resize_request(options);
        ASSERT_TRUE(request) << leave << hosts;
        EXPECT_EQ(request.value()["leave"], Json({0, 2, 3})) << leave;
        EXPECT_EQ(request.value()["hosts"], Json({"a", "b"})) << hosts;
    }
}

}  // namespace
}  // namespace elastic
