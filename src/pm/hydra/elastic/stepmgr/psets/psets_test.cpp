/* Process sets: the algebra on members, and the table of sets with its calls, bounds and ends. */

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "stepmgr/psets/psets.h"

namespace elastic {
namespace {

using Uids = std::vector<uint32_t>;

SetMembers list(const Uids &uids)
{
    auto members = SetMembers::of_list(uids);
    EXPECT_TRUE(members);
    return members.value_or(SetMembers());
}

Uids uids_of(const SetMembers &members)
{
    Uids uids;
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t k = 0; k < run.count; k++)
            uids.push_back(run.first + k);
    }
    return uids;
}

/* ---- members ---------------------------------------------------------------------------------------------- */

TEST(SetMembersTest, are_as_small_as_their_order_allows)
{
    EXPECT_EQ(list({4, 5, 6, 7}).runs().size(), 1u);
    EXPECT_EQ(list({7, 6}).runs().size(), 2u);
    std::vector<SetMembers::Run> runs = {{0, 1000}, {1000, 24}};
    EXPECT_EQ(SetMembers::of_runs(runs)->runs().size(), 1u);
}

TEST(SetMembersTest, hold_nobody_twice_and_not_too_many)
{
    EXPECT_FALSE(SetMembers::of_list(Uids{1, 2, 1}));
    auto holds = [](std::vector<SetMembers::Run> runs) {
        return SetMembers::of_runs(runs).has_value();
    };
    EXPECT_FALSE(holds({{5, 0}}));
    EXPECT_FALSE(holds({{0, 10}, {9, 2}}));
    EXPECT_FALSE(holds({{9, 2}, {0, 10}}));
    EXPECT_FALSE(holds({{UINT32_MAX, 2}}));
    EXPECT_FALSE(holds({{0, SetMembers::MAX + 1}}));
    EXPECT_TRUE(holds({{0, SetMembers::MAX}}));
    EXPECT_TRUE(holds({{10, 5}, {0, 10}}));
}

/* SO1, against the words of the standard, one process at a time. */
TEST(SetMembersTest, follow_MPI_Group_operations)
{
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        std::vector<Uids> lists(1 + random() % 4);
        std::vector<SetMembers> sets;
        for (Uids &uids : lists) {
            for (uint32_t uid = 0; uid < 12; uid++)
                if (random() % 2)
                    uids.push_back(uid);
            if (random() % 3)
                std::ranges::shuffle(uids, random);
            sets.push_back(list(uids));
        }
        std::vector<const SetMembers *> operands;
        for (const SetMembers &set : sets)
            operands.push_back(&set);
        auto in = [](const Uids &uids, uint32_t uid) {
            return std::ranges::find(uids, uid) != uids.end();
        };
        Uids sum, common, rest;
        for (const Uids &uids : lists)
            for (uint32_t uid : uids)
                if (!in(sum, uid))
                    sum.push_back(uid);
        for (uint32_t uid : lists[0]) {
            auto n = std::count_if(lists.begin() + 1, lists.end(),
                                   [&](const Uids &l) { return in(l, uid); });
            if (n == static_cast<long>(lists.size()) - 1)
                common.push_back(uid);
            if (n == 0)
                rest.push_back(uid);
        }
        EXPECT_EQ(uids_of(*SetMembers::union_of(operands)), sum);
        EXPECT_EQ(uids_of(SetMembers::intersection_of(operands)), common);
        EXPECT_EQ(uids_of(SetMembers::difference_of(operands)), rest);
        EXPECT_EQ(*SetMembers::union_of(operands), list(sum)) << "equal lists are equal";
        std::set<uint32_t> some = {1, 5, 9};
        long n = std::ranges::count_if(lists[0], [&](uint32_t uid) { return some.contains(uid); });
        EXPECT_EQ(sets[0].count_of(some), static_cast<size_t>(n));
        EXPECT_EQ(sets[0].any_of(some), n > 0);
    }
}

