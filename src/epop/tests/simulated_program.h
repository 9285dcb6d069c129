/* Elements of programs for the unit tests. */

#ifndef EPOP_PLAYED_PROGRAM_H_INCLUDED
#define EPOP_PLAYED_PROGRAM_H_INCLUDED

#include <vector>

extern "C" {
#include "loop.h"
}

namespace epop_test {

using Elements = std::vector<program_element_t>;

inline int nothing(void *) { return 0; }
inline int never(void *) { return 0; }
inline int no_init(int *, char ***, void **) { return 0; }
inline int no_move(void *, const epop_window_t *) { return 0; }
inline int next(int pc, void *) { return pc + 1; }

inline program_element_t initial()
{
    program_element_t element = {};
    element.type = INIT;
    element.init = no_init;
    return element;
}

inline program_element_t elastic(const char *name = nullptr)
{
    program_element_t element = {};
    element.type = EP;
    element.name = name;
    element.phase_exec = nothing;
    element.loop_condition = never;
    element.phase_redistribute = no_move;
    return element;
}

inline program_element_t rigid()
{
    program_element_t element = {};
    element.type = RP;
    element.phase_exec = nothing;
    return element;
}

inline program_element_t branch()
{
    program_element_t element = {};
    element.type = BRANCH;
    element.branch_condition = next;
    return element;
}

inline program_t program_of(Elements &elements, void *data = nullptr)
{
    return {data, static_cast<int>(elements.size()), elements.data(), nullptr, nullptr, nullptr};
}

} // namespace epop_test

#endif /* EPOP_PLAYED_PROGRAM_H_INCLUDED */
