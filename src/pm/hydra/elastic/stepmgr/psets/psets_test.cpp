/* The table of process sets: operations, names, bounds, lists (psets.h). */

#include "stepmgr/psets/psets_fixture.h"

namespace elastic {
namespace {

TEST_F(SetsTest, SO1_operations_make_sets_that_everybody_finds)
{
    std::string a = from_list(0, {0, 1, 2, 3}), b = from_list(1, {3, 2, 5});
    EXPECT_EQ(a, "mpix://op/0.1");
    EXPECT_EQ(b, "mpix://op/1.1");
    auto sum = make(2, PMI_SET_OP_UNION, {b, a});
    ASSERT_EQ(sum, std::vector<std::string>{"mpix://op/2.1"});
    EXPECT_EQ(lookup(sum[0]).members, (UidList{3, 2, 5, 0, 1}));
    EXPECT_EQ(lookup(sum[0]).op, PMI_SET_OP_UNION);
    EXPECT_EQ(lookup(sum[0]).operands, (std::vector<std::string>{b, a}));
    EXPECT_EQ(lookup(make(2, PMI_SET_OP_DIFFERENCE, {a, b})[0]).members, (UidList{0, 1}));
    EXPECT_EQ(lookup(make(2, PMI_SET_OP_INTERSECTION, {b, a})[0]).members, (UidList{3, 2}));
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
    EXPECT_EQ(lookup("mpix://op/0.1").members, (UidList{0, 1, 2}));
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
    EXPECT_EQ(lookup(parts[0]).members, (UidList{0}));
    EXPECT_EQ(parts[1], "") << "SO5, SN7";
    EXPECT_EQ(lookup(parts[2]).members, (UidList{1, 2, 3}));
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

TEST_F(SetsTest, SN6_a_proposed_name_is_given_if_it_can_be)
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
    EXPECT_EQ(lookup("mpix://ALL").members, (UidList{0, 1, 3, 4, 5, 6, 7}));
    std::string odd = from_list(0, {1, 3});
    EXPECT_EQ(lookup(make(0, PMI_SET_OP_DIFFERENCE, {"mpix://ALL", odd})[0]).members,
              (UidList{0, 4, 5, 6, 7}));
    EXPECT_EQ(code(0, FreeSet{"mpix://ALL"}), PMI_SET_WRONG);
}

TEST_F(SetsTest, SO4_processes_that_left_count_in_the_algebra)
{
    std::string main = from_list(0, {0, 1, 2, 3}), delta = from_list(0, {2, 3});
    sets.ended(3);
    EXPECT_EQ(lookup(main).state, PMI_SET_ENDED);
    EXPECT_EQ(lookup(main).members, (UidList{0, 1, 2, 3}));
    EXPECT_EQ(lookup(main).primary, 0u);
    sets.ended(0);
    sets.ended(1);
    EXPECT_EQ(lookup(main).primary, 2u) << "the first that lives";
    sets.ended(2);
    EXPECT_EQ(lookup(main).primary, UINT32_MAX);
    std::string left = make(0, PMI_SET_OP_DIFFERENCE, {main, delta})[0];
    EXPECT_EQ(lookup(left).members, (UidList{0, 1}));
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
    EXPECT_EQ(lookup(main).members, (UidList{0, 1, 2}));
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

/* Each change makes the set of its process and a new main set; the process ends, and the program
 * frees the main set. */
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
        EXPECT_EQ(lookup("mpix://rc/" + std::to_string(uid)).members, (UidList{uid}))
            << "it may be an operand (SO4)";
    EXPECT_EQ(lookup(first).members, (UidList{0, 1})) << "its processes live";
    EXPECT_EQ(lookup(main).state, PMI_SET_ENDED) << "some of its processes live (SL2)";
}

/* An old set whose process has just ended remains, instead of newer sets whose processes ended
 * earlier. */
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
    EXPECT_EQ(lookup("mpix://op/0.200").members, (UidList{2}));
    sets.ended(1);
    make_many(0);
    EXPECT_EQ(lookup(old).members, (UidList{1}));
    EXPECT_EQ(lookup("mpix://op/0.200").members, (UidList{2}));
    EXPECT_EQ(lookup("mpix://op/0.191").state, 0u) << "instead of it";
}

/* SR9: the processes of a removal may end before a process accepts it. */
TEST_F(SetsTest, SO9_the_delta_of_a_pending_change_remains)
{
    use({.sets = 3, .disconnected = 0});
    std::string delta = sets.add_delta(1, PMI_SET_OP_SUB, list({7}));
    sets.ended(7);
    from_list(0, {7});
    from_list(0, {7});
    from_list(0, {0});
    EXPECT_EQ(lookup(delta).members, (UidList{7}));
    sets.delta_over();
    from_list(0, {0});
    EXPECT_EQ(lookup("mpix://op/0.4").members, (UidList{0}));
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
    EXPECT_EQ(lookup("mpix://WORLD/0").members, (UidList{0, 1}));
    EXPECT_EQ(code(0, PutData{"mpix://WORLD/0", {{"x", "1"}}}), PMI_SET_OK);
    EXPECT_EQ(code(0, FreeSet{"mpix://WORLD/0"}), PMI_SET_WRONG);
    EXPECT_EQ(code(0, MoveSet{"mpix://WORLD/0", "app://w"}), PMI_SET_WRONG);
}

}  // namespace
}  // namespace elastic
