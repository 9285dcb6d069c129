/*
 * For tests: a core with its clock.  It numbers the events and checks the invariants (invariants.h)
 * after each of them.
 */

#ifndef ELASTIC_RM_CORE_CORE_DRIVER_H_INCLUDED
#define ELASTIC_RM_CORE_CORE_DRIVER_H_INCLUDED

#include <gtest/gtest.h>

#include "core/core.h"
#include "core/invariants.h"

namespace elastic::rm {

constexpr int64_t SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;       /* in ms */

class CoreDriver {
  public:
    explicit CoreDriver(const Config &config) { send(Configure{config}); }
    CoreDriver(PolicyKind policy, int nodes, int cores) : CoreDriver(config_of(policy))
    {
        for (int i = 0; i < nodes; i++)
            send(NodeUp{"n" + std::to_string(i), cores});
    }
    static Config config_of(PolicyKind policy)
    {
        Config config;
        config.policy = policy;
        return config;
    }

    /* Returns the actions of the core for this event; `actions` holds them too. */
    const Actions &send(EventContent content)
    {
        log.push_back({core.state().seq + 1, now_ms, std::move(content)});
        actions = core.handle(log.back());
        for (const std::string &wrong : monitor.watch(log.back(), actions, core.state()))
            ADD_FAILURE() << wrong << "\nafter " << to_json(log.back()).dump();
        for (const std::string &wrong : violations(core.state()))
            ADD_FAILURE() << wrong << "\nafter " << to_json(log.back()).dump();
        return actions;
    }
    const Actions &wait(int64_t ms)
    {
        now_ms += ms;
        return send(Timer{});
    }

    /* The last action of that kind in `actions`; nullptr: none. */
    template <class Kind> const Kind *last() const
    {
        for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
            if (const Kind *found = std::get_if<Kind>(&*action))
                return found;
        }
        return nullptr;
    }
    const Record *recorded(const std::string &event) const
    {
        for (const Action &action : actions) {
            const Record *found = std::get_if<Record>(&action);
            if (found && found->event == event)
                return found;
        }
        return nullptr;
    }
    const Job &job(JobId id) const { return core.state().jobs.at(id); }
    const Node &node(const std::string &name) const { return core.state().nodes.at(name); }

    JobId submit(const JobSpec &spec)
    {
        send(Submit{"s" + std::to_string(++submits), spec});
        const Answer *answer = last<Answer>();
        EXPECT_TRUE(answer && answer->code == AnswerCode::OK) << (answer ? answer->message : "");
        return answer ? answer->job : 0;
    }
    /* Reports that the step runs, and that the program of a malleable job is adaptive. */
    void run(JobId id)
    {
        send(StepStarted{{id, job(id).step}});
        if (job(id).spec.elasticity == Elasticity::MALLEABLE)
            send(StepAdaptive{{id, job(id).step}});
    }
    void end(JobId id, int exit_code = 0) { send(StepEnded{id, job(id).step, exit_code, ""}); }
    /* Reports that the step has performed the requested change. */
    void commit(JobId id, bool free = true, int64_t standstill_ms = 1)
    {
        ASSERT_TRUE(job(id).adaptation);
        uint64_t request = job(id).adaptation->request, epoch = job(id).epoch + 1;
        bool leaving = !job(id).adaptation->leave.empty();
        send(StepAccepted{id, job(id).step, request, request});
        send(StepCommitted{id, job(id).step, request, epoch, standstill_ms});
        if (leaving && free)
            send(StepFreed{id, job(id).step, epoch});
    }

    Core core;
    Monitor monitor;
    std::vector<Event> log;
    Actions actions;
    int64_t now_ms = 1000000;
    int submits = 0;
};

inline JobSpec rigid(int size, int64_t limit_ms = 0)
{
    JobSpec spec;
    spec.name = "rigid";
    spec.minimum = spec.maximum = size;
    spec.time_limit_ms = limit_ms;
    return spec;
}

inline JobSpec malleable(int minimum, int maximum, int64_t limit_ms = 0)
{
    JobSpec spec = rigid(minimum, limit_ms);
    spec.name = "malleable";
    spec.elasticity = Elasticity::MALLEABLE;
    spec.maximum = maximum;
    return spec;
}

inline JobSpec moldable(int minimum, int maximum, int64_t limit_ms = 0)
{
    JobSpec spec = malleable(minimum, maximum, limit_ms);
    spec.name = "moldable";
    spec.elasticity = Elasticity::MOLDABLE;
    return spec;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_CORE_DRIVER_H_INCLUDED */
