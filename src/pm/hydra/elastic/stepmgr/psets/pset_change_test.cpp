/* Changes through process sets, from the request to the end: pset_changes.h and its table, and the sets they make. */

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "stepmgr/state/adaptation_table.h"
#include "stepmgr/sim/fake_mpiexec.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/proto/task_call.h"
#include "stepmgr/common/size_request.h"

namespace elastic {
namespace {

/* ---- the table -------------------------------------------------------------------------------------------- */

constexpr int STATES = static_cast<int>(AdaptState::FAILED) + 1;
constexpr int EVENTS = static_cast<int>(AdaptEvent::ADDED) + 1;

template <class Function> void for_each_row(Function function)
{
    for (int s = 0; s < STATES; s++) {
        for (int e = 0; e < EVENTS; e++) {
            if (const auto *row = find_set_transition(AdaptState(s), AdaptEvent(e)))
                function(*row);
        }
    }
}

TEST(SetChangeTableTest, every_state_that_is_reached_has_a_way_to_an_end)
{
    std::set<AdaptState> reached = {AdaptState::ACCEPTED}, ends;
    for (int round = 0; round < STATES; round++) {
        for_each_row([&](const AdaptTransition &row) {
            if (reached.contains(row.state))
                reached.insert(row.next);
            if (is_end(row.next) || ends.contains(row.next))
                ends.insert(row.state);
        });
    }
    for (AdaptState state : reached)
        EXPECT_TRUE(is_end(state) || ends.contains(state)) << to_string(state);
    EXPECT_FALSE(reached.contains(AdaptState::FREEZING)) << "there is no window";
    EXPECT_FALSE(reached.contains(AdaptState::AGREED));
}

TEST(SetChangeTableTest, SR3_a_notified_change_is_not_withdrawn_by_request)
{
    for (AdaptState state : {AdaptState::TOLD, AdaptState::ORPHANED, AdaptState::TAKEN}) {
        EXPECT_FALSE(find_set_transition(state, AdaptEvent::WITHDRAW)) << to_string(state);
        EXPECT_FALSE(before_agreement(state));
    }
}

TEST(SetChangeTableTest, joining_processes_are_removed_whenever_a_change_fails)
{
    for_each_row([](const AdaptTransition &row) {
        bool undone = row.next == AdaptState::WITHDRAWN || row.next == AdaptState::FAILED;
        if (undone && row.state != AdaptState::ACCEPTED) {
            EXPECT_EQ(row.action, AdaptAction::REMOVE_JOINERS)
                << to_string(row.state) << ", " << to_string(row.event);
        }
    });
}

/* ---- the step ----------------------------------------------------------------------------------------------- */

class SetChangeTest : public testing::Test {
  protected:
    /* Two processes on node a, one on b, none of which has called MPI_Init. */
    void SetUp() override
    {
        ASSERT_EQ(mpiexec.create(), "");
        mpiexec.start_group(0, {"a", "a", "b"});
    }
    template <class Call> void call(uint32_t uid, const Call &call)
    {
        auto [group, proxy, rank] = where(uid);
        mpiexec.report(group, proxy, REPORT_SET_CALL, 0,
                       write_set_report(rank, ++ids[uid], write_set_call(call)));
        answer_at_once();
    }
    /* SA1, SR1: as proxies do. */
    void answer_at_once()
    {
        for (; seen < mpiexec.sent.size(); seen++) {
            const SentMessage message = mpiexec.sent[seen];
            if (message.command == STEP_FORGET || message.command == STEP_BY_SETS)
                mpiexec.report(message.group, message.proxy, REPORT_FORGOTTEN, 0, message.payload);
            if (message.group == 0 &&
                (message.command == STEP_SETS || message.command == STEP_STARTS))
                notify_starts(message);
        }
    }
    void notify_starts(const SentMessage &message)
    {
        StartedReport started;
        if (message.command == STEP_STARTS)
            std::memcpy(&started.number, message.payload.data(), sizeof started.number);
        for (uint32_t uid : begun) {
            if (std::get<1>(where(uid)) == message.proxy)
                started.ranks.push_back(uid);
        }
        mpiexec.report(0, message.proxy, REPORT_STARTED, 0, write_started(started));
    }
    /* The launch, then additions of two on node b each. */
    static std::tuple<int, int, uint32_t> where(uint32_t uid)
    {
        return uid < 3 ? std::tuple(0, uid == 2 ? 1 : 0, uid)
                       : std::tuple(int(uid - 3) / 2 + 1, 0, (uid - 3) % 2);
    }
    static uint32_t number_at(const std::string &payload, size_t at)
    {
        uint32_t number = 0;
        EXPECT_LE(at + sizeof number, payload.size());
        std::memcpy(&number, payload.data() + at, sizeof number);
        return number;
    }
    /* To this process' last call, from its code on; "": it waits. */
    std::string answer_to(uint32_t uid)
    {
        answer_at_once();
        for (auto message = mpiexec.sent.rbegin(); message != mpiexec.sent.rend(); ++message) {
            if (message->command == STEP_SET_ANSWER && number_at(message->payload, 0) == uid &&
                number_at(message->payload, 4) == ids.at(uid))
                return message->payload.substr(8);
        }
        return "";
    }
    static constexpr uint32_t WAITS = UINT32_MAX;
    uint32_t code(uint32_t uid)
    {
        return answer_to(uid).empty() ? WAITS : number_at(answer_to(uid), 0);
    }
    /* "1 mpix://rc/1 1": kind, delta and tag in the answer to GetChange. */
    std::string notified(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        if (code(uid) != PMI_SET_OK)
            return "code " + std::to_string(code(uid));
        uint32_t bytes = number_at(answer, 8);
        return std::to_string(number_at(answer, 4)) + " " + answer.substr(12, bytes) + " " +
               std::to_string(number_at(answer, 12 + bytes));
    }
    std::string state_of(const std::string &name)
    {
        const Json answer = mpiexec.send_request(1, R"({"id":1,"op":"psets"})").at(0);
        for (const Json &set : answer.at("psets")) {
            if (set.at("name") == name)
                return set.at("state").get<std::string>() + " " + set.at("uids").get<std::string>();
        }
        return "none";
    }
    void resize(int size, const std::string &more = "")
    {
        mpiexec.send_request(1, R"({"id":1,"op":"resize","size":)" + std::to_string(size) + more +
                                    "}");
    }
    /* As a joining process does. */
    void await_accept(uint32_t uid, const std::string &bc = "", bool introduced = false)
    {
        call(uid, EnterJob{bc});
        call(uid, AwaitAccept{introduced});
    }
    /* An addition of two processes that wait, with the uids 3 and 4. */
    void offer_addition()
    {
        call(0, BecomeDynamic{});
        resize(5);
        ASSERT_EQ(mpiexec.launches.size(), 1u);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3);
        await_accept(4);
    }
    void add()
    {
        offer_addition();
        call(0, GetChange{});
        call(0, AcceptChange{1, {}});
        call(3, HasEntered{});
        call(4, HasEntered{});
    }

    FakeMpiexec mpiexec;
    std::map<uint32_t, uint32_t> ids;
    std::set<uint32_t> begun = {0, 1, 2};       /* of the launch, as the proxies know */
    size_t seen = 0;            /* messages */
};

const GetChange all = {};
std::string write_broke(uint32_t rank)
{
    return {reinterpret_cast<const char *>(&rank), sizeof rank};
}
SetMembers list(const std::vector<uint32_t> &uids)
{
    return *SetMembers::of_list(uids);
}

TEST_F(SetChangeTest, SR1_a_job_becomes_one_that_changes_through_sets)
{
    EXPECT_EQ(mpiexec.status().at("mode"), "unknown");
    resize(2);
    EXPECT_EQ(mpiexec.count_events("requested"), 1) << "it waits";
    call(1, BecomeDynamic{});
    EXPECT_EQ(code(1), 0u);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
    EXPECT_EQ(mpiexec.last_event("adaptive").at("mode"), "sets");
    call(2, BecomeDynamic{});
    EXPECT_EQ(mpiexec.count_events("adaptive"), 1);
    call(0, all);
    EXPECT_EQ(notified(0), "2 mpix://rc/1 1") << "the request from before";
}

TEST_F(SetChangeTest, SR1_a_rigid_job_may_become_one)
{
    mpiexec.init(0, 0, 0, false);
    EXPECT_EQ(mpiexec.status().at("mode"), "rigid");
    call(1, all);
    EXPECT_EQ(notified(1), "0  0");
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
    mpiexec.init(0, 0, 1, false);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets") << "SW3: MPI_Init changes nothing";
}

/* ---- one answer for all of a proxy --------------------------------------------------------------------------- */

class SetSharedTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        SetChangeTest::SetUp();
        call(0, BecomeDynamic{});
        resize(5);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3, "card 3");
        await_accept(4, "card 4");
        call(0, all);
        call(0, AcceptChange{1, {}});
    }
    /* Uids as bytes. */
    static std::string bytes(const SetMembers &members)
    {
        std::string text;
        append_members(text, members);
        return text;
    }
    /* Looks; whom the proxy may give the answer, the caller last; "": nobody else. */
    std::string lookup(uint32_t uid, bool state)
    {
        call(uid, LookupSet{"mpix://rc/1", state});
        EXPECT_EQ(code(uid), PMI_SET_OK);
        return mpiexec.sent.back().others;
    }
};

TEST_F(SetSharedTest, who_needs_the_same_addresses_gets_the_same_answer)
{
    EXPECT_EQ(lookup(0, false), "") << "process 1 needs the addresses, which this one has";
    EXPECT_EQ(lookup(1, false), bytes(list({0, 1})));
    EXPECT_EQ(mpiexec.sent.back().bcs, bytes(list({3, 4})));
    EXPECT_EQ(lookup(0, false), bytes(list({1, 0}))) << "now it has them, too";
    EXPECT_EQ(mpiexec.sent.back().bcs, bytes({}));
    EXPECT_EQ(lookup(3, false), bytes(list({4, 3})));
}