TEST(SetMembersTest, are_split_into_consecutive_parts)
{
    auto parts = list({5, 6, 7, 1, 2, 9}).split(Uids{2, 0, 3, 1});
    ASSERT_EQ(parts.size(), 4u);
    EXPECT_EQ(uids_of(parts[0]), (Uids{5, 6}));
    EXPECT_TRUE(parts[1].empty());
    EXPECT_EQ(uids_of(parts[2]), (Uids{7, 1, 2}));
    EXPECT_EQ(uids_of(parts[3]), (Uids{9}));
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

class SetsTest : public testing::Test {
  protected:
    SetsTest() { use({}); }
    void use(const Sets::Limits &limits)
    {
        sets = Sets(limits);
        sets.grow(8);
    }

    /* Reads an answer as a test expects it. */
    struct Answer {
        std::string bytes;
        size_t at = 0;

        uint32_t number()
        {
            uint32_t value = 0;
            EXPECT_LE(at + sizeof value, bytes.size());
            std::memcpy(&value, bytes.data() + at, sizeof value);
            at += sizeof value;
            return value;
        }
        std::string text()
        {
            uint32_t n = number();
            at += n;
            return bytes.substr(at - n, n);
        }
        Uids members()
        {
            Uids uids;
            for (uint32_t n = number(); n > 0; n--) {
                uint32_t first = number();
                for (uint32_t k = number(); k > 0; k--)
                    uids.push_back(first++);
            }
            return uids;
        }
        bool complete() const { return at == bytes.size(); }
    };

    Answer send_request(uint32_t uid, const SetCall &call)
    {
        std::string bytes = write_set_call(call);
        auto replies = sets.call(
            {uid, ++id}, {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
        Answer mine;
        for (const Sets::Reply &reply : replies) {
            if (reply.caller.uid == uid && reply.caller.id == id)
                mine.bytes = reply.answer;
            else
                late.push_back(reply);
        }
        return mine;
    }
    uint32_t code(uint32_t uid, const SetCall &call) { return send_request(uid, call).number(); }
    SetOperand named(const std::string &name) { return {name, {}}; }

    std::vector<std::string> make(uint32_t uid, pmi_set_op op,
                                  const std::vector<std::string> &names,
                                  const std::string &wished = "", const Uids &parts = {})
    {
        MakeSets call{op, wished, parts, {}};
        for (const std::string &name : names)
            call.operands.push_back(named(name));
        Answer answer = send_request(uid, call);
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        std::vector<std::string> made(answer.number());
        for (std::string &name : made)
            name = answer.text();
        EXPECT_TRUE(answer.complete());
        return made;
    }
    std::string from_list(uint32_t uid, const Uids &uids, const std::string &wished = "")
    {
        Answer answer = send_request(uid, MakeFromList{wished, list(uids)});
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        return answer.text();
    }
    struct Queried {
        std::string name;
        uint32_t state = 0, primary = 0, op = 0;
        std::vector<std::string> operands;
        Uids members;
        uint32_t lasts = 0;     /* it may be cached */
    };
    Queried lookup(const std::string &name)
    {
        Queried set;
        Answer answer = send_request(0, LookupSet{name});
        if (answer.number() != PMI_SET_OK)
            return set;
        set.name = answer.text();
        set.state = answer.number();
        answer.number();
        set.primary = answer.number();
        set.op = answer.number();
        set.operands.resize(answer.number());
        for (std::string &operand : set.operands)
            operand = answer.text();
        set.members = answer.members();
        EXPECT_EQ(answer.number(), 0u) << "no addresses";
        set.lasts = answer.number();
        EXPECT_TRUE(answer.complete());
        return set;
    }
    std::vector<std::string> listed(uint32_t uid, uint32_t after = 0)
    {
        Answer answer = send_request(uid, ListSets{after});
        EXPECT_EQ(answer.number(), PMI_SET_OK);
        last_serial = answer.number();
        std::vector<std::string> names(answer.number());
        for (std::string &name : names) {
            name = answer.text();
            answer.number();
        }
        return names;
    }
    /* "key=value key=value"; "code N"; "waits". */
    static std::string data_of(Answer answer)
    {
        if (answer.bytes.empty())
            return "waits";
        if (uint32_t code = answer.number())
            return "code " + std::to_string(code);
        std::string text;
        for (uint32_t n = answer.number(); n > 0; n--) {
            text += (text.empty() ? "" : " ") + answer.text();
            text += "=" + answer.text();
        }
        return text;
    }
    std::string get(uint32_t uid, const std::string &callers, const std::string &name,
                    const std::vector<std::string> &keys, bool wait)
    {
        return data_of(send_request(uid, GetData{named(callers), name, wait, keys}));
    }

    Sets sets;
    uint32_t id = 0, last_serial = 0;
    std::vector<Sets::Reply> late;
};

TEST_F(SetsTest, SO1_operations_make_sets_that_everybody_finds)
{
    std::string a = from_list(0, {0, 1, 2, 3}), b = from_list(1, {3, 2, 5});
    EXPECT_EQ(a, "mpix://op/0.1");
    EXPECT_EQ(b, "mpix://op/1.1");
    auto sum = make(2, PMI_SET_OP_UNION, {b, a});
    ASSERT_EQ(sum, std::vector<std::string>{"mpix://op/2.1"});
    EXPECT_EQ(lookup(sum[0]).members, (Uids{3, 2, 5, 0, 1}));
    EXPECT_EQ(lookup(sum[0]).op, PMI_SET_OP_UNION);
    EXPECT_EQ(lookup(sum[0]).operands, (std::vector<std::string>{b, a}));
    EXPECT_EQ(lookup(make(2, PMI_SET_OP_DIFFERENCE, {a, b})[0]).members, (Uids{0, 1}));
    EXPECT_EQ(lookup(make(2, PMI_SET_OP_INTERSECTION, {b, a})[0]).members, (Uids{3, 2}));
}

TEST_F(SetsTest, data_that_may_change_silently_is_not_cached)
{
    sets.propose(4, 1);
    from_list(0, {0, 1}, "app://a");
    from_list(0, {0, 4}, "app://b");
    EXPECT_EQ(lookup("app://a").lasts, 1u);
    EXPECT_EQ(lookup("app://b").lasts, uint32_t{PMI_SET_LASTS_BUT_STATE})
        << "its processes will start";
    EXPECT_EQ(lookup("mpix://ALL").lasts, 0u);
    EXPECT_TRUE(sets.take_outdated().empty());
    send_request(0, FreeSet{"app://b"});
    EXPECT_EQ(sets.take_outdated().size(), 1u) << "who is in it is cached";
    EXPECT_EQ(lookup("app://a").lasts, 1u);
    send_request(0, FreeSet{"app://a"});
    EXPECT_EQ(sets.take_outdated().size(), 1u);
    EXPECT_TRUE(sets.take_outdated().empty()) << "once";
}

TEST_F(SetsTest, new_sets_may_be_queried_in_the_same_call)
{
    from_list(0, {0, 1}, "app://a");
    MakeSets call{PMI_SET_OP_UNION, "", {}, {named("app://a")}, true};
    Answer answer = send_request(1, call);
    EXPECT_EQ(answer.number(), PMI_SET_OK);
    EXPECT_EQ(answer.number(), 1u);
    EXPECT_EQ(answer.text(), "mpix://op/1.1");
    EXPECT_EQ(answer.number(), 1u) << "one lookup";
    EXPECT_EQ(answer.text(), "mpix://op/1.1");
    send_request(0, FreeSet{"mpix://op/1.1"});
    EXPECT_EQ(sets.take_outdated().size(), 1u) << "it is cached";
}

TEST_F(SetsTest, SO3_a_process_makes_sets_by_itself_as_it_was_allowed)
{
    from_list(0, {0, 1}, "app://a");
    const MadeSet made{1, PMI_SET_OP_UNION, {"app://a"}, list({0, 1, 2})};
    send_request(0, made);
    EXPECT_EQ(lookup("mpix://op/0.1").state, 0u) << "it was not allowed";
    EXPECT_EQ(sets.grant(0), 1u);
    send_request(1, made);
    EXPECT_EQ(lookup("mpix://op/0.1").state, 0u) << "another one was";
    EXPECT_TRUE(send_request(0, made).bytes.empty()) << "nobody waits";
    EXPECT_EQ(lookup("mpix://op/0.1").members, (Uids{0, 1, 2}));
    EXPECT_EQ(lookup("mpix://op/0.1").op, PMI_SET_OP_UNION);
    EXPECT_EQ(lookup("mpix://op/0.1").operands, (std::vector<std::string>{"app://a"}));
    send_request(0, made);
    send_request(0, MadeSet{5, PMI_SET_OP_UNION, {"app://a"}, list({0})});
    EXPECT_EQ(lookup("mpix://op/0.5").state, 0u) << "more than it was allowed";
    send_request(0, MadeSet{2, PMI_SET_OP_DIFFERENCE, {"app://a"}, list({0, 99})});
    EXPECT_EQ(lookup("mpix://op/0.2").state, 0u) << "there is no such process";
    EXPECT_EQ(make(0, PMI_SET_OP_UNION, {"app://a"})[0], "mpix://op/0.5")
        << "what is made here has other numbers";
    sets.end_grant();
    send_request(0, MadeSet{3, PMI_SET_OP_UNION, {"app://a"}, list({0})});
    EXPECT_EQ(lookup("mpix://op/0.3").state, 0u) << "not any more";
    EXPECT_EQ(sets.grant(0), 6u);
    send_request(0, MadeSet{6, PMI_SET_OP_UNION, {"app://a"}, list({0})});
    sets.end_grant();
    EXPECT_EQ(sets.grant(0), 7u) << "numbers that were not used come again";
}

TEST_F(SetsTest, SO2_split_into_as_many_sets_as_parts)
{
    std::string a = from_list(0, {0, 1, 2, 3});
    auto parts = make(0, PMI_SET_OP_SPLIT, {a}, "", {1, 0, 3});
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(lookup(parts[0]).members, (Uids{0}));
    EXPECT_EQ(parts[1], "") << "SO5, SN7";
    EXPECT_EQ(lookup(parts[2]).members, (Uids{1, 2, 3}));
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_SPLIT, "", {1, 2}, {named(a)}}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_SPLIT, "", {4}, {named(a), named(a)}}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_SPLIT, "", {UINT32_MAX, 5}, {named(a)}}), PMI_SET_WRONG)
        << "sum of 33 bits";
}

