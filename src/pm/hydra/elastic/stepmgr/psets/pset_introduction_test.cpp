/* Joining processes and processes that receive their addresses: rendezvous, business cards, queries
 * (SI8, SA1). */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

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
    EXPECT_EQ(answer_to(0), SetAnswer().number(0).number(1).bytes())
        << "and need no further rendezvous";
    call(1, RendezvousMembers{"tag", "", list({0, 1})});
    EXPECT_EQ(code(1), uint32_t{PMI_SET_WRONG}) << "it has never sent its address";
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
        call(uid == 1 ? 2 : uid, RendezvousMembers{"second", "addr", list({2, 0}), true});
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
        << "its own, as the other one gets it";
    call(3, LookupSet{"mpix://op/0.1"});
    for (const char *bc : {"zero", "three"})
        EXPECT_EQ(answer_to(3).find(bc), std::string::npos) << "once";
}

/* Three processes in a full mesh, and two joining ones; `introduced`: as reported by these. */
class IntroductionTest : public SetChangeTest {
  protected:
    void offer(bool introduced)
    {
        for (uint32_t uid : {0, 1, 2})
            call(uid,
                 RendezvousMembers{"all", "addr " + std::to_string(uid), list({0, 1, 2}), true});
        call(0, BecomeDynamic{});
        resize(5);
        mpiexec.start_group(1, {"b", "b"});
        call(3, EnterJob{"addr 3"});
        EXPECT_EQ(answer_to(3), SetAnswer()
                                    .number(1)
                                    .number(3)
                                    .number(0)
                                    .text("addr 0")
                                    .number(1)
                                    .text("addr 1")
                                    .number(2)
                                    .text("addr 2")
                                    .bytes());
        call(3, AwaitAccept{true});
        EXPECT_EQ(code(3), WAITS);
        await_accept(4, "addr 4", introduced);
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
    EXPECT_NE(answer_to(2).find("addr 4"), std::string::npos) << "it has to know them";
    call(2, RendezvousMembers{"again", "", list({0, 2, 4}), true});
    EXPECT_EQ(answer_to(2), needless);
    call(2, RendezvousMembers{"unknown", "", list({0, 2, 3}), false});
    EXPECT_NE(answer_to(2).find("addr 3"), std::string::npos);
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
    call(3, EnterJob{"addr"});
    EXPECT_EQ(answer_to(3), SetAnswer().number(1).number(0).bytes());
}

/* Messages to the proxy of process 0 that it has not passed on yet. */
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

/* The notified process does not wait for a reply when it accepts an addition, and may have notified
 * others. */
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
        << "the notified process has not accepted before the query";
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

}  // namespace
}  // namespace elastic