TEST_F(SetSharedTest, SA1_a_lasting_state_is_sent_to_the_caller_alone)
{
    lookup(1, false);
    EXPECT_EQ(lookup(1, true), "");
    call(3, HasEntered{});
    EXPECT_EQ(lookup(1, true), "");
    call(4, HasEntered{});
    EXPECT_EQ(lookup(1, true), bytes(list({0, 1})));
}

TEST_F(SetSharedTest, who_was_given_anothers_answer_has_the_addresses)
{
    EXPECT_EQ(lookup(0, false), "");
    mpiexec.report(0, 0, REPORT_SET_SHARED, 0, write_shared({list({3}), {0, 1}}));
    EXPECT_EQ(lookup(0, false), "") << "only one of them";
    mpiexec.report(0, 0, REPORT_SET_SHARED, 0, write_shared({list({4}), {1}}));
    EXPECT_EQ(lookup(0, false), bytes(list({1, 0})));
    lookup(1, false);
    EXPECT_EQ(mpiexec.sent.back().bcs, bytes({})) << "they are not told again";
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

/* ---- processes of the launch that have not begun to use MPI -------------------------------------------------- */

class SetStartsTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        SetChangeTest::SetUp();
        begun = {0, 1};
        call(0, MakeFromList{"app://all", list({2, 1, 0})});
        call(0, MakeFromList{"app://two", list({0, 1})});
    }
    uint32_t state(uint32_t uid, const std::string &name = "app://all")
    {
        call(uid, LookupSet{name});
        return number_at(answer_to(uid), 8 + name.size());
    }
    uint32_t state_of_members(uint32_t uid, const std::vector<uint32_t> &members)
    {
        call(uid, NotifyState{list(members)});
        return number_at(answer_to(uid), 4);
    }
    size_t requested() const
    {
        return static_cast<size_t>(std::ranges::count_if(
            mpiexec.sent, [](const SentMessage &m) { return m.command == STEP_STARTS; }));
    }
};

TEST_F(SetStartsTest, SR1_a_process_of_the_launch_starts_until_it_has_begun)
{
    EXPECT_EQ(state(0, "app://two"), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(requested(), 0u) << "nothing is open of these";
    size_t sent = mpiexec.sent.size();
    EXPECT_EQ(state(0), uint32_t{PMI_SET_STARTING});
    EXPECT_EQ(mpiexec.sent_text(sent), "starts:0.1 answer:0.0")
        << "the daemon of who has not begun";
    EXPECT_EQ(state_of_members(1, {1, 2}), uint32_t{PMI_SET_STARTING});
    EXPECT_EQ(state_of("app://all"), "starting 2,1,0");
    begun = {0, 1, 2};
    EXPECT_EQ(state(1), uint32_t{PMI_SET_RUNNING});
    sent = requested();
    EXPECT_EQ(state(0), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(state_of_members(1, {2}), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(requested(), sent) << "nobody need be asked any more";
}

TEST_F(SetStartsTest, SR1_it_has_begun_by_itself_by_a_question_or_by_MPI_Init)
{
    mpiexec.report(0, 1, REPORT_STARTED, 0, write_started({0, {2}}));
    EXPECT_EQ(state_of("app://all"), "running 2,1,0");
    EXPECT_EQ(requested(), 0u);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(SetStartsTest, SR1_a_caller_runs)
{
    call(2, ListSets{});
    EXPECT_EQ(state_of("app://all"), "running 2,1,0");
}

TEST_F(SetStartsTest, SR1_who_calls_MPI_Init_runs)
{
    mpiexec.init(0, 1, 2, false);
    EXPECT_EQ(state_of("app://all"), "running 2,1,0");
}

TEST_F(SetStartsTest, SN4_who_starts_does_not_run)
{
    call(0, MakeSets{PMI_SET_OP_UNION, "app://running", {}, {{"mpix://ALL", {}}}});
    EXPECT_EQ(requested(), 1u);
    EXPECT_EQ(state_of("app://running"), "running 0-1");
}

TEST_F(SetStartsTest, SA1_a_later_question_is_answered_as_of_later)
{
    auto send_request =
        [&](uint32_t uid) { /* no proxy answers */
                            const std::string lookup = write_set_call(LookupSet{"app://all"});
                            mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                                           write_set_report(uid, ++ids[uid], lookup));
        };
    send_request(0);
    SentMessage first = mpiexec.sent.back();
    send_request(1);
    EXPECT_EQ(requested(), 1u) << "one after the other";
    seen = mpiexec.sent.size();
    notify_starts(first);       /* it begins now, and notifies 1 so, which queried after that */
    begun = {0, 1, 2};
    EXPECT_EQ(number_at(answer_to(0), 17), uint32_t{PMI_SET_STARTING});
    EXPECT_EQ(number_at(answer_to(1), 17), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(requested(), 2u);
}

TEST_F(SetStartsTest, SL1_it_ends_without_having_begun)
{
    mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                   write_set_report(0, ++ids[0], write_set_call(LookupSet{"app://all"})));
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(number_at(answer_to(0), 17), uint32_t{PMI_SET_ENDED});
    EXPECT_EQ(state_of_members(1, {2, 1}), uint32_t{PMI_SET_ENDED});
    EXPECT_EQ(number_at(answer_to(1), 8), 1u) << "the first that lives";
    EXPECT_EQ(state(1, "app://two"), uint32_t{PMI_SET_RUNNING});
}

TEST_F(SetStartsTest, SA1_data_of_members_is_invalidated_when_one_ends)
{
    begun = {0, 1, 2};
    EXPECT_EQ(state_of_members(1, {0, 1, 2}), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(number_at(answer_to(1), 12), 1u) << "it may be remembered";
    size_t sent = mpiexec.sent.size();
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(state_of_members(0, {0, 1, 2}), uint32_t{PMI_SET_ENDED});
    EXPECT_EQ(mpiexec.sent_text(sent), "forget:0.0 answer:0.0");
    call(0, NotifyState{list({7})});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_FOREIGN});
}

TEST_F(SetStartsTest, reports_of_a_proxy_are_of_its_own_processes)
{
    mpiexec.report(0, 0, REPORT_STARTED, 0, write_started({0, {2}}));
    mpiexec.report(0, 0, REPORT_STARTED, 0, write_started({0, {9}}));
    mpiexec.report(0, 0, REPORT_STARTED, 0, write_started({5, {}}));
    mpiexec.report(0, 0, REPORT_STARTED, 0, "12345");
    EXPECT_EQ(mpiexec.status().at("unexpected"), 4);
    EXPECT_EQ(state_of("app://all"), "starting 2,1,0");
}

TEST_F(SetChangeTest, SW1_not_in_a_job_with_windows)
{
    mpiexec.init(0, 0, 0);
    call(1, BecomeDynamic{});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WINDOWS});
    mpiexec.init(0, 0, 1);
    mpiexec.init(0, 1, 2);
    call(1, all);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WINDOWS});
    EXPECT_EQ(mpiexec.status().at("mode"), "adaptive");
}

TEST_F(SetChangeTest, SW1_no_notification_precedes_the_refusal_of_windows_by_all_proxies)
{
    mpiexec.report(0, 1, REPORT_SET_CALL, 0,
                   write_set_report(2, ++ids[2], write_set_call(BecomeDynamic{})));
    EXPECT_EQ(mpiexec.sent_text(), "sets:0.0 sets:0.1 by_sets:0.0 by_sets:0.1");
    mpiexec.report(0, 1, REPORT_FORGOTTEN, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_BY_SETS) << "the other one has not said so";
    mpiexec.report(0, 0, REPORT_FORGOTTEN, 0, mpiexec.sent.back().payload);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_SET_ANSWER);
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

TEST_F(SetChangeTest, SW1_a_window_that_is_wanted_meanwhile_keeps_nobody_from_changes)
{
    offer_addition();
    call(0, all);
    mpiexec.init(0, 0, 1);
    EXPECT_NE(mpiexec.notified.back().find("it will be offered no adaptation"), std::string::npos);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(2, all);
    EXPECT_EQ(notified(2), "0  0");
}

TEST_F(SetChangeTest, SW1_a_joining_process_does_not_wait_for_a_window)
{
    call(0, BecomeDynamic{});
    resize(5);
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.init(1, 0, 0);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    mpiexec.init(0, 0, 0);
    EXPECT_NE(mpiexec.notified.back().find("MPI_Init_adapt"), std::string::npos);
    EXPECT_EQ(mpiexec.status().at("mode"), "sets");
}

TEST_F(SetChangeTest, SR3_an_addition_is_notified_when_all_joining_processes_wait)
{
    call(0, BecomeDynamic{});
    resize(5);
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
    mpiexec.start_group(1, {"b", "b"});
    await_accept(4);
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
    EXPECT_EQ(state_of("mpix://rc/1"), "none");
    await_accept(3);
    call(0, all);
    EXPECT_EQ(notified(0), "1 mpix://rc/1 1");
    EXPECT_EQ(state_of("mpix://rc/1"), "proposed 3-4");
}

TEST_F(SetChangeTest, SR2_a_query_notifies_nothing)
{
    offer_addition();
    call(0, GetChange{{}, true});
    EXPECT_EQ(notified(0), "1  0");
    call(0, GetChange{{}, true});
    EXPECT_EQ(notified(0), "1  0");
    EXPECT_EQ(mpiexec.count_events("told"), 0);
}

