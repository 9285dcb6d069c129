/* The position of a program with phases as text: from `phase` in an answer of the step protocol,
 * or in a job of elasticd.  SPEC-epop L2.  Pure. */

#ifndef ELASTIC_RM_CLI_PHASE_TEXT_H_INCLUDED
#define ELASTIC_RM_CLI_PHASE_TEXT_H_INCLUDED

#include "cli/output.h"

namespace elastic {

/* "solve: 412 of 1000 iterations, about 3 min left; straggler in iteration 409: rank 2 on n0",
 * or for a rigid phase with one iteration "output, a rigid phase"; empty: it is in no phase.  The
 * number of iterations is that of the slowest process. */
std::string phase_text(const Json &phase);

}  // namespace elastic

#endif /* ELASTIC_RM_CLI_PHASE_TEXT_H_INCLUDED */
