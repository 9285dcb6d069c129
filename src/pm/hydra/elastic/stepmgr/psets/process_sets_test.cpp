/* Calls on process sets, as mpiexec passes them between proxies and the table of sets
 * (psets_test.cpp). */

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/proto/pset_call.h"

namespace elastic {
namespace {

class StepSetsTest : public testing::Test {
  protected:
    /* Two processes on node a, one on b, that have not reported whether they adapt. */
    void SetUp() override
    {
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
    }
    void call(uint32_t rank, uint32_t id, const SetCall &call)
    {
        mpiexec.report(0, rank == 2 ? 1 : 0, REPORT_SET_CALL, 0,
                       write_set_report(rank, id, write_set_call(call)));
        if (!std::exchange(all_have_begun, true))
            notify_starts(0);
    }
    /* All processes use MPI; `number`: of the query to their proxies. */
    void notify_starts(uint64_t number)
    {
        mpiexec.report(0, 0, REPORT_STARTED, 0, write_started({number, {0, 1}}));
        mpiexec.report(0, 1, REPORT_STARTED, 0, write_started({number, {2}}));
    }
    /* "0.1 to 2, call 7, code 0": group and proxy, uid, id, and code of the reply. */
    std::string answer() const
    {
        const SentMessage &last = mpiexec.sent.back();
        uint32_t head[3];
        if (last.command != STEP_SET_ANSWER || last.payload.size() < sizeof head)
            return "none";
        std::memcpy(head, last.payload.data(), sizeof head);
        return std::to_string(last.group) + "." + std::to_string(last.proxy) + " to " +
               std::to_string(head[0]) + ", call " + std::to_string(head[1]) + ", code " +
               std::to_string(head[2]);
    }
    /* Processes that may share the last reply, the caller last; "": none. */
    std::string others() const
    {
        const std::string &bytes = mpiexec.sent.back().others;
        std::string text;
        for (size_t at = sizeof(uint32_t); at + 2 * sizeof(uint32_t) <= bytes.size();
             at += 2 * sizeof(uint32_t)) {
            uint32_t run[2];
            std::memcpy(run, bytes.data() + at, sizeof run);
            for (uint32_t uid = run[0]; uid < run[0] + run[1]; uid++)
                text += (text.empty() ? "" : " ") + std::to_string(uid);
        }
        return text;
    }
    static SetMembers first_two()
    {
        std::vector<SetMembers::Run> runs = {{0, 2}};
        return *SetMembers::of_runs(runs);
    }

    FakeMpiexec mpiexec;
    bool all_have_begun = false;
};

TEST_F(StepSetsTest, answers_go_to_the_proxy_of_the_caller)
{
    call(2, 7, MakeFromList{"app://a", first_two()});
    EXPECT_EQ(answer(), "0.1 to 2, call 7, code 0");
    call(0, 1, LookupSet{"app://a"});
    EXPECT_EQ(answer(), "0.0 to 0, call 1, code 0");
    call(0, 2, LookupSet{"app://b"});
    EXPECT_EQ(answer(), "0.0 to 0, call 2, code " + std::to_string(PMI_SET_UNKNOWN));
}

TEST_F(StepSetsTest, all_proxies_report_ends_from_the_first_set_on)
{
    call(0, 1, ListSets{});
    EXPECT_EQ(mpiexec.sent_text(), "answer:0.0") << "nothing needs it yet";
    call(0, 2, MakeFromList{"app://a", first_two()});
    EXPECT_EQ(mpiexec.sent_text(1), "sets:0.0 sets:0.1 answer:0.0");
    call(0, 3, ListSets{});
    EXPECT_EQ(mpiexec.sent_text(4), "answer:0.0");
}

/* The reply to STEP_COMES, which is the last message. */
TEST_F(StepSetsTest, SI8_the_proxy_of_an_awaited_process_reports_its_arrival)
{
    auto send_request = [&](uint32_t id, uint32_t uid) {
        mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                       write_set_report(0, id, write_set_call(ChangeCall(QueryArrival{uid, 77}))));
        if (!std::exchange(all_have_begun, true))
            notify_starts(0);
    };
    auto notify = [&](int proxy, uint32_t comes) {
        std::string report = mpiexec.sent.back().payload.substr(0, sizeof(uint64_t));
        report.append(reinterpret_cast<const char *>(&comes), sizeof comes);
        mpiexec.report(0, proxy, REPORT_COMES, 0, report);
        return report;
    };
    auto comes = [&] { return mpiexec.sent.back().payload.substr(12); };
    for (uint32_t yes : {1u, 0u}) {
        send_request(1 + yes, 2);
        ASSERT_EQ(mpiexec.sent.back().command, STEP_COMES);
        EXPECT_EQ(mpiexec.sent.back().proxy, 1);
        std::string report = notify(1, yes);
        EXPECT_EQ(answer(), "0.0 to 0, call " + std::to_string(1 + yes) + ", code 0");
        EXPECT_EQ(comes(), std::string(reinterpret_cast<const char *>(&yes), sizeof yes));
        size_t before = mpiexec.sent.size();
        mpiexec.report(0, 1, REPORT_COMES, 0, report);
        EXPECT_EQ(mpiexec.sent.size(), before) << "it is answered once";
    }
    send_request(3, 2);
    ASSERT_EQ(mpiexec.sent.back().command, STEP_COMES);
    mpiexec.report(0, 1, REPORT_EXITED, 0, write_exited({2, 0}));
    mpiexec.disconnected(0, 1);
    EXPECT_EQ(answer(), "0.0 to 0, call 3, code 0");
    send_request(4, 2);
    EXPECT_EQ(answer(), "0.0 to 0, call 4, code 0") << "no process that has ended is queried";
    EXPECT_EQ(comes(), std::string(4, '\0'));
    send_request(5, 99);
    EXPECT_EQ(answer(), "0.0 to 0, call 5, code 0");
}

TEST_F(StepSetsTest, the_end_of_a_process_answers_those_who_waited_for_it)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    size_t before = mpiexec.sent.size();
    call(0, 2, GetData{{"app://a", {}}, "app://a", true, {"key"}});
    EXPECT_EQ(mpiexec.sent.size(), before);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(answer(), "0.0 to 0, call 2, code " + std::to_string(PMI_SET_MEMBER_ENDED));
}

TEST_F(StepSetsTest, no_notification_follows_the_end)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(0, 2, GetData{{"app://a", {}}, "app://a", true, {"key"}});
    mpiexec.exited(0, 0, 0);
    size_t before = mpiexec.sent.size();
    call(1, 3, PutData{"app://a", {{"key", "value"}}});
    EXPECT_EQ(mpiexec.sent.size(), before + 1);
    EXPECT_EQ(answer(), "0.0 to 1, call 3, code 0");
    mpiexec.disconnected(0, 0);
    before = mpiexec.sent.size();
    call(1, 4, ListSets{});
    EXPECT_EQ(mpiexec.sent.size(), before);
    EXPECT_EQ(mpiexec.last_event("unexpected").at("what"),
              "call on a set of rank 1 on node a, which has ended");
}

/* Calls with number 0 do not count as waiting calls of a process. */
TEST_F(StepSetsTest, what_has_an_answer_is_not_carried_out_for_nobody)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    for (int i = 0; i < 3; i++)
        call(0, 0, GetData{{"app://a", {}}, "app://a", true, {"key"}});
    EXPECT_EQ(mpiexec.status().at("unexpected"), 3);
    call(1, 2, PutData{"app://a", {{"key", "value"}}});
    call(0, 3, GetData{{"app://a", {}}, "app://a", false, {"key"}});
    EXPECT_EQ(answer(), "0.0 to 0, call 3, code 0");
    call(0, 0, MadeSet{1, PMI_SET_OP_UNION, {"app://a"}, first_two()});
    EXPECT_EQ(mpiexec.status().at("unexpected"), 3) << "this one may go unanswered";
}

TEST_F(StepSetsTest, reports_of_a_proxy_are_checked)
{
    mpiexec.report(0, 0, REPORT_SET_CALL, 0, "short");
    mpiexec.report(0, 0, REPORT_SET_CALL, 0, write_set_report(2, 1, write_set_call(ListSets{})));
    EXPECT_EQ(mpiexec.count_events("unexpected"), 2) << "rank 2 is another proxy's";
    mpiexec.report(0, 0, REPORT_SET_CALL, 0, write_set_report(0, 9, "rubbish"));
    EXPECT_EQ(answer(), "0.0 to 0, call 9, code " + std::to_string(PMI_SET_WRONG));
}