TEST_F(SetChangeTest, SI8_a_rendezvous_gives_all_business_cards_in_order)
{
    call(0, RendezvousMembers{"tag", "zero", list({2, 0})});
    EXPECT_EQ(code(0), WAITS);
    call(2, RendezvousMembers{"other", "two", list({2, 0})});
    EXPECT_EQ(code(2), WAITS) << "with another tag";
    call(1, RendezvousMembers{"tag", "one", list({2, 0})});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "it is no member";
    call(2, RendezvousMembers{"tag", "two", list({2, 0})});
    EXPECT_EQ(code(0), 0u);
    EXPECT_EQ(answer_to(0), answer_to(2));
    EXPECT_EQ(answer_to(0), SetAnswer().number(2).text("two").text("zero").number(0).bytes());
}

TEST_F(SetChangeTest, SI8_a_process_with_all_business_cards_has_one_rendezvous)
{
    call(0, RendezvousMembers{"tag", "zero", list({2, 0}), true});
    call(2, RendezvousMembers{"tag", "two", list({2, 0}), true});
    EXPECT_EQ(answer_to(0), SetAnswer().number(0).number(1).bytes());
    call(0, RendezvousMembers{"another", "", list({0, 2}), true});
    EXPECT_EQ(answer_to(0), SetAnswer().number(0).number(1).bytes()) << "and need not meet again";
    call(1, RendezvousMembers{"tag", "", list({0, 1})});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "it has never said its address";
}

TEST_F(SetChangeTest, SI8_a_missing_business_card_repeats_the_rendezvous)
{
    call(0, RendezvousMembers{"tag", "zero", list({2, 0}), true});
    call(2, RendezvousMembers{"tag", "two", list({2, 0}), false});
    EXPECT_EQ(answer_to(0), SetAnswer().number(2).text("two").text("zero").number(0).bytes());
    call(0, RendezvousMembers{"tag", "", list({2, 0}), true});
    EXPECT_EQ(code(0), WAITS);
}

TEST_F(SetChangeTest, SI8_who_waits_for_one_that_need_not_come_is_answered)
{
    call(1, RendezvousMembers{"first", "one", list({1, 0}), true});
    EXPECT_EQ(code(1), WAITS);
    for (uint32_t uid : {0, 1, 2})
        call(uid == 1 ? 2 : uid, RendezvousMembers{"second", "card", list({2, 0}), true});
    EXPECT_EQ(code(1), WAITS) << "it is no member of those who have met";
    call(2, RendezvousMembers{"first", "", list({1, 2}), true});
    EXPECT_EQ(code(2), WAITS);
    call(0, RendezvousMembers{"third", "", list({0, 1, 2}), true});
    ids[1] += 10;
    call(1, RendezvousMembers{"third", "", list({0, 1, 2}), true});
    ids[2] += 10;
    call(2, RendezvousMembers{"third", "", list({0, 1, 2}), true});
    ids[1] -= 11;
    EXPECT_EQ(code(1), 0u) << "in the first one, which 0 need not come to";
    ids[2] -= 11;
    EXPECT_EQ(code(2), 0u);
    mpiexec.exited(0, 1, 2, 0);
    call(0, RendezvousMembers{"third", "", list({2, 0}), true});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetChangeTest, SI8_business_cards_arrive_with_sets)
{
    call(0, BecomeDynamic{});
    resize(5);
    mpiexec.start_group(1, {"b", "b"});
    await_accept(3, "three");
    await_accept(4, "four");
    call(0, GetChange{{}, false, "zero"});
    EXPECT_NE(answer_to(0).find("three"), std::string::npos);
    EXPECT_NE(answer_to(0).find("four"), std::string::npos);
    call(0, MadeSet{1, PMI_SET_OP_UNION, {}, list({0, 3, 4})});
    call(0, AcceptChange{1, {}});
    EXPECT_NE(answer_to(3).find("mpix://op/0.1"), std::string::npos) << "a set that holds it";
    EXPECT_NE(answer_to(3).find("zero"), std::string::npos);
    EXPECT_NE(answer_to(3).find("four"), std::string::npos);
    EXPECT_NE(answer_to(3).find("three"), std::string::npos)
        << "its own, as the other one is told it";
    call(3, LookupSet{"mpix://op/0.1"});
    for (const char *bc : {"zero", "three"})
        EXPECT_EQ(answer_to(3).find(bc), std::string::npos) << "once";
}

/* Three processes that know each other, and two that join; `introduced`: as these say. */
class IntroductionTest : public SetChangeTest {
  protected:
    void offer(bool introduced)
    {
        for (uint32_t uid : {0, 1, 2})
            call(uid,
                 RendezvousMembers{"all", "card " + std::to_string(uid), list({0, 1, 2}), true});
        call(0, BecomeDynamic{});
        resize(5);
        mpiexec.start_group(1, {"b", "b"});
        call(3, EnterJob{"card 3"});
        EXPECT_EQ(answer_to(3), SetAnswer()
                                    .number(1)
                                    .number(3)
                                    .number(0)
                                    .text("card 0")
                                    .number(1)
                                    .text("card 1")
                                    .number(2)
                                    .text("card 2")
                                    .bytes());
        call(3, AwaitAccept{true});
        EXPECT_EQ(code(3), WAITS);
        await_accept(4, "card 4", introduced);
        call(0, all);
        EXPECT_EQ(notified(0), "1 mpix://rc/1 1");
    }
    bool ends_with(uint32_t uid, const SetMembers &members)
    {
        std::string end = SetAnswer().number(1).members(members).bytes().substr(sizeof(uint32_t));
        return answer_to(uid).ends_with(end);
    }
    const std::string needless = SetAnswer().number(0).number(1).bytes();
};

TEST_F(IntroductionTest, SI8_prepared_joining_processes_need_no_rendezvous)
{
    offer(true);
    call(1, RendezvousMembers{"early", "", list({0, 1, 3}), true});
    call(2, RendezvousMembers{"early", "", list({0, 2, 4}), false});
    EXPECT_EQ(code(1), WAITS) << "it is not accepted";
    call(0, AcceptChange{1, {}});
    EXPECT_TRUE(ends_with(3, list({0, 1, 2})));
    EXPECT_TRUE(ends_with(4, list({0, 1, 2})));
    EXPECT_EQ(answer_to(1), needless);
    EXPECT_NE(answer_to(2).find("card 4"), std::string::npos) << "it has to know them";
    call(2, RendezvousMembers{"again", "", list({0, 2, 4}), true});
    EXPECT_EQ(answer_to(2), needless);
    call(2, RendezvousMembers{"unknown", "", list({0, 2, 3}), false});
    EXPECT_NE(answer_to(2).find("card 3"), std::string::npos);
    call(3, RendezvousMembers{"tag", "", list({3, 1, 4}), true});
    EXPECT_EQ(answer_to(3), needless);
}

TEST_F(IntroductionTest, SI8_a_rendezvous_follows_one_that_failed)
{
    offer(false);
    call(0, AcceptChange{1, {}});
    EXPECT_TRUE(ends_with(3, SetMembers()));
    call(0, RendezvousMembers{"tag", "", list({0, 3}), true});
    EXPECT_EQ(code(0), WAITS);
}

TEST_F(IntroductionTest, SI8_nobody_is_introduced_to_one_that_has_ended)
{
    offer(true);
    mpiexec.exited(0, 1, 2, 0);
    call(0, AcceptChange{1, {}});
    EXPECT_TRUE(ends_with(3, list({0, 1})));
    call(0, RendezvousMembers{"tag", "", list({0, 1, 3, 4}), true});
    EXPECT_EQ(answer_to(0), needless);
    call(0, RendezvousMembers{"tag", "", list({0, 2, 3}), true});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetChangeTest, SI8_nobody_is_introduced_to_processes_that_do_not_know_each_other)
{
    call(0, BecomeDynamic{});
    resize(5);
    mpiexec.start_group(1, {"b", "b"});
    call(3, EnterJob{"card"});
    EXPECT_EQ(answer_to(3), SetAnswer().number(1).number(0).bytes());
}

/* What has been said to the proxy of process 0 and not passed on yet. */
TEST_F(SetChangeTest, SA1_a_query_of_a_new_set_is_answered_when_it_is_known)
{
    offer_addition();
    call(0, all);
    call(1, LookupSet{"mpix://op/0.1"});
    EXPECT_EQ(code(1), WAITS);
    ASSERT_EQ(mpiexec.sent.back().command, STEP_SYNC);
    const SentMessage sync = mpiexec.sent.back();
    EXPECT_EQ(std::tuple(sync.group, sync.proxy), std::tuple(0, 0));
    EXPECT_EQ(number_at(sync.payload, sizeof(uint64_t)), 0u) << "of this process";
    call(0, MadeSet{1, PMI_SET_OP_UNION, {}, list({0, 3})});
    mpiexec.report(0, 0, REPORT_SYNCED, 0, sync.payload.substr(0, sizeof(uint64_t)));
    EXPECT_EQ(code(1), 0u);
    call(2, LookupSet{"mpidynres://op_0.2"});
    EXPECT_EQ(code(2), WAITS) << "in the other spelling";
    const SentMessage again = mpiexec.sent.back();
    call(1, ListSets{0});
    EXPECT_EQ(code(1), WAITS) << "a list would have it";
    mpiexec.report(0, 0, REPORT_SYNCED, 0, again.payload.substr(0, sizeof(uint64_t)));
    EXPECT_EQ(code(2), uint32_t{PMI_SET_UNKNOWN});
    EXPECT_EQ(code(1), WAITS) << "it has come after that";
    mpiexec.report(0, 0, REPORT_SYNCED, 0, mpiexec.sent.back().payload.substr(0, sizeof(uint64_t)));
    EXPECT_EQ(code(1), 0u);
    call(0, AcceptChange{1, {}});
    call(1, LookupSet{"mpix://op/0.2"});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_UNKNOWN}) << "at once: nothing can be on its way";
}

