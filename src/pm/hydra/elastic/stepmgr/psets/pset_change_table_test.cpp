/* Tests of the table of changes through process sets. */

#include <gtest/gtest.h>

#include <set>

#include "stepmgr/state/adaptation_table_fixture.h"

namespace elastic {
namespace {

template <class Function> void for_each_row(Function function)
{
    for_each_row_of(find_set_transition, function);
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
    for (AdaptState state : {AdaptState::NOTIFIED, AdaptState::ORPHANED, AdaptState::APPLYING}) {
        EXPECT_FALSE(find_set_transition(state, AdaptEvent::WITHDRAW)) << to_string(state);
        EXPECT_FALSE(before_agreement(state));
    }
}

TEST(SetChangeTableTest, joining_processes_are_removed_whenever_a_change_fails)
{
    for_each_row([](const AdaptTransition &row) {
        bool undone = row.next == AdaptState::WITHDRAWN || row.next == AdaptState::FAILED;
        if (undone && row.state != AdaptState::ACCEPTED) {
            EXPECT_EQ(row.action, AdaptAction::REMOVE_JOINING)
                << to_string(row.state) << ", " << to_string(row.event);
        }
    });
}

}  // namespace
}  // namespace elastic
