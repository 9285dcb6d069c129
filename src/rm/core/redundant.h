/*
 * Reports of steps that change nothing, so that nobody need store them: what is repeated (a daemon
 * asks its steps again and again), comes too late, or cannot be.  Pure.
 */

#ifndef ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED
#define ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED

#include "core/event.h"
#include "core/state.h"

namespace elastic::rm {

/* True: handled now, or after any events that have been told already and are not handled yet, the
 * report would change nothing.  The ends of a step are never redundant: what is to be done about
 * them is done each time. */
bool is_redundant(const State &state, const EventContent &content);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_REDUNDANT_H_INCLUDED */