/* The teller does not wait for an answer when it accepts an addition, and may have notified others. */
TEST_F(SetChangeTest, SA1_a_query_of_joining_processes_shows_that_they_are_accepted)
{
    const std::string delta = "mpix://rc/1";
    auto state = [&](uint32_t uid) {
        return code(uid) == PMI_SET_OK ? number_at(answer_to(uid), 8 + delta.size()) : WAITS;
    };
    offer_addition();
    call(0, all);
    call(1, LookupSet{delta});
    const SentMessage sync = mpiexec.sent.back();
    ASSERT_EQ(sync.command, STEP_SYNC);
    EXPECT_EQ(state(1), WAITS);
    call(0, LookupSet{delta});
    EXPECT_EQ(state(0), uint32_t{PMI_SET_PROPOSED})
        << "the teller has not accepted before it asked";
    call(2, NotifyState{list({0, 2})});
    EXPECT_EQ(code(2), 0u) << "it is not about them";
    call(0, AcceptChange{1, {}});
    call(2, LookupSet{delta});
    EXPECT_EQ(state(2), uint32_t{PMI_SET_STARTING}) << "at once: it is known";
    mpiexec.report(0, 0, REPORT_SYNCED, 0, sync.payload.substr(0, sizeof(uint64_t)));
    EXPECT_EQ(state(1), uint32_t{PMI_SET_STARTING});
}

TEST_F(SetChangeTest, SA1_nobody_waits_for_a_teller_that_has_ended)
{
    offer_addition();
    call(2, all);
    call(1, LookupSet{"mpix://op/2.1"});
    const SentMessage sync = mpiexec.sent.back();
    ASSERT_EQ(sync.command, STEP_SYNC);
    call(0, LookupSet{"mpix://op/2.1"});
    mpiexec.exited(0, 1, 2, 0);
    mpiexec.report(0, 1, REPORT_SYNCED, 0, sync.payload.substr(0, sizeof(uint64_t)));
    EXPECT_EQ(code(1), uint32_t{PMI_SET_UNKNOWN});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    EXPECT_EQ(notified(1), "code 1");
    call(1, all);
    EXPECT_EQ(notified(1), "1 mpix://rc/1 1") << "SF1";
    call(0, LookupSet{"mpix://op/1.1"});
    ASSERT_EQ(mpiexec.sent.back().command, STEP_SYNC);
    mpiexec.disconnected(0, 0);
    EXPECT_EQ(mpiexec.count_events("unexpected"), 0);
}

TEST_F(SetChangeTest, SR4_one_process_is_notified_once)
{
    offer_addition();
    call(2, all);
    EXPECT_EQ(notified(2), "1 mpix://rc/1 1");
    call(2, all);
    EXPECT_EQ(notified(2), "0  0");
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
}

TEST_F(SetChangeTest, SR7_joining_processes_return_when_their_change_is_accepted)
{
    offer_addition();
    call(0, all);
    EXPECT_EQ(code(3), WAITS) << "it waits";
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "another one was told";
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {{"app", "value"}}});
    EXPECT_EQ(code(0), 0u);
    EXPECT_EQ(code(3), 0u);
    EXPECT_EQ(code(4), 0u);
    EXPECT_EQ(state_of("mpix://rc/1"), "starting 3-4");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG}) << "it has been accepted";
    call(3, HasEntered{});
    EXPECT_EQ(mpiexec.count_events("committed"), 0);
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.count_events("committed"), 1) << "SR9";
    EXPECT_EQ(state_of("mpix://rc/1"), "running 3-4");
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetChangeTest, the_log_records_all_steps)
{
    add();
    EXPECT_EQ(
        mpiexec.events(),
        "started adaptive requested launching placed ready ready set_made told accepted committed");
}

TEST_F(SetChangeTest, SR8_a_declined_change_is_undone)
{
    offer_addition();
    call(0, all);
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), 0u);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(state_of("mpix://rc/1"), "none");
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"), "declined");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST_F(SetChangeTest, SO8_a_delta_is_not_freed_before_its_change_is_complete)
{
    offer_addition();
    call(0, all);
    call(1, FreeSet{"mpix://rc/1"});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(4, HasEntered{});
    call(1, FreeSet{"mpidynres://rc_1"});
    EXPECT_EQ(code(1), 0u);
}

TEST_F(SetChangeTest, SO8_a_delta_that_was_accepted_is_freed_when_its_change_is_complete)
{
    add();
    resize(3);
    call(0, all);
    call(0, AcceptChange{2, {}});
    call(1, FreeSet{"mpix://rc/2"});
    EXPECT_EQ(code(1), 0u);
    call(0, FreeSet{"mpix://rc/2"});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
    mpiexec.exited(1, 0, 0);
    mpiexec.exited(1, 0, 1);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(state_of("mpix://rc/2"), "none");
}

TEST_F(SetChangeTest, SR4_a_removal_takes_the_last_of_the_bound_set)
{
    add();
    call(0, MakeFromList{"app://main", list({4, 1, 0})});
    resize(3);
    call(2, GetChange{{"", list({2})}, false});
    EXPECT_EQ(notified(2), "0  0") << "a set of one cannot lose two";
    call(0, GetChange{{"app://main", {}}, false});
    EXPECT_EQ(notified(0), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1,0");
}

TEST_F(SetChangeTest, SR4_a_chosen_removal_is_notified_to_a_set_that_holds_it)
{
    add();
    resize(4, R"(,"leave":[1])");
    call(0, GetChange{{"", list({0, 2})}, false});
    EXPECT_EQ(notified(0), "0  0");
    call(0, GetChange{{"", list({0, 1})}, false});
    EXPECT_EQ(notified(0), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1");
}

TEST_F(SetChangeTest, SI4_a_process_knows_that_it_is_to_leave)
{
    auto leaves = [&](uint32_t uid) {
        call(uid, QueryLeaving{});
        return number_at(answer_to(uid), 4);
    };
    add();
    resize(4, R"(,"leave":[1])");
    EXPECT_EQ(leaves(1), 0u) << "nobody has been told";
    call(0, all);
    EXPECT_EQ(leaves(1), 1u);
    EXPECT_EQ(leaves(2), 0u);
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(leaves(1), 1u);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(leaves(2), 0u);
}

TEST_F(SetChangeTest, SA1_the_staying_state_is_invalidated_before_a_process_may_leave)
{
    auto lasts = [&](uint32_t uid) {
        call(uid, QueryLeaving{});
        return number_at(answer_to(uid), 8);
    };
    auto invalidations = [&] {
        return std::ranges::count_if(mpiexec.sent,
                                     [](const SentMessage &m) { return m.command == STEP_FORGET; });
    };
    add();
    EXPECT_EQ(lasts(2), 1u);
    auto before = invalidations();
    resize(4, R"(,"leave":[1])");
    EXPECT_GT(invalidations(), before) << "nobody has been told yet";
    EXPECT_EQ(lasts(2), 0u) << "there is a removal";
}

TEST_F(SetChangeTest, SR9_a_removal_is_complete_when_its_processes_have_ended)
{
    add();
    resize(3);
    call(0, all);
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
    call(0, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    mpiexec.exited(1, 0, 1, 7 << 8);
    EXPECT_EQ(mpiexec.count_events("committed"), 2) << "SL1: with any exit code";
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json({3, 4}));
    EXPECT_EQ(state_of("mpix://rc/2"), "ended 3-4");
    EXPECT_EQ(mpiexec.status().at("size"), 3);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
}

TEST_F(SetChangeTest, SR9_a_notified_process_may_be_slower_than_a_leaving_one)
{
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
}

TEST_F(SetChangeTest, SR9_an_accept_may_follow_the_next_notification)
{
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    resize(1);
    call(1, all);
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "it was told another one";
    call(0, DeclineChange{1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), 0u);
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(1, DeclineChange{2});
    EXPECT_EQ(code(1), 0u);
}

TEST_F(SetChangeTest, SR9_a_notified_process_may_leave_without_accepting)
{
    add();
    resize(4, R"(,"leave":[0])");
    call(0, all);
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json({0}));
}

TEST_F(SetChangeTest, SL1_a_process_may_end_at_any_time)
{
    call(0, BecomeDynamic{});
    mpiexec.exited(0, 0, 1, 3 << 8);
    EXPECT_EQ(mpiexec.status().at("size"), 2);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
    resize(1);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1) << "nobody had been told";
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

TEST_F(SetChangeTest, SL1_ends_of_processes_are_reported_to_the_manager)
{
    call(0, BecomeDynamic{});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("left"), 0) << "perhaps more follow";
    mpiexec.exited(0, 1, 2);
    mpiexec.time(10000);
    const Json left = mpiexec.last_event("left");
    EXPECT_EQ(mpiexec.count_events("left"), 1);
    EXPECT_EQ(left.at("epoch"), 1);
    EXPECT_EQ(left.at("old_size"), 3);
    EXPECT_EQ(left.at("size"), 1);
    EXPECT_EQ(left.at("leaving"), Json({0, 2}));
    EXPECT_EQ(left.at("hosts"), Json({{"a", 1}, {"b", 1}}));
    EXPECT_EQ(left.at("uids"), Json({0, 2}));
    Json answer = mpiexec.send_request(1, R"({"id":1,"op":"resize","size":3,"if_epoch":0})").at(0);
    EXPECT_EQ(answer.at("error").at("code"), "stale")
        << "who does not know it asks with the wrong ranks";
    resize(3, R"(,"if_epoch":1)");
    EXPECT_EQ(mpiexec.last_event("requested").at("epoch"), 2);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("left"), 1) << "the end of the job is told as such";
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

