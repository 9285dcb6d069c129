/* The turn of a size request, by its origin and by what is open. */

#include "stepmgr/requests/size_request_queue.h"

#include <gtest/gtest.h>

#include <map>

namespace elastic {
namespace {

using Turn = SizeRequestQueue::Turn;

constexpr Origin ORIGINS[] = {Origin::MODIFY, Origin::PROGRAM, Origin::OPERATION, Origin::HINTS};

/* The first request of process `uid`. */
SizeRequest request(Origin origin, int size, uint32_t uid = 0)
{
    SizeRequest made;
    made.origin = origin;
    made.wanted.size = made.size_min = made.size_max = size;
    if (origin == Origin::PROGRAM || origin == Origin::MODIFY)
        made.holders.push_back({uid, 1, {}});
    return made;
}

TEST(SizeRequestQueueTest, labels_and_names)
{
    SizeRequest entry = request(Origin::SCHEDULE, 4);
    entry.entry = 3;
    EXPECT_EQ(entry.label(), "schedule entry 3");
    const std::map<Origin, std::string> names =
        {{Origin::MODIFY, "program"},    {Origin::CLIENT, "client"}, {Origin::PROGRAM, "wish"},
                                                 {Origin::OPERATION, "wish"},
                                                 {Origin::HINTS, "wish"},
                                                 {Origin::SCHEDULE, "schedule"},
                                                 {Origin::POLICY, "policy"}};
    for (const auto &[origin, name] : names)
        EXPECT_EQ(to_string(origin), name) << request(origin, 2).label();
    EXPECT_EQ(request(Origin::MODIFY, 2).label(), "MPIX_Comm_modify");
    EXPECT_EQ(request(Origin::CLIENT, 2).label(), "resize request");
    EXPECT_EQ(request(Origin::POLICY, 2).label(), "policy");
}

TEST(SizeRequestQueueTest, the_first_one_opens)
{
    for (Origin origin : ORIGINS) {
        SizeRequestQueue queue;
        EXPECT_EQ(queue.open(), nullptr);
        EXPECT_EQ(queue.turn_of(request(origin, 4), false), Turn::OPENS);
        EXPECT_EQ(queue.turn_of(request(origin, 4), true), Turn::OPENS)
            << "the agreement is for somebody else";
        queue.open(request(origin, 4), 7);
        ASSERT_NE(queue.open(), nullptr);
        EXPECT_EQ(queue.open()->number, 7u);
        EXPECT_EQ(queue.find(7), queue.open());
        EXPECT_EQ(queue.find(6), nullptr);
        EXPECT_EQ(queue.find(0), nullptr);
        EXPECT_EQ(queue.waiting(), nullptr);
    }
}

/* Each origin after each other one, before and after the processes have agreed on the open
 * request. */
TEST(SizeRequestQueueTest, every_order_of_origins)
{
    const std::map<std::pair<Origin, Origin>, bool> refused = {
        {{Origin::MODIFY, Origin::PROGRAM}, true},    {{Origin::MODIFY, Origin::OPERATION}, true},
        {{Origin::MODIFY, Origin::HINTS}, true},      {{Origin::PROGRAM, Origin::HINTS}, true},
        {{Origin::OPERATION, Origin::HINTS}, true},
    };
    for (Origin first : ORIGINS) {
        for (Origin second : ORIGINS) {
            SizeRequestQueue queue;
            queue.open(request(first, 4), 1);
            bool is_refused = refused.contains({first, second});
            std::string order = request(first, 4).label() + ", " + request(second, 5).label();
            EXPECT_EQ(queue.turn_of(request(second, 5), false),
                      is_refused ? Turn::REFUSED : Turn::OPENS)
                << order;
            EXPECT_EQ(queue.turn_of(request(second, 5), true),
                      is_refused ? Turn::REFUSED : Turn::WAITS)
                << order;
        }
    }
}

TEST(SizeRequestQueueTest, the_same_of_another_process_joins)
{
    SizeRequestQueue queue;
    SizeRequest first = request(Origin::PROGRAM, 4, 1), second = request(Origin::PROGRAM, 4, 2);
    first.until_unix_ms = 10;
    second.until_unix_ms = 30;
    queue.open(first, 1);
    for (bool granted : {false, true})
        EXPECT_EQ(queue.turn_of(second, granted), Turn::JOINS);
    EXPECT_EQ(queue.turn_of(request(Origin::PROGRAM, 5, 2), false), Turn::OPENS) << "another size";
    SizeRequest because = second;
    because.reason = "grid";
    EXPECT_EQ(queue.turn_of(because, false), Turn::OPENS) << "another reason";
    queue.join(*queue.find_same(second), second);
    EXPECT_EQ(queue.open()->holders.size(), 2u);
    EXPECT_EQ(queue.open()->until_unix_ms, 30u) << "until the last one does not want it";
    queue.join(*queue.open(), request(Origin::PROGRAM, 4, 3));
    EXPECT_EQ(queue.open()->until_unix_ms, 0u) << "one wants it for ever";
}

TEST(SizeRequestQueueTest, a_process_that_waits_has_its_own)
{
    for (Origin origin : {Origin::MODIFY, Origin::OPERATION}) {
        SizeRequestQueue queue;
        queue.open(request(origin, 4), 1);
        EXPECT_EQ(queue.turn_of(request(origin, 4), false), Turn::OPENS);
        queue.take_open();
        queue.open(request(Origin::PROGRAM, 4), 2);
        EXPECT_EQ(queue.turn_of(request(origin, 4), false), Turn::OPENS);
    }
}

TEST(SizeRequestQueueTest, a_hint_adds_nothing_and_a_process_more_to_the_same_hint)
{
    SizeRequestQueue queue;
    queue.open(request(Origin::PROGRAM, 4), 1);
    SizeRequest hint = request(Origin::HINTS, 4);
    EXPECT_EQ(queue.turn_of(hint, false), Turn::JOINS);
    queue.join(*queue.find_same(hint), hint);
    EXPECT_EQ(queue.open()->origin, Origin::PROGRAM);
    EXPECT_EQ(queue.open()->holders.size(), 1u);
    queue.take_open();

    queue.open(hint, 2);
    EXPECT_EQ(queue.turn_of(request(Origin::HINTS, 5), false), Turn::OPENS)
        << "another hint replaces it";
    SizeRequest of_process = request(Origin::PROGRAM, 4);
    EXPECT_EQ(queue.turn_of(of_process, false), Turn::JOINS);
    queue.join(*queue.find_same(of_process), of_process);
    EXPECT_EQ(queue.open()->origin, Origin::PROGRAM);
    EXPECT_EQ(queue.turn_of(request(Origin::HINTS, 5), false), Turn::REFUSED)
        << "a process wants it now";
}

TEST(SizeRequestQueueTest, a_cancelled_one_is_not_joined)
{
    SizeRequestQueue queue;
    queue.open(request(Origin::PROGRAM, 4, 1), 1);
    queue.open()->withdrawing = true;
    EXPECT_EQ(queue.turn_of(request(Origin::PROGRAM, 4, 2), false), Turn::OPENS);
    EXPECT_EQ(queue.turn_of(request(Origin::PROGRAM, 4, 2), true), Turn::WAITS);
    EXPECT_EQ(queue.find_same(request(Origin::PROGRAM, 4, 2)), nullptr);
}

/* While a change is agreed on: one request waits, and a newer one of its priority replaces it. */
TEST(SizeRequestQueueTest, one_waits_at_most)
{
    SizeRequestQueue queue;
    EXPECT_FALSE(queue.open_waiting(1)) << "nobody waits";
    queue.open(request(Origin::PROGRAM, 4), 1);
    EXPECT_FALSE(queue.wait(request(Origin::PROGRAM, 5, 5)));
    for (int size = 6; size < 100; size++) {
        auto replaced = queue.wait(request(Origin::PROGRAM, size));
        ASSERT_TRUE(replaced);
        EXPECT_EQ(replaced->wanted.size, size - 1);
    }
    EXPECT_EQ(queue.turn_of(request(Origin::PROGRAM, 99, 3), true), Turn::JOINS)
        << "the waiting one";
    EXPECT_EQ(queue.find_same(request(Origin::PROGRAM, 99, 3)), queue.waiting());

    EXPECT_EQ(queue.take_open().number, 1u);
    ASSERT_TRUE(queue.open_waiting(2));
    EXPECT_EQ(queue.open()->wanted.size, 99);
    EXPECT_EQ(queue.open()->number, 2u);
    EXPECT_EQ(queue.waiting(), nullptr);
}

TEST(SizeRequestQueueTest, the_higher_priority_waits)
{
    SizeRequestQueue queue;
    queue.open(request(Origin::HINTS, 4), 1);
    EXPECT_FALSE(queue.wait(request(Origin::HINTS, 5)));
    auto replaced = queue.wait(request(Origin::PROGRAM, 6));
    ASSERT_TRUE(replaced);
    EXPECT_EQ(replaced->origin, Origin::HINTS);
    replaced = queue.wait(request(Origin::HINTS, 7));
    ASSERT_TRUE(replaced);
    EXPECT_EQ(replaced->wanted.size, 7) << "the new one does not wait";
    EXPECT_EQ(queue.waiting()->wanted.size, 6);
    queue.remove_waiting();
    EXPECT_EQ(queue.waiting(), nullptr);
    EXPECT_NE(queue.open(), nullptr);
}

}  // namespace
}  // namespace elastic