TEST_F(StepSetsTest, SM3_sets_are_listed_for_clients_a_page_at_a_time)
{
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":1,"op":"psets"})").at(0).at("psets"), Json::array());
    EXPECT_EQ(stepmgr_has_sets(mpiexec.core), 0);
    for (uint32_t id = 1; id <= 1001; id++)
        call(2, id, MakeFromList{id == 1 ? "app://a" : "", first_two()});
    EXPECT_EQ(stepmgr_has_sets(mpiexec.core), 1);
    Json page = mpiexec.send_request(1, R"({"id":1,"op":"psets"})").at(0);
    EXPECT_EQ(page.at("psets").size(), 1000u);
    EXPECT_EQ(page.at("more"), true);
    EXPECT_EQ(page.at("psets").at(0), Json({{"name", "app://a"},
                                            {"serial", 1},
                                            {"size", 2},
                                            {"state", "running"},
                                            {"uids", "0-1"}}));
    mpiexec.exited(0, 0, 1);
    page = mpiexec.send_request(1, R"({"id":1,"op":"psets","after":1000})").at(0);
    EXPECT_EQ(page.at("more"), false);
    EXPECT_EQ(page.at("psets").at(0).at("name"), "mpix://op/2.1000");
    EXPECT_EQ(page.at("psets").at(0).at("state"), "ended");
    EXPECT_EQ(
        mpiexec.send_request(1, R"({"id":1,"op":"psets","after":-1})").at(0).at("error").at("code"),
        "field");
}

TEST_F(StepSetsTest, SM3_a_list_of_sets_counts_their_queries)
{
    for (uint32_t id = 1; id <= 3; id++)
        call(2, id, LookupSet{"app://a"});
    call(2, 4, ListSets{});
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":1,"op":"psets"})").at(0).at("looks"), 3);
}

TEST_F(StepSetsTest, SM3_names_that_are_bound_and_unbound_are_reported)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(0, 2, MakeFromList{"app://b", first_two()});
    call(0, 3, MoveSet{"app://b", "app://a"});
    call(0, 4, FreeSet{"app://a"});
    call(0, 5, FreeSet{"app://a"});
    EXPECT_EQ(mpiexec.events(), "started set_made set_made set_freed set_freed set_made set_freed");
    Json made = mpiexec.last_event("set_made");
    EXPECT_EQ(made.at("name"), "app://a");
    EXPECT_EQ(made.at("size"), 2);
    EXPECT_EQ(made.at("uids"), "0-1");
    EXPECT_EQ(mpiexec.logged.at(3).at("reason"), "moved");
    EXPECT_EQ(mpiexec.last_event("set_freed").at("reason"), "freed");
    EXPECT_EQ(mpiexec.last_event("set_freed").at("serial"), made.at("serial"));
}

TEST_F(StepSetsTest, SM3_many_of_them_do_not_drown_other_events)
{
    for (uint32_t id = 1; id <= 100; id++)
        call(2, id, MakeFromList{"", first_two()});
    EXPECT_EQ(mpiexec.count_events("set_made"), 32);
    mpiexec.now_ms += 50;
    call(2, 101, MakeFromList{"", first_two()});
    EXPECT_EQ(mpiexec.count_events("set_made"), 33);
    EXPECT_EQ(mpiexec.last_event("sets_untold").at("count"), 68);
    call(2, 102, MakeFromList{"", first_two()});
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.exited(0, rank == 2 ? 1 : 0, rank);
    EXPECT_EQ(mpiexec.last_event("sets_untold").at("count"), 1);
}

TEST_F(StepSetsTest, SW2_the_world_of_each_epoch_is_a_set)
{
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.init(0, rank == 2 ? 1 : 0, rank);
    call(0, 1, LookupSet{"mpix://WORLD/0"});
    EXPECT_EQ(answer(), "0.0 to 0, call 1, code 0");
    mpiexec.send_request(1, R"({"id":1,"op":"resize","size":2})");
    for (int proxy : {0, 1})
        mpiexec.prepared(0, proxy, 1);
    call(0, 2, LookupSet{"mpix://WORLD/1"});
    EXPECT_EQ(answer(), "0.0 to 0, call 2, code " + std::to_string(PMI_SET_UNKNOWN))
        << "it is not agreed on";
    for (int proxy : {0, 1})
        mpiexec.frozen(0, proxy, 1, 12);
    call(0, 3, LookupSet{"mpix://WORLD/1"});
    EXPECT_EQ(answer(), "0.0 to 0, call 3, code 0") << "who has committed does not wait for others";
    EXPECT_NE(mpiexec.sent.back().payload.find("mpix://WORLD/1"), std::string::npos);
}