TEST_F(SetsTest, SN3_both_spellings_of_a_library_name)
{
    from_list(3, {0, 1});
    EXPECT_EQ(lookup("mpidynres://op_3.1").name, "mpix://op/3.1");
    EXPECT_EQ(code(0, FreeSet{"mpidynres://op_3.1"}), PMI_SET_OK);
    EXPECT_EQ(lookup("mpix://op/3.1").name, "");
}

TEST_F(SetsTest, SN6_a_wished_name_is_given_if_it_can_be)
{
    EXPECT_EQ(from_list(0, {0, 1}, "app://main"), "app://main");
    EXPECT_EQ(from_list(0, {2}, "app://main"), "mpix://op/0.1") << "in use";
    for (const char *name : {"mpi://mine", "MPIX://mine", "mpidynres://op_9.9", "plain", "app://",
                             "://x", "app://a b"})
        EXPECT_TRUE(from_list(0, {2}, name).starts_with("mpix://op/0.")) << name;
    EXPECT_EQ(code(0, FreeSet{"app://main"}), PMI_SET_OK);
    EXPECT_EQ(from_list(1, {2}, "app://main"), "app://main") << "not in use any more";
}

TEST_F(SetsTest, SN4_all_are_those_that_run)
{
    sets.ended(2);
    EXPECT_EQ(lookup("mpix://ALL").members, (Uids{0, 1, 3, 4, 5, 6, 7}));
    std::string odd = from_list(0, {1, 3});
    EXPECT_EQ(lookup(make(0, PMI_SET_OP_DIFFERENCE, {"mpix://ALL", odd})[0]).members,
              (Uids{0, 4, 5, 6, 7}));
    EXPECT_EQ(code(0, FreeSet{"mpix://ALL"}), PMI_SET_WRONG);
}

