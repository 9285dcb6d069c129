/* StepLink with steps that are correct, send false data, send too much or violate the protocol. */

#include "step/step_link_fixture.h"

namespace elastic::rm {
namespace {

TEST_F(StepLinkTest, SL1_processes_end_by_themselves)
{
    send_history();
    event("rigid");
    event("adaptive");
    event("left", R"(,"epoch":1,"leaving":[0,2],"size":2)");
    ASSERT_TRUE(turn_until([&] { return count<StepLeft>() == 1; }));
    EXPECT_EQ(std::get<StepLeft>(events_.back()).leave, (std::vector<int>{0, 2}));
    EXPECT_EQ(count<StepAdaptive>(), 1u) << "SW3";
    resize(1);
    commit(1, 2);
    event("left", R"(,"epoch":3,"leaving":[1],"size":3)");
    ASSERT_TRUE(turn_until([&] { return count<StepLeft>() == 2; }));
    EXPECT_EQ(link_->epoch(), 3u);
    events_.clear();
    link_->report_all();          /* by epoch */
    std::vector<uint64_t> epochs;
    for (const EventContent &content : events_) {
        if (const auto *left = std::get_if<StepLeft>(&content))
            epochs.push_back(left->epoch);
        else if (const auto *committed = std::get_if<StepCommitted>(&content))
            epochs.push_back(committed->epoch);
    }
    EXPECT_EQ(epochs, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(StepLinkTest, a_lost_host_is_known)
{
    send_history();
    EXPECT_EQ(link_->lost_host(), "");
    event("host_lost", R"(,"host":"h2")");
    ASSERT_TRUE(turn_until([&] { return !link_->lost_host().empty(); }));
    EXPECT_EQ(link_->lost_host(), "h2");
    event("host_lost", R"(,"host":")" + std::string(256, 'h') + "\"");
    ASSERT_TRUE(turn_until([&] { return count<StepBroken>() == 1; }));
}

TEST_F(StepLinkTest, SM3_notified_processes_and_their_answers_are_recorded)
{
    send_history();
    event("adaptive");
    resize(1);
    event("requested", R"(,"request":9,"tag":"1","time_ms":100)");
    event("told", R"(,"request":9,"uid":0,"tag":1,"name":"mpix://rc/1","time_ms":900)");
    event("told", R"(,"request":9,"uid":3,"tag":1,"name":"mpix://rc/1","time_ms":950)");
    event("accepted", R"(,"request":9,"uid":3,"tag":1,"time_ms":1000)");
    event("committed", R"(,"request":9,"epoch":1,"time_ms":1020)");
    event("accepted", R"(,"request":8,"uid":3,"tag":1)");
    ASSERT_TRUE(turn_until([&] { return count<StepCommitted>() == 1; }));
    EXPECT_EQ(std::get<StepCommitted>(events_.back()).standstill_ms, 20) << "from the answer on";
    std::string seen;
    auto see = [&] {
        seen.clear();
        for (const EventContent &content : events_) {
            if (const auto *change = std::get_if<StepSetChange>(&content))
                seen += std::to_string(change->request) + "." + std::to_string(change->number) +
                    " " + to_string(change->stage) + " " + std::to_string(change->uid) + "; ";
        }
        return seen;
    };
    EXPECT_EQ(see(), "1.1 told 0; 1.2 told 3; 1.3 accepted 3; ");
    events_.clear();
    link_->report_all();
    EXPECT_EQ(see(), "1.1 told 0; 1.2 told 3; 1.3 accepted 3; ") << "before the end";
    EXPECT_TRUE(std::holds_alternative<StepCommitted>(events_.back()));
}

TEST_F(StepLinkTest, a_change_of_sets_that_nobody_has_answered_stops_nobody)
{
    send_history();
    resize(1);
    event("requested", R"(,"request":1,"tag":"1","time_ms":100)");
    event("committed", R"(,"request":1,"epoch":1,"time_ms":50000)");
    ASSERT_TRUE(turn_until([&] { return count<StepCommitted>() == 1; }));
    EXPECT_EQ(std::get<StepCommitted>(events_.back()).standstill_ms, 0);
    event("told", R"(,"request":1,"uid":-1)");
    EXPECT_TRUE(is_broken());
}

TEST_F(StepLinkTest, ends_that_cannot_be_are_dropped)
{
    send_history();
    uint64_t before = StepLink::counts().dropped;
    event("left", R"(,"epoch":2,"leaving":[0])");
    event("left", R"(,"epoch":1,"leaving":[])");
    event("requested", R"(,"request":1)");
    event("left", R"(,"epoch":1,"leaving":[0])");
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == before + 3; }));
    event("left", R"(,"epoch":1,"leaving":[1,0])");
    EXPECT_TRUE(is_broken()) << "ranks rise";
    EXPECT_EQ(count<StepLeft>(), 0u);
}

TEST_F(StepLinkTest, a_good_step_is_resized)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    resize(1);
    ASSERT_TRUE(turn_until([&] { return incoming().find("\"tag\":\"1\"") != std::string::npos; }));
    queue_line(R"({"id":"resize-1","ok":true,"request":1})");
    commit(1, 1);
    event("freed", R"(,"epoch":1)");
    ASSERT_TRUE(turn_until([&] { return count<StepFreed>() == 1; }));
    EXPECT_EQ(count<StepAccepted>(), 1u);
    EXPECT_EQ(count<StepReady>(), 1u);
    EXPECT_EQ(count<StepCommitted>(), 1u);
    EXPECT_EQ(link_->epoch(), 1u);
}

TEST_F(StepLinkTest, sizes_are_passed_on_if_they_are_a_rule)
{
    uint64_t dropped = StepLink::counts().dropped;
    send_history();
    event("sizes", R"(,"rule":"2-8&multiple:2")");
    event("sizes", R"(,"rule":"2 8")");
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == dropped + 1; }));
    ASSERT_EQ(count<StepSizes>(), 1u);
    link_->report_all();
    ASSERT_EQ(count<StepSizes>(), 2u);
    EXPECT_EQ(std::get<StepSizes>(events_.back()).rule, "2-8&multiple:2");
}

