/* The step as a whole, event by event, through the C interface. */

#include <gtest/gtest.h>

#include "fake_glue.h"

namespace elastic {
namespace {

constexpr uint32_t KILLED = 9;  /* wait status of a process that SIGKILL ended */

class StepTest : public testing::Test {
  protected:
    /* Two processes on node a (proxy 0) and b (proxy 1), both adaptive. */
    void start(const char *schedule)
    {
        glue.config.schedule = schedule;
        ASSERT_EQ(glue.create(), "");
        glue.place(0, {"a", "b"});
        glue.init(0, 0, 0);
        glue.init(0, 1, 1);
    }
    void resize(const std::string &fields)
    {
        Json answer = glue.ask(1, R"({"id":1,"op":"resize",)" + fields + "}").at(0);
        ASSERT_TRUE(answer.at("ok")) << answer;
    }
    /* Brings the expansion `group` of two processes, both on node b, to `ready`. */
    void join_two(int group, uint32_t epoch)
    {
        glue.place(group, {"b", "b"});
        for (uint32_t rank = 0; rank < 2; rank++) {
            glue.init(group, 0, rank);
            glue.ready(group, 0, rank, epoch);
        }
    }
    void freeze(uint32_t epoch)
    {
        glue.frozen(0, 0, epoch, 12);
        glue.frozen(0, 1, epoch, 17);
    }

    FakeGlue glue;
};

TEST_F(StepTest, schedule_grows_and_shrinks)
{
    start("4,1");
    ASSERT_EQ(glue.launches.size(), 1u);
    EXPECT_EQ(glue.launches[0].count, 2);
    EXPECT_EQ(glue.launches[0].pre, 2);
    EXPECT_EQ(glue.launches[0].first_uid, 2u);
    EXPECT_EQ(glue.launches[0].epoch, 1u);
    EXPECT_EQ(glue.sent_text(), "");
    join_two(1, 1);
    EXPECT_EQ(glue.sent_text(), "plan:0.0 plan:0.1 plan:1.0 freeze:0.0 freeze:0.1");
    EXPECT_EQ(glue.sent[3].payload, write_number(2));
    size_t seen = glue.sent.size();
    freeze(1);
    EXPECT_EQ(glue.sent_text(seen), "target:0.0 target:0.1");
    EXPECT_EQ(glue.sent.back().payload, write_number(17));
    seen = glue.sent.size();
    glue.committed(0, 0, 1);
    glue.committed(1, 0, 1);
    EXPECT_EQ(glue.sent.size(), seen);
    glue.committed(0, 1, 1);
    EXPECT_EQ(step_core_world_rank(glue.core, 1, 1), 3);

    /* The second entry follows at once: ranks 1 to 3 leave, nobody is launched. */
    EXPECT_EQ(glue.sent_text(seen), "release:0.0 release:0.1 release:1.0 plan:0.0 plan:0.1 "
                                    "plan:1.0 freeze:0.0 freeze:0.1 freeze:1.0");
    EXPECT_EQ(glue.launches.size(), 1u);
    freeze(2);
    glue.frozen(1, 0, 2, 40);
    for (auto [group, proxy] : {std::pair{0, 0}, {0, 1}, {1, 0}})
        glue.committed(group, proxy, 2);
    EXPECT_EQ(glue.status().at("size"), 1);
    EXPECT_EQ(glue.count_events("freed"), 0);
    glue.exited(0, 1, 1);
    glue.exited(1, 0, 0);
    glue.exited(1, 0, 1);
    EXPECT_EQ(glue.last_event("freed").at("hosts"), Json::parse(R"({"b":3})"));
    EXPECT_EQ(glue.status().at("state"), "running");
    glue.exited(0, 0, 0);
    EXPECT_EQ(glue.count_events("committed"), 2);
    EXPECT_EQ(glue.count_events("unexpected"), 0);
    EXPECT_TRUE(glue.killed.empty());
    EXPECT_TRUE(glue.told.empty());
}

}  // namespace
}  // namespace elastic
