/* The tool of tool_starts.c as a part of the program, as a tool in a static library is. */

#include "tool_starts.c"
#include "cycle.c"