constexpr const char *SAMPLE =
    R"(,"ok":true,"available":true,"epoch":0,"size":2,"processes":2,"stale":0,)"
    R"("progress":{"probes":7,"ms":1000},"loops":[]})";

TEST_F(StepLinkTest, a_step_is_queried_for_its_performance)
{
    EXPECT_FALSE(link_->query_performance(1000)) << "its past is not known yet";
    send_history();
    ASSERT_TRUE(turn_until([&] { return link_->query_performance(1000); }));
    EXPECT_TRUE(link_->query_performance(1000)) << "the same question";
    ASSERT_TRUE(turn_until([&] { return incoming().find("performance-1") != std::string::npos; }));
    EXPECT_NE(incoming().find("\"interval_ms\":1000"), std::string::npos) << incoming();
    queue_line(R"({"id":"performance-1")" + std::string(SAMPLE));
    ASSERT_TRUE(turn_until([&] { return count<StepSampled>() == 1; }));
    EXPECT_EQ(std::get<StepSampled>(events_.back()).sample.probes, 7);
    EXPECT_EQ(incoming().find("performance-2"), std::string::npos);
    reads_ = false;
    ASSERT_TRUE(link_->query_performance(1000));
    queue_line(R"({"id":"performance-2")" + std::string(SAMPLE));
    ASSERT_TRUE(turn_until([&] { return answers_.size() == 2; }));
    EXPECT_EQ(count<StepSampled>(), 1u) << "samples for a query do not reach the core";
}

