/* For tests of the tables of states and events: a loop over all rows of a table. */

#ifndef ELASTIC_ADAPTATION_TABLE_FIXTURE_H_INCLUDED
#define ELASTIC_ADAPTATION_TABLE_FIXTURE_H_INCLUDED

#include "stepmgr/state/adaptation_table.h"

namespace elastic {

constexpr int STATES = static_cast<int>(AdaptState::FAILED) + 1;
constexpr int EVENTS = static_cast<int>(AdaptEvent::ADDED) + 1;

/* find(state, event) returns a row or nullptr. */
template <class Find, class Function> void for_each_row_of(Find find, Function function)
{
    for (int s = 0; s < STATES; s++) {
        for (int e = 0; e < EVENTS; e++) {
            if (const auto *row = find(AdaptState(s), AdaptEvent(e)))
                function(*row);
        }
    }
}

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_TABLE_FIXTURE_H_INCLUDED */
