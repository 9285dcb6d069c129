#include "stepmgr/state/adaptation_table_fixture.h"

#include <gtest/gtest.h>

#include <set>

namespace elastic {
namespace {

template <class Function> void for_each_row(Function function)
{
    for_each_row_of(find_transition, function);
}

TEST(AdaptationTableTest, nothing_follows_an_end)
{
    for_each_row([](const AdaptTransition &row) { EXPECT_FALSE(is_end(row.state)); });
}

TEST(AdaptationTableTest, before_agreement_all_can_be_undone)
{
    for (AdaptEvent event :
         {AdaptEvent::WITHDRAW, AdaptEvent::JOB_ENDED, AdaptEvent::MEMBER_FAILED}) {
        for (int s = 0; s < STATES; s++) {
            const auto *row = find_transition(AdaptState(s), event);
            if (!before_agreement(AdaptState(s)) || AdaptState(s) == AdaptState::OFFERED)
                continue;       /* of changes through sets: pset_change_test.cpp */
            ASSERT_TRUE(row) << to_string(AdaptState(s)) << ", " << to_string(event);
            EXPECT_TRUE(is_end(row->next));
            EXPECT_NE(row->action, AdaptAction::ABORT_STEP);
        }
    }
}

TEST(AdaptationTableTest, after_agreement_nothing_is_withdrawn_by_request)
{
    EXPECT_FALSE(find_transition(AdaptState::AGREED, AdaptEvent::WITHDRAW));
    EXPECT_FALSE(find_transition(AdaptState::ENDING, AdaptEvent::WITHDRAW));
}

TEST(AdaptationTableTest, boards_that_know_are_thawed)
{
    for_each_row([](const AdaptTransition &row) {
        bool undone = row.next == AdaptState::WITHDRAWN || row.next == AdaptState::FAILED;
        if (row.state == AdaptState::FREEZING && undone) {
            EXPECT_EQ(row.action, AdaptAction::THAW) << to_string(row.event);
        }
        if (row.state == AdaptState::AGREED && row.next == AdaptState::FAILED) {
            EXPECT_EQ(row.action, AdaptAction::ABORT_STEP) << to_string(row.event);
        }
    });
}

TEST(AdaptationTableTest, committed_needs_agreement)
{
    for_each_row([](const AdaptTransition &row) {
        if (row.next == AdaptState::COMMITTED) {
            EXPECT_TRUE(row.state == AdaptState::AGREED || row.state == AdaptState::ENDING);
            EXPECT_EQ(row.action, AdaptAction::RELEASE);
        }
    });
}

TEST(AdaptationTableTest, every_state_and_event_is_used_and_named)
{
    std::set<AdaptState> states;
    std::set<AdaptEvent> events;
    for (auto find : {find_transition, find_set_transition}) {
        for (int i = 0; i < STATES * EVENTS; i++) {
            const auto *row = find(AdaptState(i / EVENTS), AdaptEvent(i % EVENTS));
            if (!row)
                continue;
            states.insert({row->state, row->next});
            events.insert(row->event);
        }
    }
    EXPECT_EQ(states.size(), static_cast<size_t>(STATES));
    EXPECT_EQ(events.size(), static_cast<size_t>(EVENTS));
    for (AdaptState state : states)
        EXPECT_STRNE(to_string(state), "?");
    for (AdaptEvent event : events)
        EXPECT_STRNE(to_string(event), "?");
}

}  // namespace
}  // namespace elastic
