/* The example itself. */
#include "../../../examples/sessions/native_loop.c"