TEST_F(SetsTest, SO4_processes_that_left_count_in_the_algebra)
{
    std::string main = from_list(0, {0, 1, 2, 3}), delta = from_list(0, {2, 3});
    sets.ended(3);
    EXPECT_EQ(lookup(main).state, PMI_SET_ENDED);
    EXPECT_EQ(lookup(main).members, (Uids{0, 1, 2, 3}));
    EXPECT_EQ(lookup(main).primary, 0u);
    sets.ended(0);
    sets.ended(1);
    EXPECT_EQ(lookup(main).primary, 2u) << "the first that lives";
    sets.ended(2);
    EXPECT_EQ(lookup(main).primary, UINT32_MAX);
    std::string left = make(0, PMI_SET_OP_DIFFERENCE, {main, delta})[0];
    EXPECT_EQ(lookup(left).members, (Uids{0, 1}));
    EXPECT_EQ(lookup(left).state, PMI_SET_ENDED);
    sets.grow(9);
    std::string rest = from_list(0, {3, 8});
    EXPECT_EQ(lookup(make(0, PMI_SET_OP_DIFFERENCE, {rest, main})[0]).state, PMI_SET_RUNNING);
}

TEST_F(SetsTest, SO5_unknown_operands_and_empty_results)
{
    std::string a = from_list(0, {0, 1});
    EXPECT_EQ(make(0, PMI_SET_OP_DIFFERENCE, {a, a}), std::vector<std::string>{""});
    EXPECT_EQ(from_list(0, {}), "");
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_UNION, "", {}, {named(a), named("app://no")}}),
              PMI_SET_UNKNOWN);
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_UNION, "", {}, {named("mpi://WORLD")}}), PMI_SET_UNKNOWN)
        << "means something else to each process";
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_UNION, "", {}, {}}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, MakeSets{static_cast<pmi_set_op>(3), "", {}, {named(a)}}), PMI_SET_WRONG);
}

TEST_F(SetsTest, SO6_all_processes_are_of_the_job)
{
    EXPECT_EQ(code(0, MakeFromList{"", list({6, 8})}), PMI_SET_FOREIGN);
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_UNION, "", {}, {{"mpi://WORLD", list({8})}}}),
              PMI_SET_FOREIGN);
    sets.grow(9);
    EXPECT_EQ(code(0, MakeFromList{"", list({6, 8})}), PMI_SET_OK);
}