TEST_F(SetChangeTest, SL1_ranks_are_those_of_before_while_a_change_is_under_way)
{
    add();
    resize(4, R"(,"leave":[3])");
    call(2, all);
    mpiexec.exited(0, 0, 0);
    mpiexec.time(10000);
    EXPECT_EQ(mpiexec.count_events("left"), 0);
    call(2, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.last_event("committed").at("leaving"), Json({3}));
    EXPECT_EQ(mpiexec.last_event("committed").at("size"), 4);
    EXPECT_EQ(mpiexec.last_event("left").at("leaving"), Json({0}));
    EXPECT_EQ(mpiexec.last_event("left").at("epoch"), 3);
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST_F(SetChangeTest, SR4_the_log_records_processes_that_left)
{
    call(0, BecomeDynamic{});
    call(0, MakeFromList{"app://main", list({2, 0})});
    resize(2);
    call(1, GetChange{{"app://main", {}}, false});
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.last_event("committed").at("leaving"), Json({0}))
        << "and not the one with the highest rank";
}

TEST_F(SetChangeTest, SL3_who_was_let_go_may_die_in_any_way)
{
    add();
    resize(3);
    call(0, all);
    EXPECT_EQ(mpiexec.sent.at(mpiexec.sent.size() - 2).command, STEP_OFFER)
        << "nobody else need ask";
    call(0, AcceptChange{2, {}});
    const SentMessage &before = mpiexec.sent.at(mpiexec.sent.size() - 2);
    EXPECT_EQ(before.command, STEP_LET_GO) << "their daemon knows before anybody can know";
    EXPECT_EQ(before.group, 1);
    EXPECT_EQ(number_at(before.payload, 0), 3u);
    EXPECT_EQ(number_at(before.payload, 4), 4u);
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_NE(mpiexec.notified.back().find("the others go on"), std::string::npos)
        << "it is reported";
    mpiexec.exited(1, 0, 1, 11);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(SetChangeTest, SL3_also_before_its_daemon_knows)
{
    auto broke = [&](uint32_t rank) {
        mpiexec.report(0, rank == 2 ? 1 : 0, REPORT_BROKE, 0, write_broke(rank));
    };
    call(0, BecomeDynamic{});
    resize(2);
    call(0, all);
    broke(2);
    EXPECT_EQ(mpiexec.sent.back().command, STEP_BREAK) << "nobody has accepted it yet";
    EXPECT_EQ(number_at(mpiexec.sent.back().payload, 0), 2u);
    call(0, AcceptChange{1, {}});
    size_t sent = mpiexec.sent.size();
    broke(2);
    EXPECT_EQ(mpiexec.sent.size(), sent) << "its daemon is about to be told that it was let go";
    mpiexec.exited(0, 1, 2, 9);
    sent = mpiexec.sent.size();
    broke(2);
    EXPECT_EQ(mpiexec.sent_text(sent), "") << "in whatever order";
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    broke(1);
    EXPECT_EQ(mpiexec.sent_text(sent), "break:0.0");
}

TEST_F(SetChangeTest, SL3_before_that_a_death_ends_the_job)
{
    add();
    resize(3);
    call(0, all);
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.status().at("state"), "ending");
}

class PsetStragglersTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.straggler_ms = 1000;
        SetChangeTest::SetUp();
    }
    std::string message_with(const std::string &what) const
    {
        bool found =
            !mpiexec.notified.empty() && mpiexec.notified.back().find(what) != std::string::npos;
        return found ? what : mpiexec.notified.empty() ? "nothing" : mpiexec.notified.back();
    }
};

TEST_F(PsetStragglersTest, SL3_who_does_not_leave_is_reported)
{
    add();
    resize(3);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with("have not answered, on these nodes: a, b;"),
              "have not answered, on these nodes: a, b;");
    answer_at_once();
    mpiexec.time(mpiexec.now_ms + 2000);
    EXPECT_EQ(message_with("no process has asked for it"), "no process has asked for it");
    call(0, all);
    mpiexec.time(mpiexec.now_ms + 4000);
    EXPECT_EQ(message_with("process 0 has been told of it"), "process 0 has been told of it");
    call(0, AcceptChange{2, {}});
    mpiexec.exited(1, 0, 0);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with("have not ended: rank 4 on node b;"),
              "have not ended: rank 4 on node b;");
    EXPECT_EQ(mpiexec.last_event("behind").at("ranks").at(0).at("kind"), "leaving");
    EXPECT_EQ(mpiexec.last_event("behind").at("total"), 1);
    EXPECT_TRUE(mpiexec.killed.empty());
    EXPECT_TRUE(mpiexec.aborts.empty());
}

TEST_F(PsetStragglersTest, SL3_not_before_the_deadline)
{
    call(0, BecomeDynamic{});
    int64_t deadline_ms = mpiexec.config.unix_ms_at_zero + mpiexec.now_ms + 60000;
    resize(2, ",\"deadline_ms\":" + std::to_string(deadline_ms));
    call(0, all);
    call(0, AcceptChange{1, {}});
    mpiexec.time(mpiexec.now_ms + 59000);
    EXPECT_EQ(mpiexec.count_events("behind"), 0);
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(mpiexec.count_events("behind"), 1);
}

TEST_F(PsetStragglersTest, joining_processes_that_do_not_return_are_reported)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    mpiexec.time(mpiexec.now_ms + 1000);
    EXPECT_EQ(message_with(
                  "have not returned from MPI_Session_init yet: joining process 2 of 2 on node b"),
              "have not returned from MPI_Session_init yet: joining process 2 of 2 on node b");
}

TEST_F(SetChangeTest, SF1_the_next_caller_gets_the_same)
{
    offer_addition();
    call(2, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.send_request(1, R"({"id":1,"op":"cancel"})").at(0).at("error").at("code"),
              "agreed");
    call(1, all);
    EXPECT_EQ(notified(1), "1 mpix://rc/1 1");
    call(1, AcceptChange{1, {}});
    EXPECT_EQ(code(1), 0u);
    EXPECT_EQ(code(3), 0u);
}

TEST_F(SetChangeTest, SI8_no_process_waits_for_a_notified_one_that_has_ended)
{
    offer_addition();
    call(2, all);
    call(1, RendezvousMembers{"tag", "one", list({0, 1, 3, 4}), true});
    EXPECT_EQ(code(1), WAITS) << "for the accept";
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    call(0, RendezvousMembers{"tag", "zero", list({0, 1, 3, 4}), true});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
    call(0, all);
    EXPECT_EQ(notified(0), "0  0");
}

TEST_F(SetChangeTest, SI8_nor_does_who_comes_when_it_has_ended)
{
    offer_addition();
    call(2, all);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 0);
    call(1, RendezvousMembers{"tag", "one", list({1, 3, 4}), true});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
}

TEST_F(SetChangeTest, SF1_also_of_a_removal)
{
    add();
    resize(3);
    call(0, all);
    mpiexec.exited(0, 0, 0);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    call(1, GetChange{{"", list({1, 2, 3})}, false});
    EXPECT_EQ(notified(1), "0  0") << "4 is to go, too";
    call(2, all);
    EXPECT_EQ(notified(2), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 3-4");
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_the_change_is_notified)
{
    offer_addition();
    mpiexec.exited(1, 0, 1, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    call(0, all);
    EXPECT_EQ(notified(0), "0  0") << "it is never seen";
    EXPECT_EQ(mpiexec.status().at("state"), "running");
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_its_change_is_accepted)
{
    offer_addition();
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    call(0, all);
    EXPECT_EQ(stepmgr_owns_failure(mpiexec.core, 1), 1);
    call(0, MakeSets{PMI_SET_OP_UNION, "app://new", {}, {{"mpix://rc/1", {}}, {"", list({0, 1})}}});
    EXPECT_EQ(state_of("app://new"), "proposed 3-4,0-1");
    mpiexec.exited(1, 0, 0, 9);
    EXPECT_EQ(state_of("app://new"), "ended 3-4,0-1") << "sets that hold it";
    EXPECT_EQ(state_of("mpix://rc/1"), "ended 3-4");
    call(0, AcceptChange{1, {}});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_LOST});
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
}

TEST_F(SetChangeTest, SF2_a_joining_process_fails_before_its_change_is_complete)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(0, RendezvousMembers{"tag", "card", list({0, 3, 4})});
    EXPECT_EQ(code(0), WAITS);
    mpiexec.exited(1, 0, 1, 9);
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED}) << "creations that wait for it";
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.last_event("failed").at("size"), 3);
    EXPECT_EQ(mpiexec.status().at("state"), "running");
    EXPECT_TRUE(mpiexec.aborts.empty());
    mpiexec.exited(1, 0, 0, 9);
    resize(5);
    EXPECT_EQ(mpiexec.launches.back().first_uid, 5u) << "numbers are never used again";
}

TEST_F(SetChangeTest, SF3_the_death_of_another_process_ends_what_is_under_way)
{
    offer_addition();
    mpiexec.exited(0, 0, 0, 9);
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
    EXPECT_EQ(mpiexec.status().at("state"), "ending");
}

TEST_F(SetChangeTest, the_job_is_over_when_all_have_ended)
{
    offer_addition();
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.exited(0, rank == 2 ? 1 : 0, rank);
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1}) << "they would wait for ever";
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
    ASSERT_EQ(mpiexec.notified.size(), 1u);
    EXPECT_NE(
        mpiexec.notified[0].find(
            "2 of 2 joining processes had called MPI_Session_init, and nobody had accepted them"),
        std::string::npos)
        << mpiexec.notified[0];
}

