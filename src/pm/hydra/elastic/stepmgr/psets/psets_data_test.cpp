/* Data of process sets, and malformed calls (psets_data.cpp). */

#include "stepmgr/psets/psets_fixture.h"

namespace elastic {
namespace {

/* ---- data ------------------------------------------------------------------------------------ */

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
    auto get_in = [&](uint32_t uid, const UidList &world) {
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
    EXPECT_EQ(lookup("mpix://WORLD/1").members, (UidList{1, 7}));
    EXPECT_EQ(lookup("mpix://WORLD/2").members, (UidList{2, 7}));
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

/* ---- what a process may send ----------------------------------------------------------------- */

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
