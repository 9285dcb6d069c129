/*
 * Reports of processes and proxies that an adaptation waits for (P8), and the decision whether the
 * program is over when a process ends in an adaptation that is agreed on.
 *
 *   straggler_reporter.cpp   reports at growing intervals; rounds of counts
 *   window_stragglers.cpp    processes in the window; adaptations that did not happen
 */

#ifndef ELASTIC_STRAGGLER_REPORTER_H_INCLUDED
#define ELASTIC_STRAGGLER_REPORTER_H_INCLUDED

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "stepmgr/proto/payload.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

/* Processes that a change through process sets waits for. */
struct PsetChangeWait {
    std::set<ProxyId> proxy_ids;     /* proxies that have not confirmed an invalidation */
    uint32_t notified_uid = 0;  /* process that has been notified of the change */
};

class StragglerReporter {
  public:
    struct Hooks {
        std::function<PsetChangeWait()> pset_change_wait;
        std::function<void(AdaptEvent)> raise;
    };

    /* First report after straggler_ms; 0: never. */
    StragglerReporter(StepState &state, int64_t straggler_ms, Hooks hooks)
        : state_(state), straggler_ms_(straggler_ms), hooks_(std::move(hooks))
    {
    }

    /* From now on: report after straggler_ms, then after twice that, and so on. */
    void schedule_straggler_report();
    void check_time();
    void proxy_disconnected(const ProxyId &proxy_id);
    void on_counts(const ProxyId &proxy_id, uint32_t epoch,
                   const std::vector<CountReport> &reports);

    /* A process has ended in an adaptation that is agreed on: starts queries whether the program is
     * over. */
    void start_ending();
    void ending_time();

    /* The program is over, and the adaptation under way did not happen. */
    void notify_unfinished();

  private:
    /* Interval of queries whether the program is over, and the time for the replies. */
    static constexpr int64_t ENDING_QUERY_MS = 100;
    static constexpr int64_t ENDING_WAIT_MS = 5000;
    static constexpr int64_t STRAGGLER_WAIT_MAX_MS = 600 * 1000;
    static constexpr size_t STRAGGLER_TEXT_RANKS_MAX = 8;
    static constexpr size_t STRAGGLER_EVENT_RANKS_MAX = 64;
    static constexpr size_t WINDOW_NAMES_MAX = 4;
    static constexpr size_t WINDOW_RANKS_TEXT_MAX = 100;

    void report_stragglers();
    void report_joining_stragglers();
    void report_pset_change_stragglers();
    void report_member_stragglers();
    void report_proxy_stragglers();
    void report_window_stragglers(std::vector<RankCount> inside);
    void query_counts(const std::set<ProxyId> &proxy_ids);
    void counts_complete();
    void check_ending();
    std::string hosts_of(const std::set<ProxyId> &proxy_ids) const;
    void notify_stragglers(const std::string &what, const std::vector<RankCount> &late);
    void log_stragglers(const std::vector<RankCount> &late);
    void notify_waiting(const std::string &what);
    int64_t waited_ms() const;
    const char *kind_of(const Process &process) const;
    std::string name_processes(std::vector<RankCount> processes) const;
    std::string ignored() const;

    StepState &state_;
    int64_t straggler_ms_;
    Hooks hooks_;
};

}  // namespace elastic

#endif /* ELASTIC_STRAGGLER_REPORTER_H_INCLUDED */