TEST_F(StepLinkTest, samples_that_nobody_requested_are_dropped)
{
    uint64_t dropped = StepLink::counts().dropped;
    send_history();
    queue_line(R"({"id":"performance-0")" + std::string(SAMPLE));
    queue_line(R"({"id":"performance-1")" + std::string(SAMPLE));
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == dropped + 2; }));
    ASSERT_TRUE(link_->query_performance(1000));
    for (int i = 0; i < 3; i++)
        queue_line(R"({"id":"performance-1")" + std::string(SAMPLE));
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == dropped + 4; }));
    EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(StepLinkTest, a_sample_that_cannot_be_is_dropped_and_one_of_wrong_types_breaks)
{
    uint64_t dropped = StepLink::counts().dropped;
    send_history();
    ASSERT_TRUE(turn_until([&] { return link_->query_performance(1000); }));
    queue_line(R"({"id":"performance-1","ok":true,"available":true,"epoch":0,"size":2,)"
        R"("processes":3,"stale":0,)"
        R"("progress":{"probes":7,"ms":1000},"loops":[]})");
    ASSERT_TRUE(turn_until([&] { return StepLink::counts().dropped == dropped + 1; }));
    EXPECT_TRUE(answers_.empty());
    ASSERT_TRUE(link_->query_performance(1000));
    queue_line(R"({"id":"performance-2","ok":true,"available":true,"epoch":"x"})");
    ASSERT_TRUE(is_broken());
    EXPECT_NE(std::get<StepBroken>(events_.back()).reason.find("'epoch'"), std::string::npos);
    EXPECT_FALSE(link_->query_performance(1000));
}

TEST_F(StepLinkTest, a_step_without_performance_reports_that)
{
    send_history();
    ASSERT_TRUE(turn_until([&] { return link_->query_performance(1000); }));
    queue_line(R"({"id":"performance-1","ok":false,)"
        R"("error":{"code":"operation","message":"operation is not known"}})");
    ASSERT_TRUE(turn_until([&] { return answers_.size() == 1; }));
    EXPECT_FALSE(answers_[0].available);
    EXPECT_EQ(answers_[0].reason, "operation is not known");
    EXPECT_EQ(count<StepSampled>(), 0u);
}

TEST_F(StepLinkTest, an_answer_of_a_wrong_type_breaks_the_step_and_nothing_else)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    resize(1);
    queue_line(R"({"id":"resize-1","ok":"x"})");
    event("freed", R"(,"epoch":0)");    /* is not read any more */
    ASSERT_TRUE(is_broken());
    EXPECT_EQ(count<StepFreed>(), 0u);
    resize(2);
    EXPECT_EQ(count<StepRefused>(), 1u);
}

TEST_F(StepLinkTest, a_line_without_an_end_breaks_it)
{
    send_history();
    outgoing_ += std::string(60 << 20, 'x');
    ASSERT_TRUE(is_broken());
    EXPECT_GT(outgoing_.size(), size_t{50} << 20) << "it was read on and on";
}

TEST_F(StepLinkTest, a_deep_line_breaks_it)
{
    queue_line(R"({"event":"adaptive","seq":1,"x":)" + std::string(200000, '[') +
        std::string(200000, ']') + "}");
    ASSERT_TRUE(is_broken());
    EXPECT_EQ(count<StepAdaptive>(), 0u);
}

TEST_F(StepLinkTest, numbers_that_do_not_rise_break_it)
{
    event("adaptive");
    seq_ = 0;
    event("adaptive");
    ASSERT_TRUE(is_broken());
}

TEST_F(StepLinkTest, what_cannot_be_is_dropped_and_counted)
{
    uint64_t dropped = StepLink::counts().dropped;
    send_history();
    event("adaptive");
    event("rigid");
    event("requested", R"(,"request":1,"tag":"99")");   /* no request was made */
    event("committed", R"(,"request":1,"epoch":7)");
    event("committed", R"(,"request":5,"epoch":1)");
    event("freed", R"(,"epoch":9007199254740992)");
    event("unheard_of");
    event("freed", R"(,"epoch":0)");
    ASSERT_TRUE(turn_until([&] { return count<StepFreed>() == 1; }));
    EXPECT_EQ(StepLink::counts().dropped, dropped + 5);
    EXPECT_EQ(events_.size(), 2u);
    EXPECT_EQ(link_->epoch(), 0u);
}