TEST_F(SetsTest, SO7_a_name_can_be_moved)
{
    std::string main = from_list(0, {0, 1}, "app://main"), next = from_list(0, {0, 1, 2});
    EXPECT_EQ(code(1, MoveSet{next, main}), PMI_SET_OK);
    EXPECT_EQ(lookup(main).members, (Uids{0, 1, 2}));
    EXPECT_EQ(lookup(next).name, "");
    EXPECT_EQ(code(1, MoveSet{next, main}), PMI_SET_UNKNOWN);
    EXPECT_EQ(code(1, MoveSet{main, "mpi://WORLD"}), PMI_SET_WRONG);
    EXPECT_EQ(code(1, MoveSet{main, "mpix://op/0.1"}), PMI_SET_WRONG);
    EXPECT_EQ(code(1, MoveSet{main, main}), PMI_SET_OK);
    EXPECT_EQ(code(1, MoveSet{main, "app://other"}), PMI_SET_OK) << "need not be there";
    EXPECT_EQ(listed(2), std::vector<std::string>{"app://other"});
}

TEST_F(SetsTest, SO8_freed_for_everybody_once)
{
    std::string a = from_list(0, {0, 1});
    EXPECT_EQ(code(3, FreeSet{a}), PMI_SET_OK);
    EXPECT_EQ(code(0, FreeSet{a}), PMI_SET_UNKNOWN);
    EXPECT_EQ(code(0, FreeSet{"mpi://SELF"}), PMI_SET_WRONG);
    EXPECT_TRUE(listed(0).empty());
}

TEST_F(SetsTest, SO9_a_full_table_removes_sets_without_processes)
{
    use({.sets = 100});
    for (int n = 0; n < 100; n++)
        from_list(0, {7});
    EXPECT_EQ(code(0, MakeFromList{"", list({0})}), PMI_SET_FULL);
    EXPECT_EQ(code(0, MakeSets{PMI_SET_OP_UNION, "", {}, {named("mpix://op/0.1")}}), PMI_SET_FULL);
    EXPECT_NE(sets.full_error().find("the oldest of which is mpix://op/0.1: free"),
              std::string::npos);
    EXPECT_EQ(code(0, PutData{"mpix://op/0.1", {{"key", "value"}}}), PMI_SET_OK)
        << "nothing changed";
    sets.ended(7);
    EXPECT_EQ(from_list(0, {0}), "mpix://op/0.101");
    EXPECT_EQ(lookup("mpix://op/0.1").name, "");
}

/* Each change makes the set of its process and a new main set; the process ends, and the program frees the main set. */
TEST_F(SetsTest, SO9_the_latest_sets_without_processes_remain)
{
    std::string first = from_list(0, {0, 1}, "app://first"), main = from_list(0, {0, 1});
    for (uint32_t uid = 8; uid < 10'008; uid++) {
        sets.grow(uid + 1);
        std::string delta = sets.add_delta(uid, PMI_SET_OP_ADD, list({uid}));
        ASSERT_EQ(delta, "mpix://rc/" + std::to_string(uid));
        sets.delta_over();
        std::string next = make(0, PMI_SET_OP_UNION, {first, delta})[0];
        EXPECT_EQ(code(0, FreeSet{main}), PMI_SET_OK);
        main = next;
        sets.ended(uid);
        sets.take_changes();
        if (uid % 100 == 0) {
            ASSERT_LE(sets.view(0, SIZE_MAX).size(), 1024u * 5 / 4 + 4);
        }
    }
    EXPECT_EQ(lookup("mpix://rc/8").state, 0u);
    for (uint32_t uid : {10'007 - 1023, 10'007})
        EXPECT_EQ(lookup("mpix://rc/" + std::to_string(uid)).members, (Uids{uid}))
            << "it may be an operand (SO4)";
    EXPECT_EQ(lookup(first).members, (Uids{0, 1})) << "its processes live";
    EXPECT_EQ(lookup(main).state, PMI_SET_ENDED) << "some of its processes live (SL2)";
}

/* An old set whose process has just ended is retained instead of newer ones whose processes have ended before. */
TEST_F(SetsTest, SO9_the_time_of_departure_counts)
{
    use({.disconnected = 10});
    std::string old = from_list(0, {1}, "app://old");
    sets.ended(2);
    auto make_many = [&](uint32_t uid) {
        for (int n = 0; n < 200; n++)
            from_list(0, {uid});
    };
    make_many(2);
    make_many(0);
    EXPECT_EQ(lookup("mpix://op/0.1").state, 0u) << "there were later ones";
    EXPECT_EQ(lookup("mpix://op/0.200").members, (Uids{2}));
    sets.ended(1);
    make_many(0);
    EXPECT_EQ(lookup(old).members, (Uids{1}));
    EXPECT_EQ(lookup("mpix://op/0.200").members, (Uids{2}));
    EXPECT_EQ(lookup("mpix://op/0.191").state, 0u) << "instead of it";
}

