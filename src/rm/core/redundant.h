/*
 * Filter for reports of steps that change nothing, so that the daemon need not store them:
 * repetitions (a daemon queries its steps periodically), late reports, impossible ones.  Pure.
 */

#ifndef ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED
#define ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED

#include "core/event.h"
#include "core/state.h"

namespace elastic::rm {

/* True: the report would change nothing, if it were handled now or after any events that are
 * reported and not handled yet.  The ends of a step are never redundant: their actions are
 * performed each time. */
bool is_redundant(const State &state, const EventContent &content);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED */
