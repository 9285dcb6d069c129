/* The example itself. */
#include "../../../examples/sessions/dynres_loop.c"
