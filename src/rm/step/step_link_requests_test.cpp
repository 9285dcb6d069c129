/* StepLink: sizes and slots that a step requests. */

#include "step/step_link_fixture.h"

namespace elastic::rm {
namespace {

const char *const SIZE_REQUEST =
    R"(,"step":"4711","wish":1,"kind":"processes","size":8,"size_min":4,"size_max":8)";

TEST_F(StepLinkTest, a_size_request_is_reported_and_can_be_refused)
{
    send_history();
    event("adaptive");
    event("wish", std::string(SIZE_REQUEST) + R"(,"reason":"fine grid","rank":0)");
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequest>() == 1; }));
    const auto &size_request = std::get<StepSizeRequest>(events_.back()).size_request;
    EXPECT_EQ(size_request.mpiexec, "4711");
    EXPECT_EQ(size_request.number, 1u);
    EXPECT_EQ(size_request.size, 8);
    EXPECT_EQ(size_request.minimum, 4);
    EXPECT_EQ(size_request.reason, "fine grid");
    link_->refuse({1, 1, "4712", 1, "not this one"});
    link_->refuse({1, 1, "4711", 1, "too many"});
    ASSERT_TRUE(turn_until(
        [&] { return incoming().find("\"reason\":\"too many\"") != std::string::npos; }));
    EXPECT_EQ(incoming().find("not this one"), std::string::npos);
    event("wish_ended",
          R"(,"step":"4711","wish":1,"result":"refused","size":4,"reason":"too many")");
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequestEnded>() == 1; }));
    EXPECT_EQ(std::get<StepSizeRequestEnded>(events_.back()).result, "refused");
    link_->report_all();
    EXPECT_EQ(count<StepSizeRequest>(), 1u) << "it is open no more";
    EXPECT_EQ(count<StepSizeRequestEnded>(), 2u);
}

/* Number of queries for the slots of the step. */
size_t questions(const std::string &incoming)
{
    size_t count = 0;
    for (size_t at = incoming.find(R"("op":"slots")"); at != std::string::npos;
         at = incoming.find(R"("op":"slots")", at + 1))
        count++;
    return count;
}

TEST_F(StepLinkTest, slots_of_a_step_are_queried_when_they_change)
{
    send_history();
    ASSERT_TRUE(turn_until([this] { return questions(incoming()) == 1; }));
    EXPECT_NE(incoming_.find(R"("most":6)"), std::string::npos);
    event("wish", R"(,"step":"4711","wish":1,"kind":"slots","count":2,"hard":true,"hosts":[])");
    event("granted");
    queue_line(
        R"({"id":"slots","ok":true,"step":"4711","told":5,"granted":0,"hosts":[],"wishes":[]})");
    ASSERT_TRUE(turn_until([this] { return questions(incoming()) == 2; }))
        << "once more, and once only";
    queue_line(R"({"id":"slots","ok":true,"step":"4711","told":7,"granted":1,)"
        R"("hosts":[{"name":"n0","places":2}],)"
        R"("wishes":[{"wish":3,"kind":"slots","count":1,"hard":false,"hosts":["n1"],)"
        R"("exclusive":true}]})");
    ASSERT_TRUE(turn_until([this] { return count<StepSlots>() == 2; }));
    const auto &slots = std::get<StepSlots>(events_.back());
    EXPECT_EQ(slots.mpiexec, "4711");
    EXPECT_EQ(slots.reported, 7u);
    EXPECT_EQ(slots.granted, 1u);
    ASSERT_EQ(slots.held.size(), 1u);
    EXPECT_EQ(slots.held[0].node, "n0");
    EXPECT_EQ(slots.held[0].extra_slots, 2);
    ASSERT_EQ(slots.slot_requests.size(), 1u);
    EXPECT_EQ(slots.slot_requests[0].host, "n1");
    EXPECT_FALSE(slots.slot_requests[0].hard);
    EXPECT_TRUE(slots.slot_requests[0].exclusive);
    EXPECT_TRUE(slots.spawned.empty()) << "of an older mpiexec";
    EXPECT_FALSE(slots.held[0].exclusive);
    link_->grant({1, 1, "4712", 3, 2, {{"n1", 1}}});
    link_->grant({1, 1, "4711", 3, 2, {{"n1", 1}}});
    link_->refuse({1, 1, "4711", 3, "no"});
    ASSERT_TRUE(turn_until([this] { return incoming().find("refuse") != std::string::npos; }));
    EXPECT_NE(incoming_.find(R"("hosts":["n1:1"])"), std::string::npos);
    EXPECT_EQ(incoming_.find(R"("op":"grant")"), incoming_.rfind(R"("op":"grant")"));
    step_ = Descriptor();       /* mpiexec has ended */
    ASSERT_TRUE(turn_until([this] { return count<StepSlots>() == 3; }));
    EXPECT_TRUE(std::get<StepSlots>(events_.back()).over);
}