TEST_F(StepSetsTest, SB1_proxies_get_orders_for_texts_before_the_answer)
{
    const SetMembers all = *SetMembers::of_list(std::vector<uint32_t>{0, 1, 2});
    call(0, 1, JoinBcast{{"mpi://WORLD", all}, 0});
    EXPECT_EQ(mpiexec.sent_text(), "sets:0.0 sets:0.1 bcast:0.0 answer:0.0") << "ends matter now";
    call(2, 1, JoinBcast{{"mpi://WORLD", all}, 3});
    size_t before = mpiexec.sent.size();
    call(0, 2, GiveText{0, "text"});
    EXPECT_EQ(mpiexec.sent_text(before), "bcast:0.0 bcast:0.1 answer:0.0");
    before = mpiexec.sent.size();
    call(2, 2, TakeTurn{3, 4});
    EXPECT_EQ(mpiexec.sent_text(before), "");
    auto frozen = [&](int proxy, const BcastReport &count) {
        mpiexec.report(0, proxy, REPORT_BCAST, 0,
                       std::string(reinterpret_cast<const char *>(&count), sizeof count));
    };
    frozen(0, {1, 1, 2});
    frozen(1, {1, 1, 4});
    EXPECT_EQ(mpiexec.sent_text(before), "bcast:0.0 bcast:0.1 answer:0.1");
    EXPECT_NE(mpiexec.sent.back().payload.find("text"), std::string::npos);
    mpiexec.report(0, 0, REPORT_BCAST, 0, "short");
    frozen(0, {1, 1, 0});
    EXPECT_EQ(mpiexec.count_events("unexpected"), 2);
}

TEST_F(StepSetsTest, SB2_the_end_of_a_proxy_does_not_keep_a_text)
{
    const SetMembers all = *SetMembers::of_list(std::vector<uint32_t>{0, 1, 2});
    call(0, 1, JoinBcast{{"mpi://WORLD", all}, 0});
    call(2, 1, JoinBcast{{"mpi://WORLD", all}, 0});
    call(0, 2, GiveText{0, "text"});
    call(0, 3, TakeTurn{0, 2});
    const BcastReport count = {1, 1, 2};
    mpiexec.report(0, 0, REPORT_BCAST, 0,
                   std::string(reinterpret_cast<const char *>(&count), sizeof count));
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(answer(), "0.0 to 0, call 3, code " + std::to_string(PMI_SET_MEMBER_ENDED));
}

/* ---- what processes cache, and are notified together ---- */

TEST_F(StepSetsTest, cacheable_data_is_sent_to_all_of_a_proxy)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    EXPECT_EQ(others(), "");
    call(1, 1, LookupSet{"app://a"});
    EXPECT_EQ(others(), "0 1");
    call(0, 2, LookupSet{"app://a"});
    EXPECT_EQ(others(), "1 0");
    call(0, 3, LookupSet{"mpix://WORLD/0"});
    EXPECT_EQ(others(), "1 0");
    call(2, 1, LookupSet{"app://a"});
    EXPECT_EQ(others(), "") << "there are no others";
    mpiexec.exited(0, 0, 1);
    for (int proxy : {0, 1})
        mpiexec.report(0, proxy, REPORT_INVALIDATED, 0, write_number(1));
    call(0, 4, LookupSet{"app://a"});
    EXPECT_EQ(others(), "") << "it has ended";
}

TEST_F(StepSetsTest, SO7_uncached_data_is_sent_to_the_caller_alone)
{
    call(0, 1, MakeFromList{"app://b", first_two()});
    call(0, 2, MoveSet{"app://b", "app://a"});
    uint32_t id = 3;
    for (const char *name : {"app://a", "app://b", "mpix://ALL"}) {
        call(0, id, LookupSet{name});
        EXPECT_EQ(answer().substr(0, 18), "0.0 to 0, call " + std::to_string(id++) + ", ");
        EXPECT_EQ(others(), "") << name;
    }
}