TEST_F(StepLinkTest, nothing_is_read_while_something_waits_to_be_stored)
{
    stored_ = true;
    send_history();
    event("adaptive");
    for (int i = 0; i < 1000; i++)
        event("freed", R"(,"epoch":)" + std::to_string(0));
    ASSERT_TRUE(turn_until([&] { return !events_.empty() && outgoing_.empty(); }));
    loop_.after(100, [this] { loop_.stop(); });
    loop_.run([] {});
    EXPECT_EQ(events_.size(), 1u);
    link_->resume();
    ASSERT_TRUE(turn_until([&] { return events_.size() == 2; }));
}

TEST_F(StepLinkTest, reports_have_a_rate)
{
    stored_ = true;
    send_history();
    int64_t begin_ms = monotonic_ms();
    for (uint64_t request = 1; request <= 500; request++)
        commit(request, request);
    last_request_ = 500;
    size_t seen = 0;
    ASSERT_TRUE(turn_until([&] {
        if (events_.size() > seen)
            link_->resume();
        seen = events_.size();
        return count<StepCommitted>() == 500;
    }));
    /* 1500 reports: 1000 at once, then 100 in a second. */
    EXPECT_GT(monotonic_ms() - begin_ms, 4000);
}

TEST_F(StepLinkTest, old_use_expires)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    for (uint64_t request = 1; request <= 200; request++) {
        resize(request);
        commit(request, request);
        ASSERT_TRUE(turn_until([&] { return count<StepCommitted>() == request; }));
    }
    events_.clear();
    link_->report_all();
    EXPECT_LT(events_.size(), 150u);
    EXPECT_GT(events_.size(), 60u);
}

TEST_F(StepLinkTest, a_step_that_does_not_read_is_cut_off)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    std::vector<int> leave(100000, 1000000);
    for (uint64_t request = 1; request <= 10; request++) {
        last_request_ = request;
        link_->resize({1, 1, request, 0, 4, leave, {}, "test"});
    }
    ASSERT_TRUE(is_broken());
}

TEST_F(StepLinkTest, a_long_list_of_ranks_becomes_ranges)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    std::vector<int> leave;
    for (int rank = 10; rank < 100000; rank++)
        leave.push_back(rank);
    last_request_ = 1;
    link_->resize({1, 1, 1, 0, 10, leave, {}, "test"});
    ASSERT_TRUE(
        turn_until([&] { return incoming().find(R"("op":"resize")") != std::string::npos; }));
    EXPECT_NE(incoming_.find(R"("leave":"10-99999")"), std::string::npos) << incoming_;
}

class LargeStepLinkTest : public StepLinkTest {
  protected:
    LargeStepLinkTest() : StepLinkTest(HOSTS) {}
    static constexpr int HOSTS = 10000;
};

TEST_F(LargeStepLinkTest, processes_join_on_ten_thousand_hosts_of_long_names)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return count<StepAdaptive>() == 1; }));
    std::vector<Block> joining;
    for (int i = 1; i <= HOSTS; i++)
        joining.push_back({std::string(200, 'n') + std::to_string(i), 1});
    last_request_ = 1;
    link_->resize({1, 1, 1, 0, HOSTS + 1, {}, joining, "test"});
    std::string last = joining.back().node + ":1\"";
    ASSERT_TRUE(turn_until([&] { return incoming().find(last) != std::string::npos; }));
    EXPECT_EQ(count<StepBroken>(), 0u);
    commit(1, 1);
    ASSERT_TRUE(turn_until([&] { return count<StepCommitted>() == 1; }));
}

TEST_F(StepLinkTest, the_end_of_a_step_is_no_break)
{
    send_history();
    event("adaptive");
    ASSERT_TRUE(turn_until([&] { return outgoing_.empty(); }));
    step_.reset();
    resize(1);
    ASSERT_TRUE(turn_until([&] {
        if (count<StepRefused>() == 0)
            resize(last_request_ + 1);
        return count<StepRefused>() > 0;
    }));
    EXPECT_EQ(count<StepAdaptive>(), 1u);
    EXPECT_EQ(count<StepBroken>(), 0u);
}

}  // namespace
}  // namespace elastic::rm