/* SR9: the processes of a removal may end before anybody accepts it. */
TEST_F(SetsTest, SO9_the_delta_of_a_pending_change_remains)
{
    use({.sets = 3, .disconnected = 0});
    std::string delta = sets.add_delta(1, PMI_SET_OP_SUB, list({7}));
    sets.ended(7);
    from_list(0, {7});
    from_list(0, {7});
    from_list(0, {0});
    EXPECT_EQ(lookup(delta).members, (Uids{7}));
    sets.delta_over();
    from_list(0, {0});
    EXPECT_EQ(lookup("mpix://op/0.4").members, (Uids{0}));
    EXPECT_EQ(code(0, MakeFromList{"", list({0})}), PMI_SET_OK);
    EXPECT_EQ(lookup(delta).state, 0u);
}

TEST_F(SetsTest, members_without_order_are_bounded_in_sum)
{
    use({.runs = 30, .operands_runs = 20});
    for (int n = 0; n < 4; n++)
        from_list(0, {7, 6, 5, 4, 3, 2, 1});
    EXPECT_EQ(code(0, MakeFromList{"", list({3, 2, 1})}), PMI_SET_FULL);
    EXPECT_EQ(code(0, MakeFromList{"", list({3, 2})}), PMI_SET_OK);
    MakeSets call{PMI_SET_OP_INTERSECTION, "", {}, {}};
    for (const char *name : {"mpix://op/0.1", "mpix://op/0.2", "mpix://op/0.5"})
        call.operands.push_back(named(name));
    EXPECT_EQ(code(0, call), PMI_SET_FULL) << "there is no capacity for the result";
    EXPECT_EQ(code(0, FreeSet{"mpix://op/0.3"}), PMI_SET_OK);
    EXPECT_EQ(code(0, call), PMI_SET_OK);
    call.operands.push_back(named("mpix://op/0.4"));
    EXPECT_EQ(code(0, call), PMI_SET_FULL) << "one call works on so much only";
}

TEST_F(SetsTest, SI1_sets_are_listed_in_the_order_in_which_they_were_made)
{
    EXPECT_TRUE(sets.add("app://ocean", list({0, 1})));
    EXPECT_FALSE(sets.add("app://ocean", list({0})));
    std::string a = from_list(5, {1, 5}), b = from_list(0, {5, 6});
    EXPECT_EQ(listed(1), (std::vector<std::string>{"app://ocean", a}));
    EXPECT_EQ(listed(5), (std::vector<std::string>{a, b}));
    uint32_t before = last_serial;
    EXPECT_TRUE(listed(5, before).empty());
    std::string c = from_list(0, {5});
    EXPECT_EQ(listed(5, before), std::vector<std::string>{c});
}

TEST_F(SetsTest, SN2_the_world_has_data_and_is_not_listed)
{
    sets.add_world(0, list({0, 1}));
    EXPECT_TRUE(listed(0).empty());
    EXPECT_EQ(lookup("mpix://WORLD/0").members, (Uids{0, 1}));
    EXPECT_EQ(code(0, PutData{"mpix://WORLD/0", {{"x", "1"}}}), PMI_SET_OK);
    EXPECT_EQ(code(0, FreeSet{"mpix://WORLD/0"}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, MoveSet{"mpix://WORLD/0", "app://w"}), PMI_SET_WRONG);
}

/* ---- data ---------------------------------------------------------------------------------------------------- */

TEST_F(SetsTest, SD1_the_last_writer_of_a_key_wins)
{
    std::string a = from_list(0, {0, 1});
    EXPECT_EQ(code(5, PutData{a, {{"x", "1"}, {"y", "2"}}}), PMI_SET_OK) << "any process";
    EXPECT_EQ(code(0, PutData{a, {{"x", "3"}}}), PMI_SET_OK);
    EXPECT_EQ(get(0, a, a, {"x", "y", "z"}, false), "x=3 y=2");
    EXPECT_EQ(code(0, PutData{"app://no", {{"x", "3"}}}), PMI_SET_UNKNOWN);
}

TEST_F(SetsTest, SD2_all_callers_of_a_round_get_the_same)
{
    std::string a = from_list(0, {0, 1, 2});
    send_request(0, PutData{a, {{"x", "1"}}});
    EXPECT_EQ(get(1, a, a, {"x"}, false), "x=1");
    send_request(0, PutData{a, {{"x", "2"}}});
    EXPECT_EQ(get(2, a, a, {"x"}, false), "x=1") << "as in the first call of this round";
    EXPECT_EQ(get(2, a, a, {"x"}, false), "x=2");
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=1");
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=2");
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=2") << "the first of the next round";
    EXPECT_EQ(get(5, a, a, {"x"}, false), "code " + std::to_string(PMI_SET_WRONG))
        << "is not in it";
}

