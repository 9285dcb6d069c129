/* Replies for all processes of a proxy, and processes of the launch that have not begun to use
 * MPI. */

#include "stepmgr/psets/pset_change_fixture.h"

namespace elastic {
namespace {

/* ---- one answer for all of a proxy ----------------------------------------------------------- */

class SetSharedTest : public SetChangeTest {
  protected:
    void SetUp() override
    {
        SetChangeTest::SetUp();
        call(0, BecomeDynamic{});
        resize(5);
        mpiexec.start_group(1, {"b", "b"});
        await_accept(3, "addr 3");
        await_accept(4, "addr 4");
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
    /* A lookup.  Returns the processes with which the proxy may share the reply, the caller last;
     * "": none. */
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
    mpiexec.report(0, 0, REPORT_SET_SHARED, 0, write_set_shared({list({3}), {0, 1}}));
    EXPECT_EQ(lookup(0, false), "") << "only one of them";
    mpiexec.report(0, 0, REPORT_SET_SHARED, 0, write_set_shared({list({4}), {1}}));
    EXPECT_EQ(lookup(0, false), bytes(list({1, 0})));
    lookup(1, false);
    EXPECT_EQ(mpiexec.sent.back().bcs, bytes({})) << "they are not sent again";
    EXPECT_EQ(mpiexec.status().at("unexpected"), 0);
}

/* ---- processes of the launch that have not begun to use MPI ---------------------------------- */

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
        << "the proxy of who has not begun";
    EXPECT_EQ(state_of_members(1, {1, 2}), uint32_t{PMI_SET_STARTING});
    EXPECT_EQ(state_of("app://all"), "starting 2,1,0");
    begun = {0, 1, 2};
    EXPECT_EQ(state(1), uint32_t{PMI_SET_RUNNING});
    sent = requested();
    EXPECT_EQ(state(0), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(state_of_members(1, {2}), uint32_t{PMI_SET_RUNNING});
    EXPECT_EQ(requested(), sent) << "no process need be queried any more";
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
    /* it begins now, and notifies process 1, which queries after that */
    notify_starts(first);
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
    EXPECT_EQ(number_at(answer_to(1), 12), 1u) << "it may be cached";
    size_t sent = mpiexec.sent.size();
    mpiexec.exited(0, 1, 2);
    EXPECT_EQ(state_of_members(0, {0, 1, 2}), uint32_t{PMI_SET_ENDED});
    EXPECT_EQ(mpiexec.sent_text(sent), "invalidate:0.0 answer:0.0");
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

}  // namespace
}  // namespace elastic