TEST_F(SetChangeTest, joining_processes_may_outlive_the_launch)
{
    offer_addition();
    call(0, all);
    call(0, AcceptChange{1, {}});
    for (uint32_t rank = 0; rank < 3; rank++)
        mpiexec.exited(0, rank == 2 ? 1 : 0, rank);
    EXPECT_EQ(mpiexec.count_events("ended"), 0);
    call(3, HasEntered{});
    mpiexec.exited(1, 0, 0);
    EXPECT_EQ(mpiexec.count_events("failed"), 0) << "it had initialised";
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.status().at("size"), 1);
    mpiexec.exited(1, 0, 1);
    EXPECT_EQ(mpiexec.count_events("ended"), 1);
}

/* A request that is made before the job changes through sets, by which two come and uid 1 goes. */
class SetReplacementTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        SetChangeTest::SetUp();
        resize(4, R"(,"leave":[1])");
        call(0, BecomeDynamic{});
        ASSERT_EQ(mpiexec.launches.size(), 1u);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3);
        await_accept(4);
    }
    void take_addition()
    {
        call(0, all);
        ASSERT_EQ(notified(0), "1 mpix://rc/1 1");
        call(0, AcceptChange{1, {}});
        call(3, HasEntered{});
        call(4, HasEntered{});
    }
};

TEST_F(SetReplacementTest, SR6_notified_as_an_addition_then_as_a_removal)
{
    take_addition();
    EXPECT_EQ(mpiexec.count_events("committed"), 0) << "a request has one end";
    EXPECT_EQ(mpiexec.status().at("size"), 5);
    call(3, QueryLeaving{});
    call(4, GetChange{{"", list({0, 3, 4})}, false});
    EXPECT_EQ(notified(4), "0  0") << "SR4: the manager has chosen uid 1";
    call(4, all);
    EXPECT_EQ(notified(4), "2 mpix://rc/2 2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 1");
    call(4, AcceptChange{2, {}});
    EXPECT_EQ(mpiexec.count_events("committed"), 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    const Json committed = mpiexec.last_event("committed");
    EXPECT_EQ(committed.at("size"), 4);
    EXPECT_EQ(committed.at("joining"), 2);
    EXPECT_EQ(committed.at("leaving"), Json::array({1}));
    EXPECT_EQ(mpiexec.last_event("freed").at("uids"), Json::array({1}));
    EXPECT_EQ(mpiexec.status().at("epoch"), 1);
    resize(3);
    call(0, all);
    EXPECT_EQ(notified(0), "2 mpix://rc/3 3");
}

TEST_F(SetReplacementTest, SA1_the_staying_state_is_invalidated_before_the_removal)
{
    auto invalidations = [&] {
        return std::ranges::count_if(mpiexec.sent,
                                     [](const SentMessage &m) { return m.command == STEP_FORGET; });
    };
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(1, QueryLeaving{});
    EXPECT_EQ(number_at(answer_to(1), 8), 1u) << "it may remember that it stays";
    auto before = invalidations();
    call(4, HasEntered{});
    EXPECT_GT(invalidations(), before) << "nobody has been told yet that it leaves";
    call(1, QueryLeaving{});
    EXPECT_EQ(number_at(answer_to(1), 8), 0u);
}

TEST_F(SetReplacementTest, SR6_what_was_added_stays_if_the_removal_is_declined)
{
    take_addition();
    call(3, all);
    call(3, DeclineChange{2});
    const Json committed = mpiexec.last_event("committed");
    EXPECT_EQ(committed.at("size"), 5);
    EXPECT_EQ(committed.at("leaving"), Json::array());
    EXPECT_EQ(committed.at("reason"), "declined");
    EXPECT_EQ(mpiexec.killed, std::vector<int>{});
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetReplacementTest, SR6_nobody_is_removed_who_has_ended_before)
{
    call(0, all);
    call(0, AcceptChange{1, {}});
    mpiexec.exited(0, 0, 1);
    call(3, HasEntered{});
    call(4, HasEntered{});
    EXPECT_EQ(mpiexec.last_event("committed").at("size"), 5);
    EXPECT_EQ(mpiexec.last_event("left").at("size"), 4);
    EXPECT_EQ(mpiexec.status().at("size"), 4);
}

TEST_F(SetReplacementTest, SR6_nobody_is_removed_if_the_addition_is_declined)
{
    call(0, all);
    call(0, DeclineChange{1});
    EXPECT_EQ(mpiexec.count_events("withdrawn"), 1);
    EXPECT_EQ(mpiexec.status().at("size"), 3);
}

TEST(PsetSlotsTest, a_job_has_so_many_processes_over_its_life)
{
    FakeMpiexec mpiexec;
    ASSERT_EQ(mpiexec.create(), "");
    mpiexec.start_group(0, std::vector<std::string>(PMI_SET_PROCESSES_MAX - 1, "a"));
    mpiexec.report(0, 0, REPORT_SET_CALL, 0,
                   write_set_report(0, 1, write_set_call(ChangeCall(BecomeDynamic{}))));
    mpiexec.send_request(1, R"({"id":1,"op":"resize","size":65537})");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    EXPECT_NE(mpiexec.last_event("failed").at("reason").get<std::string>().find(
                  "65536 processes over its life"),
              std::string::npos);
    mpiexec.send_request(1, R"({"id":1,"op":"resize","size":65536})");
    EXPECT_EQ(mpiexec.launches.size(), 1u);
}

TEST_F(SetChangeTest, SN4_joining_processes_do_not_run_before_they_have_initialised)
{
    const MakeSets running = {PMI_SET_OP_UNION, "", {}, {{"mpix://ALL", {}}}};
    offer_addition();
    call(0, running);
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-2");
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(0, running);
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0-3");
}

TEST_F(SetChangeTest, SI8_a_notified_process_does_not_wait_for_proposed_ones)
{
    offer_addition();
    call(0, all);
    call(0, RendezvousMembers{"tag", "card", list({0, 1, 3, 4})});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_FOREIGN});
    call(1, RendezvousMembers{"tag", "card", list({0, 1, 3, 4})});
    EXPECT_EQ(code(1), WAITS) << "others do";
    call(0, DeclineChange{1});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetChangeTest, only_joining_processes_wait_to_enter)
{
    call(0, EnterJob{});
    EXPECT_EQ(answer_to(0), SetAnswer().number(0).number(0).bytes());
    call(0, AwaitAccept{});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    call(0, HasEntered{});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    offer_addition();
    await_accept(3);
    EXPECT_EQ(code(3), uint32_t{PMI_SET_WRONG}) << "it waits already";
    call(3, HasEntered{});
    EXPECT_EQ(code(3), uint32_t{PMI_SET_WRONG}) << "it has not been let go";
    call(3, all);
    EXPECT_EQ(notified(3), "0  0") << "it does not run";
}

/* ---- operations that the program requests ----------------------------------------------------------------------- */

class SetRequestTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.range_min = 1;
        mpiexec.config.range_max = 5;
        mpiexec.config.managed = managed;
        SetChangeTest::SetUp();
    }
    void send_request(uint32_t uid, pmi_set_op op, uint32_t add, uint32_t remove,
                      const std::string &bound = "mpix://WORLD/0")
    {
        call(uid, RequestOp{bound, op, add, remove});
    }
    /* "5 mpix://rc/1,mpix://op/0.1"; "0": not granted; "waits"; "code N". */
    std::string done(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        if (answer.empty())
            return "waits";
        if (code(uid) != PMI_SET_OK)
            return "code " + std::to_string(code(uid));
        std::string text = std::to_string(number_at(answer, 4));
        size_t at = 12;
        for (uint32_t i = 0; i < number_at(answer, 8); i++) {
            uint32_t bytes = number_at(answer, at);
            text += (i == 0 ? " " : ",") + answer.substr(at + 4, bytes);
            at += 4 + bytes;
        }
        return text;
    }
    /* Why there was none. */
    std::string why_not(uint32_t uid)
    {
        std::string answer = answer_to(uid);
        size_t at = 12;
        for (uint32_t i = number_at(answer, 8); i > 0; i--)
            at += 4 + number_at(answer, at);
        return answer.substr(at + 4, number_at(answer, at));
    }
    void query(uint32_t uid, const std::string &name = "mpix://WORLD/0")
    {
        call(uid, QueryOp{{"mpi://WORLD", list({0, 1, 2})}, name});
    }
    void start_joining_group(int group)
    {
        mpiexec.start_group(group, {"b", "b"});
        uint32_t first = 3 + 2 * (static_cast<uint32_t>(group) - 1);
        await_accept(first);
        await_accept(first + 1);
    }
    void enter(uint32_t uid)
    {
        call(uid, HasEntered{});
    }

    bool managed = false;
};

TEST_F(SetRequestTest, SC6_held_slots_are_not_granted)
{
    const AllocateSlots place = {1, 1, true, "*", "", {}, {}};
    mpiexec.report(0, 0, REPORT_SET_CALL, 0, write_set_report(0, ++ids[0], write_task_call(place)));
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0");
    send_request(0, PMI_SET_OP_GROW, 1, 0);
    EXPECT_EQ(done(0), "waits");
}

TEST_F(SetRequestTest, SC6_grow_is_notified_and_accepted_in_one)
{
    send_request(0, PMI_SET_OP_GROW, 2, 9);
    EXPECT_EQ(done(0), "waits");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    EXPECT_EQ(mpiexec.launches[0].count, 2);
    start_joining_group(1);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/0.1");
    EXPECT_EQ(code(3), 0u) << "it has been let go";
    EXPECT_EQ(state_of("mpix://op/0.1"), "starting 0-4");
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.count_events("committed"), 1);
    EXPECT_EQ(mpiexec.last_event("requested").at("source"), "wish");
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-4");
}