TEST_F(SetsTest, SD2_waits_until_all_keys_are_there)
{
    std::string a = from_list(0, {0, 1});
    EXPECT_EQ(get(0, a, a, {"x", "y"}, true), "waits");
    send_request(3, PutData{a, {{"x", "1"}}});
    EXPECT_TRUE(late.empty());
    EXPECT_EQ(get(1, a, a, {"x", "y"}, true), "waits");
    send_request(3, PutData{a, {{"y", "2"}}});
    ASSERT_EQ(late.size(), 2u);
    for (const Sets::Reply &reply : late)
        EXPECT_EQ(data_of({reply.answer}), "x=1 y=2");
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=1") << "the round is over and discarded";
}

TEST_F(SetsTest, SD2_nobody_waits_for_a_set_that_ends_or_is_freed)
{
    std::string a = from_list(0, {0, 1}), b = from_list(0, {0, 1});
    EXPECT_EQ(get(0, a, a, {"x"}, true), "waits");
    late = sets.ended(1);
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(data_of({late[0].answer}), "code " + std::to_string(PMI_SET_MEMBER_ENDED));
    sets.grow(9);
    std::string c = from_list(0, {0, 2});
    late.clear();
    EXPECT_EQ(get(0, c, c, {"x"}, true), "waits");
    send_request(2, FreeSet{c});
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(data_of({late[0].answer}), "code " + std::to_string(PMI_SET_UNKNOWN));
}

TEST_F(SetsTest, SD2_each_start_group_has_rounds_of_its_own)
{
    std::string a = from_list(0, {0, 1, 2, 3});
    send_request(0, PutData{a, {{"x", "1"}}});
    auto get_in = [&](uint32_t uid, const Uids &world) {
        return data_of(send_request(uid, GetData{{"mpi://WORLD", list(world)}, a, false, {"x"}}));
    };
    EXPECT_EQ(get_in(0, {0, 1}), "x=1");
    send_request(0, PutData{a, {{"x", "2"}}});
    EXPECT_EQ(get_in(2, {2, 3}), "x=2");
    EXPECT_EQ(get_in(1, {0, 1}), "x=1");
}

TEST_F(SetsTest, SD2_rounds_are_the_set_s_and_not_the_name_s)
{
    std::string a = from_list(0, {0, 1}, "app://a"), b = from_list(0, {0, 2});
    send_request(0, PutData{a, {{"x", "1"}}});
    send_request(0, PutData{b, {{"x", "2"}}});
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=1");
    EXPECT_EQ(get(0, b, b, {"x"}, false), "x=2");
    send_request(1, MoveSet{b, a});
    send_request(0, PutData{a, {{"x", "3"}}});
    EXPECT_EQ(get(2, a, a, {"x"}, false), "x=2")
        << "the first round of the set that is called so now";
    EXPECT_EQ(get(2, a, a, {"x"}, false), "x=3");
    EXPECT_EQ(get(0, a, a, {"x"}, false), "x=3");
}

TEST_F(SetsTest, SD2_a_round_ends_with_the_set_of_its_callers)
{
    use({.rounds = 1});
    std::string a = from_list(0, {0, 1}), b = from_list(0, {0, 2});
    EXPECT_EQ(get(0, a, b, {"x"}, true), "waits");
    EXPECT_EQ(code(0, FreeSet{a}), PMI_SET_OK);
    EXPECT_TRUE(late.empty()) << "it requested data of another one";
    send_request(0, PutData{b, {{"x", "1"}}});
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(data_of({late[0].answer}), "x=1");
    EXPECT_EQ(get(0, b, b, {"x"}, false), "x=1") << "there is capacity for a round again";
}

TEST_F(SetsTest, SD2_a_process_without_queries_costs_a_bounded_number_of_rounds)
{
    use({.rounds = 3});
    std::string a = from_list(0, {0, 1});
    for (int n = 0; n < 3; n++)
        EXPECT_EQ(get(0, a, a, {}, false), "");
    EXPECT_EQ(get(0, a, a, {}, false), "code " + std::to_string(PMI_SET_FULL));
    EXPECT_EQ(get(1, a, a, {}, false), "code " + std::to_string(PMI_SET_FULL))
        << "that is as it is";
    sets.ended(1);
    EXPECT_EQ(get(0, a, a, {}, false), "") << "nobody is awaited any more";
}

TEST_F(SetsTest, SN3_the_latest_worlds_are_known)
{
    use({.worlds = 2});
    for (uint32_t epoch = 0; epoch < 3; epoch++)
        sets.add_world(epoch, list({epoch, 7}));
    EXPECT_EQ(lookup("mpix://WORLD/0").name, "");
    EXPECT_EQ(lookup("mpix://WORLD/1").members, (Uids{1, 7}));
    EXPECT_EQ(lookup("mpix://WORLD/2").members, (Uids{2, 7}));
}