TEST_F(StepLinkTest, spawned_processes_are_queried_with_the_slots)
{
    send_history();
    ASSERT_TRUE(turn_until([this] { return questions(incoming()) == 1; }));
    queue_line(
        R"({"id":"slots","ok":true,"step":"4711","told":5,"granted":0,"hosts":[],"wishes":[]})");
    ASSERT_TRUE(turn_until([this] { return count<StepSlots>() == 1; }));
    event("spawned", R"(,"processes":5,"hosts":[{"name":"n0","processes":5}])");
    ASSERT_TRUE(turn_until([this] { return questions(incoming()) == 2; }));
    queue_line(R"({"id":"slots","ok":true,"step":"4711","told":7,"granted":0,"hosts":[],)"
               R"("wishes":[],"spawned":[{"name":"n0","processes":5}]})");
    ASSERT_TRUE(turn_until([this] { return count<StepSlots>() == 2; }));
    EXPECT_EQ(std::get<StepSlots>(events_.back()).spawned,
              (std::vector<NodeProcesses>{{"n0", 5}}));
}

TEST_F(StepLinkTest, a_malformed_report_of_slots_ends_the_connection)
{
    send_history();
    ASSERT_TRUE(turn_until([this] { return questions(incoming()) == 1; }));
    queue_line(R"({"id":"slots","ok":true,"step":"4711","told":5,"granted":0,)"
        R"("hosts":[{"name":"n0","places":-1}],"wishes":[]})");
    EXPECT_TRUE(is_broken());
}

TEST_F(StepLinkTest, a_size_that_all_processes_wait_for_is_marked)
{
    send_history();
    event("wish", R"(,"step":"4711","wish":1,"kind":"processes","modify":true,)"
                  R"("size":4,"size_min":4,"size_max":4)");
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequest>() == 1; }));
    EXPECT_TRUE(std::get<StepSizeRequest>(events_.back()).size_request.modify);
    EXPECT_FALSE(std::get<StepSizeRequest>(events_.back()).size_request.waits);
}

TEST_F(StepLinkTest, a_request_for_available_processes_only_is_marked)
{
    send_history();
    event("wish", std::string(SIZE_REQUEST) + R"(,"waits":true)");
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequest>() == 1; }));
    EXPECT_TRUE(std::get<StepSizeRequest>(events_.back()).size_request.waits);
}

TEST_F(StepLinkTest, only_the_last_of_earlier_size_requests_counts)
{
    queue_line(R"({"id":"events","ok":true,"oldest":1,"next":4})");
    event("wish", SIZE_REQUEST);
    event("wish_ended", R"(,"step":"4711","wish":1,"result":"granted","size":8)");
    event("wish",
          R"(,"step":"4711","wish":2,"kind":"processes","size":2,"size_min":2,"size_max":2)");
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequest>() == 1; }));
    EXPECT_EQ(std::get<StepSizeRequest>(events_.back()).size_request.number, 2u);
    EXPECT_EQ(count<StepSizeRequestEnded>(), 0u);
}

TEST_F(StepLinkTest, impossible_size_requests_are_dropped)
{
    send_history();
    uint64_t before = StepLink::counts().dropped;
    event("wish",
          R"(,"step":"4711","wish":1,"kind":"processes","size":3,"size_min":4,"size_max":8)");
    event("wish_ended", R"(,"step":"4711","wish":7,"result":"granted","size":8)");
    event("wish", SIZE_REQUEST);
    event("wish",
          R"(,"step":"4711","wish":2,"kind":"processes","size":2,"size_min":2,"size_max":2)");
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == before + 3; }));
    EXPECT_EQ(count<StepSizeRequest>(), 1u) << "the first is still open";
    event("wish_ended",
          R"(,"step":"4711","wish":1,"result":"withdrawn","size":8,"reason":"not wanted")");
    event("wish", R"(,"step":"4711","wish":3,"kind":"coffee","size":2,"size_min":2,"size_max":2)");
    ASSERT_TRUE(turn_until(
        [&] { return incoming().find("does not know such requests") != std::string::npos; }));
    EXPECT_EQ(count<StepSizeRequest>(), 1u);
}

TEST_F(StepLinkTest, a_step_that_has_ended_requests_nothing)
{
    send_history();
    event("wish", SIZE_REQUEST);
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequest>() == 1; }));
    step_ = Descriptor();
    ASSERT_TRUE(turn_until([&] { return count<StepSizeRequestEnded>() == 1; }));
    EXPECT_EQ(std::get<StepSizeRequestEnded>(events_.back()).result, "withdrawn");
}

TEST_F(StepLinkTest, hosts_of_joining_processes_have_their_gpus)
{
    send_history();
    event("adaptive");
    ResizeStep request{1, 1, 1, 0, 3, {}, {{"n0", 2}, {"n1", 1}}, "", {0b1001, 0b10, 0b1}};
    link_->resize(request);
    ASSERT_TRUE(turn_until([this] { return incoming().find("resize") != std::string::npos; }));
    EXPECT_NE(incoming_.find(R"("hosts":["n0:2=0,3,1","n1:1=0"])"), std::string::npos);
}

}  // namespace
}  // namespace elastic::rm