TEST_F(SetRequestTest, SC6_add_and_sub_make_the_delta_alone)
{
    send_request(1, PMI_SET_OP_ADD, 2, 0);
    start_joining_group(1);
    EXPECT_EQ(done(1), "1 mpix://rc/1");
    enter(3);
    enter(4);
    send_request(1, PMI_SET_OP_SUB, 9, 1);
    EXPECT_EQ(done(1), "2 mpix://rc/2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 2") << "of the set that is bound";
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.count_events("committed"), 2);
}

TEST_F(SetRequestTest, SC6_shrink)
{
    send_request(2, PMI_SET_OP_SHRINK, 0, 2);
    EXPECT_EQ(done(2), "6 mpix://rc/1,mpix://op/2.1");
    EXPECT_EQ(state_of("mpix://rc/1"), "running 1-2");
    EXPECT_EQ(state_of("mpix://op/2.1"), "running 0");
}

TEST_F(SetRequestTest, SC6_replace_removes_when_those_that_were_added_are_there)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    start_joining_group(1);
    EXPECT_EQ(done(0), "waits");
    enter(3);
    EXPECT_EQ(done(0), "waits");
    enter(4);
    EXPECT_EQ(done(0), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://rc/2"), "running 2");
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0-1,3-4");
    query(0), query(1), query(2);
    EXPECT_EQ(done(2), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(mpiexec.status().at("size"), 4);
}

TEST_F(SetRequestTest, SC6_replace_is_refused_before_it_begins)
{
    call(0, MakeSets{PMI_SET_OP_UNION, "", {}, {{"", list({0, 1})}}});
    send_request(0, PMI_SET_OP_REPLACE, 2, 3, "mpix://op/0.1");
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(why_not(0), "the set has 2 processes that run, fewer than the 3 that are to leave");
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
}

TEST_F(SetRequestTest, SC6_replace_reports_the_addition_if_the_removal_is_impossible)
{
    call(0, MakeSets{PMI_SET_OP_UNION, "", {}, {{"", list({1, 2})}}});
    send_request(0, PMI_SET_OP_REPLACE, 2, 2, "mpix://op/0.1");
    start_joining_group(1);
    mpiexec.exited(0, 1, 2);    /* of whom two were to leave */
    enter(3);
    enter(4);
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://rc/1"), "running 3-4");
    for (uint32_t uid : {0, 1})
        call(uid, QueryOp{{"mpi://WORLD", list({0, 1})}, "mpix://op/0.1"});
    EXPECT_EQ(done(1), "3 ,mpix://rc/1,mpix://op/0.2");
}

TEST_F(SetRequestTest, SC6_not_outside_of_the_range)
{
    const std::tuple<pmi_set_op, uint32_t, uint32_t> requested[] = {
        {PMI_SET_OP_ADD, 3, 0},
        {PMI_SET_OP_SUB, 0, 3},
        {PMI_SET_OP_GROW, 0, 0},
        {PMI_SET_OP_REPLACE, 3, 2},
        {PMI_SET_OP_SHRINK, 0, 1 << 20}};
    for (auto [op, add, remove] : requested) {
        send_request(0, op, add, remove);
        EXPECT_EQ(done(0), "0") << op;
        EXPECT_NE(why_not(0), "") << op;
    }
    send_request(0, PMI_SET_OP_ADD, 3, 0);
    EXPECT_EQ(why_not(0), "6 processes are outside of --adapt-range 1:5");
    EXPECT_EQ(mpiexec.count_events("requested"), 0);
}

TEST_F(SetRequestTest, SC6_what_fails_is_not_granted)
{
    send_request(0, PMI_SET_OP_ADD, 2, 0);
    send_request(1, PMI_SET_OP_SUB, 0, 1);
    EXPECT_EQ(done(1), "0") << "one waits at a time";
    EXPECT_EQ(why_not(1), "another process waits for the answer to its request");
    mpiexec.start_group(1, {"b", "b"});
    mpiexec.exited(1, 0, 0, 1);
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(mpiexec.count_events("failed"), 1);
    mpiexec.refuse_launch = "no places";
    send_request(0, PMI_SET_OP_GROW, 1, 0);
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_its_asker_ends)
{
    send_request(1, PMI_SET_OP_ADD, 2, 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.last_event("withdrawn").at("reason"),
              "the process that asked for it has ended");
    EXPECT_EQ(mpiexec.killed, std::vector<int>{1});
}

TEST_F(SetRequestTest, SC6_malleable_takes_what_is_offered)
{
    send_request(0, PMI_SET_OP_MALLEABLE, 0, 0);
    EXPECT_EQ(done(0), "0");
    resize(2);
    send_request(0, PMI_SET_OP_ADD, 1, 0);
    EXPECT_EQ(done(0), "0") << "the opposite is offered";
    send_request(0, PMI_SET_OP_MALLEABLE, 0, 0);
    EXPECT_EQ(done(0), "6 mpix://rc/1,mpix://op/0.1");
}

TEST_F(SetRequestTest, SC6_all_of_a_set_query_the_open_operation)
{
    query(0);
    query(1);
    EXPECT_EQ(done(1), "waits");
    query(2);
    for (uint32_t uid : {0, 1, 2})
        EXPECT_EQ(done(uid), "0");
    query(1);
    query(2);
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    start_joining_group(1);
    query(0);
    for (uint32_t uid : {0, 1, 2})
        EXPECT_EQ(done(uid), "5 mpix://rc/1,mpix://op/0.1");
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://op/0.1"});
    EXPECT_EQ(done(0), "0") << "it is bound to the old set";
    call(3, CloseOp{"mpix://op/0.1"});
    EXPECT_EQ(code(3), 0u);
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://WORLD/0"});
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_an_operation_is_closed_by_what_was_made_of_it)
{
    send_request(0, PMI_SET_OP_SUB, 0, 1);
    call(0, MakeSets{PMI_SET_OP_DIFFERENCE,
                     "app://rest",
                     {},
                     {{"mpix://WORLD/0", {}}, {"mpix://rc/1", {}}}});
    call(1, CloseOp{"app://nobody"});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_UNKNOWN});
    call(1, CloseOp{"app://rest"});
    call(0, QueryOp{{"mpi://SELF", list({0})}, "mpix://WORLD/0"});
    EXPECT_EQ(done(0), "0");
}

TEST_F(SetRequestTest, SC6_the_managers_change_is_an_open_operation_too)
{
    call(0, BecomeDynamic{});
    resize(5);
    start_joining_group(1);
    query(0), query(1), query(2);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/2.1");
    EXPECT_EQ(done(1), done(0));
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.status().at("size"), 5);
}

TEST_F(SetRequestTest, SC6_no_process_waits_for_a_departed_one)
{
    query(0);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(code(0), uint32_t{PMI_SET_MEMBER_ENDED});
    query(1);
    EXPECT_EQ(code(1), uint32_t{PMI_SET_MEMBER_ENDED});
}

TEST_F(SetRequestTest, SC6_bad_calls)
{
    send_request(0, PMI_SET_OP_ADD, 1, 0, "app://nobody");
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    call(0, RequestOp{"mpix://WORLD/0", static_cast<pmi_set_op>(0), 1, 1});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
    query(0, "app://nobody");
    EXPECT_EQ(code(0), uint32_t{PMI_SET_UNKNOWN});
    call(0, QueryOp{{"mpi://WORLD", list({1, 2})}, "mpix://WORLD/0"});
    EXPECT_EQ(code(0), uint32_t{PMI_SET_WRONG});
}

class ManagedSetRequestTest : public SetRequestTest {
  protected:
    ManagedSetRequestTest() { managed = true; }
};

TEST_F(ManagedSetRequestTest, SC6_a_resource_manager_decides)
{
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "waits");
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 5);
    EXPECT_EQ(mpiexec.last_event("wish").at("size_min"), 4);
    EXPECT_EQ(mpiexec.last_event("wish").at("waits"), true);
    mpiexec.time(1000);
    EXPECT_EQ(done(0), "waits") << "whatever happens meanwhile";
    resize(5, R"(,"tag":"manager")");
    ASSERT_EQ(mpiexec.launches.size(), 1u);
    start_joining_group(1);
    EXPECT_EQ(done(0), "5 mpix://rc/1,mpix://op/0.1");
    enter(3);
    enter(4);
    EXPECT_EQ(mpiexec.last_event("wish_ended").at("result"), "granted");

    send_request(0, PMI_SET_OP_SHRINK, 0, 1);
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 4);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":2,"reason":"no"})");
    EXPECT_EQ(done(0), "0");
}

TEST_F(ManagedSetRequestTest, SC6_replace_is_two_requests)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 5);
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    enter(3);
    EXPECT_EQ(done(0), "waits");
    enter(4);
    EXPECT_EQ(mpiexec.last_event("wish_ended").at("result"), "granted");
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 4);
    EXPECT_EQ(done(0), "waits");
    resize(4, R"(,"tag":"manager","leave":[1])");
    EXPECT_EQ(done(0), "3 mpix://rc/2,mpix://rc/1,mpix://op/0.2");
    EXPECT_EQ(state_of("mpix://op/0.2"), "running 0,2-4");
}

TEST_F(ManagedSetRequestTest, SC6_replace_of_which_one_half_is_refused)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":1,"reason":"no"})");
    EXPECT_EQ(done(0), "0");
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    enter(3);
    enter(4);
    mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":3,"reason":"no"})");
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.1") << "those that were added are there";
    EXPECT_EQ(state_of("mpix://op/0.1"), "running 0-4");
}