TEST_F(SetsTest, SA1_a_world_is_cached_until_it_is_unknown)
{
    use({.worlds = 2});
    sets.add_world(0, list({0, 1}));
    EXPECT_EQ(lookup("mpix://WORLD/0").lasts, 1u);
    sets.add_world(1, list({0}));
    EXPECT_EQ(sets.take_outdated().size(), 0u);
    sets.add_world(2, list({1}));
    EXPECT_EQ(sets.take_outdated().size(), 1u);
    EXPECT_EQ(lookup("mpix://WORLD/1").lasts, 1u);
    sets.ended(0);
    EXPECT_EQ(sets.take_outdated().size(), 1u) << "a process of it has ended";
    sets.add_world(3, list({1}));
    EXPECT_EQ(sets.take_outdated().size(), 0u) << "nobody remembers it";
    EXPECT_EQ(lookup("mpix://ALL").lasts, 0u);
}

TEST_F(SetsTest, SC4_without_keys_all_changes_are_reported_and_a_wait_ends_with_the_first)
{
    std::string a = from_list(0, {0, 1}), me = from_list(0, {0});
    EXPECT_EQ(get(0, me, a, {}, false), "");
    EXPECT_EQ(get(0, me, a, {}, true), "waits");
    send_request(1, PutData{a, {{"x", "1"}, {"y", "2"}}});
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(data_of({late[0].answer}), "x=1 y=2");
    EXPECT_EQ(get(0, me, a, {}, true), "x=1 y=2");
}

TEST_F(SetsTest, SD3_data_moves_with_its_set_and_is_bounded)
{
    std::string a = from_list(0, {0});
    send_request(0, PutData{a, {{"x", "1"}}});
    EXPECT_EQ(code(0, MoveSet{a, "app://a"}), PMI_SET_OK);
    EXPECT_EQ(get(0, "app://a", "app://a", {"x"}, false), "x=1");
    SetData much;
    for (int k = 0; k < 63; k++)
        much["key" + std::to_string(k)] = std::string(PMI_SET_VALUE_MAX, 'v');
    EXPECT_EQ(code(0, PutData{"app://a", much}), PMI_SET_OK);
    EXPECT_EQ(code(0, PutData{"app://a", much}), PMI_SET_OK) << "written over";
    EXPECT_EQ(code(0, PutData{"app://a", {{"more", std::string(PMI_SET_VALUE_MAX, 'v')}}}),
              PMI_SET_FULL);
    EXPECT_EQ(get(0, "app://a", "app://a", {"more", "x"}, false), "x=1") << "nothing changed";
}

/* ---- what a process may send ------------------------------------------------------------------------------------ */

TEST_F(SetsTest, malformed_calls_are_wrong_and_change_nothing)
{
    std::string a = from_list(0, {0, 1}, "app://a");
    SetCall calls[] = {
        MakeSets{PMI_SET_OP_UNION, "app://u", {1}, {named(a), {"mpi://WORLD", list({0, 1, 5})}}},
        MakeFromList{"app://u", list({3, 1})},
        LookupSet{a},
        ListSets{7},
        MoveSet{a, "app://b"},
        FreeSet{a},
        PutData{a, {{"x", "1"}, {"y", "2"}}},
        GetData{named(a), a, true, {"x"}}};
    uint32_t before = sets.serial();
    for (const SetCall &call : calls) {
        std::string bytes = write_set_call(call);
        auto parsed =
            parse_set_call({reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
        ASSERT_TRUE(parsed);
        EXPECT_EQ(write_set_call(*parsed), bytes);
        bool may_end_earlier = std::holds_alternative<LookupSet>(call); /* with the name alone */
        for (size_t n = 0; n < bytes.size(); n++) {
            parsed = parse_set_call({reinterpret_cast<const unsigned char *>(bytes.data()), n});
            EXPECT_EQ(parsed.has_value(), may_end_earlier && n == bytes.size() - sizeof(uint32_t));
            EXPECT_TRUE(!parsed || std::get<LookupSet>(*parsed).state);
        }
        bytes += '\0';
        auto replies = sets.call(
            {0, 1}, {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()});
        ASSERT_EQ(replies.size(), 1u);
        EXPECT_EQ(Answer{replies[0].answer}.number(), PMI_SET_WRONG);
    }
    EXPECT_EQ(sets.serial(), before);
    EXPECT_EQ(code(0, LookupSet{std::string(PMI_SET_NAME_MAX + 1, 'a')}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, LookupSet{std::string("a\0b", 3)}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, PutData{a, {{"x", std::string(PMI_SET_VALUE_MAX + 1, 'v')}}}), PMI_SET_WRONG);
}

}  // namespace
}  // namespace elastic
