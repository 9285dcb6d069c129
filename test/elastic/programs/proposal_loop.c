/* The example itself. */
#include "../../../examples/sessions/proposal_loop.c"