TEST_F(StepSetsTest, reports_of_shared_answers_are_checked)
{
    const SetMembers one = *SetMembers::of_list(std::vector<uint32_t>{1});
    const SetMembers later = *SetMembers::of_list(std::vector<uint32_t>{3});
    auto shared = [&](const std::string &report) {
        mpiexec.report(0, 0, REPORT_SET_SHARED, 0, report);
    };
    shared(write_set_shared({one, {0, 1}}));
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
    shared(write_set_shared({one, {2}}));
    shared(write_set_shared({later, {0}}));
    shared(write_set_shared({one, {0}}).substr(0, 9));
    shared(std::string(4, '\xff'));
    shared("");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 5)
        << "another proxy's process, nobody's address, and malformed ones";
}

TEST_F(StepSetsTest, SA1_caches_are_invalid_before_others_are_notified)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(2, 1, LookupSet{"app://a"});
    size_t before = mpiexec.sent.size();
    call(0, 2, FreeSet{"app://a"});
    EXPECT_EQ(mpiexec.sent_text(before), "invalidate:0.1")
        << "of the proxy whose process was notified";
    call(1, 1, LookupSet{"app://a"});
    EXPECT_EQ(mpiexec.sent_text(before), "invalidate:0.1")
        << "no process caches that it is unknown";
    mpiexec.report(0, 1, REPORT_INVALIDATED, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(mpiexec.sent_text(before), "invalidate:0.1 answer:0.0 answer:0.0");
    EXPECT_EQ(answer(), "0.0 to 1, call 1, code " + std::to_string(PMI_SET_UNKNOWN));
}

TEST_F(StepSetsTest, a_set_without_notified_processes_is_freed_at_once)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(0, 2, MakeFromList{"app://b", first_two()});
    call(2, 1, LookupSet{"app://b"});
    size_t before = mpiexec.sent.size();
    call(0, 3, FreeSet{"app://a"});
    EXPECT_EQ(mpiexec.sent_text(before), "answer:0.0");
}

TEST_F(StepSetsTest, SA1_a_departing_proxy_has_no_cached_data)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(2, 1, LookupSet{"app://a"});
    call(0, 2, FreeSet{"app://a"});
    size_t before = mpiexec.sent.size();
    mpiexec.disconnected(0, 1);
    EXPECT_EQ(mpiexec.sent_text(before), "answer:0.0");
}

TEST_F(StepSetsTest, SA1_no_process_waits_for_a_disconnected_proxy)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(2, 1, LookupSet{"app://a"});
    mpiexec.disconnected(0, 1);
    size_t before = mpiexec.sent.size();
    call(0, 2, FreeSet{"app://a"});
    EXPECT_EQ(mpiexec.sent_text(before), "answer:0.0");
}

TEST_F(StepSetsTest, SA1_caches_are_invalidated_before_an_end_is_reported)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(2, 1, LookupSet{"app://a"});
    size_t before = mpiexec.sent.size();
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.sent_text(before), "invalidate:0.1");
    call(0, 2, LookupSet{"app://a"});
    EXPECT_EQ(mpiexec.sent_text(before), "invalidate:0.1");
    mpiexec.report(0, 1, REPORT_INVALIDATED, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(answer(), "0.0 to 0, call 2, code 0");
    mpiexec.report(0, 1, REPORT_INVALIDATED, 0, write_number(1));
    mpiexec.report(0, 1, REPORT_INVALIDATED, 0, "short");
    EXPECT_EQ(mpiexec.count_events("unexpected"), 2);
}

TEST_F(StepSetsTest, SO7_the_target_of_a_move_is_not_cached)
{
    call(0, 1, MakeFromList{"app://a", first_two()});
    call(0, 2, MoveSet{"app://a", "app://b"});
    call(2, 1, LookupSet{"app://b"});
    EXPECT_EQ(mpiexec.sent.back().payload.back(), '\0');
    size_t before = mpiexec.sent.size();
    call(0, 3, FreeSet{"app://b"});
    EXPECT_EQ(mpiexec.sent_text(before), "answer:0.0");
}

TEST_F(StepSetsTest, sets_of_the_launch_are_there_before_the_first_call)
{
    const uint32_t runs[][2] = {{0, 1}, {2, 1}};
    EXPECT_EQ(stepmgr_add_set(mpiexec.core, "app://ocean", runs, 2), 0);
    EXPECT_EQ(stepmgr_add_set(mpiexec.core, "app://ocean", runs, 2), -1);
    call(1, 1, LookupSet{"app://ocean"});
    notify_starts(1);
    EXPECT_EQ(answer(), "0.0 to 1, call 1, code 0");
}

}  // namespace
}  // namespace elastic
