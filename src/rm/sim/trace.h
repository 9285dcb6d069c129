/* The events of a simulation, one line each on standard output, if enabled. */

#ifndef ELASTIC_RM_SIM_TRACE_H_INCLUDED
#define ELASTIC_RM_SIM_TRACE_H_INCLUDED

#include <cstdio>
#include <string>

#include "core/action.h"
#include "core/event.h"

namespace elastic::rm {

class Trace {
  public:
    explicit Trace(bool wanted) : wanted_(wanted) {}

    void event(int64_t now_ms, const Event &event) const
    {
        if (wanted_)
            line(now_ms, to_json(event).dump());
    }
    void action(int64_t now_ms, const Action &action) const
    {
        if (wanted_)
            line(now_ms, "  -> " + to_json(action).dump());
    }
    void note(int64_t now_ms, const std::string &text) const
    {
        if (wanted_)
            line(now_ms, text);
    }

  private:
    static void line(int64_t now_ms, const std::string &text)
    {
        printf("%12lld ms  %s\n", static_cast<long long>(now_ms), text.c_str());
    }

    bool wanted_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACE_H_INCLUDED */