TEST_F(ManagedSetRequestTest, SC6_repeated_queries_do_not_occupy_the_manager)
{
    auto refuse = [&](int number) {
        send_request(0, PMI_SET_OP_GROW, 2, 0);
        EXPECT_EQ(mpiexec.last_event("wish").at("wish"), number);
        mpiexec.send_request(1, R"({"id":1,"op":"refuse","wish":)" + std::to_string(number) +
                                    R"(,"reason":"no"})");
        EXPECT_EQ(done(0), "0");
    };
    for (int i = 1; i <= RequestRate::AT_ONCE; i++)
        refuse(i);
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0") << "at once";
    EXPECT_EQ(mpiexec.last_event("wish").at("wish"), RequestRate::AT_ONCE) << "and nobody is asked";
    mpiexec.time(mpiexec.now_ms + RequestRate::EVERY_MS);
    refuse(RequestRate::AT_ONCE + 1);
}

TEST_F(ManagedSetRequestTest, SC6_its_asker_ends)
{
    send_request(1, PMI_SET_OP_GROW, 2, 0);
    mpiexec.exited(0, 0, 1);
    EXPECT_EQ(mpiexec.last_event("wish_ended").at("result"), "withdrawn");
}

TEST_F(ManagedSetRequestTest, SC6_a_manager_that_has_no_process_to_give_is_not_waited_for)
{
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    mpiexec.time(mpiexec.now_ms + 1999);
    EXPECT_EQ(done(0), "waits");
    mpiexec.time(mpiexec.now_ms + 1);
    EXPECT_EQ(done(0), "0");
    EXPECT_EQ(mpiexec.last_event("wish_ended").at("result"), "refused");
    resize(5, R"(,"tag":"manager")");
    start_joining_group(1);
    for (uint32_t uid : {0, 1, 2})
        query(uid);
    EXPECT_EQ(done(1), "5 mpix://rc/1,mpix://op/2.1") << "what it offers later";
}

TEST_F(ManagedSetRequestTest, SC6_processes_that_start_are_waited_for)
{
    send_request(0, PMI_SET_OP_REPLACE, 2, 1);
    resize(5, R"(,"tag":"manager")");
    mpiexec.time(mpiexec.now_ms + 10000);
    EXPECT_EQ(done(0), "waits");
    start_joining_group(1);
    enter(3);
    enter(4);
    EXPECT_EQ(done(0), "waits") << "for the removal";
    mpiexec.time(mpiexec.now_ms + 2000);
    EXPECT_EQ(done(0), "3 ,mpix://rc/1,mpix://op/0.1");
}

/* ---- hints ------------------------------------------------------------------------------------------------------ */

class SetHintsTest : public SetRequestTest {
  protected:
    /* "mpix_accepted=a,b mpix_size_max=5 ..."; "nobody"; "code N". */
    std::string hint(const SetData &hints)
    {
        call(0, AddHints{hints});
        std::string answer = answer_to(0), text;
        if (code(0) != PMI_SET_OK)
            return "code " + std::to_string(code(0));
        if (number_at(answer, 4) == 0)
            return "nobody";
        size_t at = 12;
        auto next = [&] {
            uint32_t bytes = number_at(answer, at);
            at += 4 + bytes;
            return answer.substr(at - bytes, bytes);
        };
        for (uint32_t i = 0; i < number_at(answer, 8); i++) {
            std::string key = next();
            text += (i == 0 ? "" : " ") + key + "=" + next();
        }
        return text;
    }
};

TEST_F(SetHintsTest, SR10_sizes_limit_the_range_and_a_preferred_one_is_a_request)
{
    const SetData sizes = {{"mpix_size_min", "2"},
                           {"mpi_num_procs_max", "4"},
                           {"mpix_reason", "fine grid"},
                           {"colour", "red"}};
    EXPECT_EQ(hint(sizes), "mpix_accepted=mpi_num_procs_max,mpix_reason,mpix_size_min "
                           "mpix_size_max=4 mpix_size_min=2");
    EXPECT_EQ(mpiexec.status().at("mode"), "sets") << "SR1";
    EXPECT_EQ(mpiexec.last_event("hints").at("hints").at("colour"), "red") << "as it is";
    EXPECT_EQ(mpiexec.count_events("wish"), 0) << "it has 3 processes";
    send_request(0, PMI_SET_OP_GROW, 2, 0);
    EXPECT_EQ(done(0), "0") << "not in the range any more";
    EXPECT_EQ(hint({{"mpix_size_preferred", "4"}}),
              "mpix_accepted=mpix_size_preferred mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 4);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
}

TEST_F(SetHintsTest, SR10_what_is_wrong_is_not_followed)
{
    EXPECT_EQ(
        hint({{"mpix_size_min", "4"}, {"mpix_size_max", "2"}, {"mpix_size_preferred", "many"}}),
        "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(hint({{"mpix_size_min", "6"}}), "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(hint({{"mpix_size_preferred", "9"}, {"manager_std_dev", "1"}}),
              "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
    EXPECT_EQ(mpiexec.count_events("wish"), 0);
}

TEST_F(SetChangeTest, SR10_without_range_or_manager_nobody_takes_hints)
{
    call(1, AddHints{{{"mpix_size_max", "2"}}});
    EXPECT_EQ(answer_to(1), SetAnswer().number(0).data({}).bytes());
}

class PolicyHintsTest : public SetHintsTest {
  protected:
    PolicyHintsTest() { mpiexec.config.policy = "random:7"; }
};

TEST_F(PolicyHintsTest, SC2_how_sizes_are_drawn)
{
    EXPECT_EQ(hint({{"manager_std_dev", "2.5"}, {"manager_change_prob", "0"}}),
              "mpix_accepted=manager_change_prob,manager_std_dev mpix_size_max=5 mpix_size_min=1");
    for (int64_t ms = 1000; ms < 20000; ms += 500)
        mpiexec.time(ms);
    EXPECT_EQ(mpiexec.count_events("requested"), 0) << "never";
    hint({{"manager_change_prob", "1"}, {"mpix_size_min", "3"}, {"mpix_size_max", "4"}});
    mpiexec.time(30000);
    EXPECT_EQ(mpiexec.last_event("requested").at("size"), 4);
    EXPECT_EQ(hint({{"manager_std_dev", "-1"}, {"manager_change_prob", "2"}}),
              "mpix_accepted= mpix_size_max=5 mpix_size_min=1");
}

class ManagedHintsTest : public SetHintsTest {
  protected:
    ManagedHintsTest() { managed = true; }
};

TEST_F(ManagedHintsTest, SR10_a_resource_manager_sees_a_size_request)
{
    const SetData sizes = {{"mpix_size_min", "4"},
                           {"mpix_size_max", "16"},
                           {"mpix_size_preferred", "8"},
                           {"mpix_reason", "a"}};
    EXPECT_EQ(
        hint(sizes),
        "mpix_accepted=mpix_reason,mpix_size_max,mpix_size_min,mpix_size_preferred mpix_size_max=5 "
        "mpix_size_min=1");
    const Json size_request = mpiexec.last_event("wish");
    EXPECT_EQ(size_request.at("size"), 8);
    EXPECT_EQ(size_request.at("size_min"), 4);
    EXPECT_EQ(size_request.at("size_max"), 16);
    EXPECT_EQ(size_request.at("reason"), "a");
    hint(sizes);
    EXPECT_EQ(mpiexec.count_events("wish"), 1) << "the same";
    hint({{"mpix_size_preferred", "2"}});
    EXPECT_EQ(mpiexec.last_event("wish_ended").at("result"), "withdrawn");
    EXPECT_EQ(mpiexec.last_event("wish").at("size"), 2);
}

/* ---- --sets-log -------------------------------------------------------------------------------------------------- */

class SetStatesTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        mpiexec.config.states = 1;
        mpiexec.config.range_min = 1;
        mpiexec.config.range_max = 6;
        SetChangeTest::SetUp();
    }
    /* The letters, and the event's name, of the lines from the last time on. */
    std::string states()
    {
        std::string text;
        for (; seen < mpiexec.state_lines.size(); seen++) {
            const std::string &line = mpiexec.state_lines[seen];
            size_t begin = line.find("ms ") + 3, name = line.find(' ', begin) + 1;
            text += (text.empty() ? "" : " ") + line.substr(begin, line.find(' ', name) - begin);
        }
        return text;
    }
    size_t seen = 1;            /* the first is the header */
};

TEST_F(SetStatesTest, SM2_an_addition_and_a_removal)
{
    EXPECT_EQ(mpiexec.state_lines.front().substr(0, 4), "TIME");
    offer_addition();
    EXPECT_EQ(states(), "RRRIII started RRRIII adaptive RRRIII requested RRRPPI launching RRRPPI "
                        "placed RRRPPI ready "
                        "RRRPPI ready");
    call(0, all);
    call(0, AcceptChange{1, {}});
    call(3, HasEntered{});
    call(4, HasEntered{});
    EXPECT_EQ(states(), "RRRPPI set_made RRRPPI told RRRPPI accepted RRRRRI committed");

    resize(3, R"(,"leave":[1,2])");
    call(0, all);
    call(0, AcceptChange{2, {}});
    EXPECT_EQ(states(), "RRRRRI requested RSSRRI set_made RSSRRI told RAARRI accepted");
    mpiexec.exited(0, 0, 1);
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(states(), "RIARRI exited RIIRRI exited RIIRRI committed RIIRRI freed");

    resize(5);
    mpiexec.start_group(2, {"b", "b"});
    EXPECT_EQ(states(), "RIIRRI requested RPPRRI launching RPPRRI placed")
        << "SM1: the lowest free places";
}

TEST_F(SetStatesTest, SM2_an_addition_that_is_declined)
{
    offer_addition();
    call(0, all);
    states();
    call(0, DeclineChange{1});
    EXPECT_EQ(states(), "RRRPPI declined RRRIII withdrawn RRRIII set_freed");
}

}  // namespace
}  // namespace elastic
