/* The example itself. */
#include "../../../examples/sessions/v2a_loop.c"
