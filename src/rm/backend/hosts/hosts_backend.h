/*
 * The back end *hosts*: machines that ssh reaches, named in the configuration.  Nothing of ours
 * runs on a host that has no job: mpiexec starts its node daemons with ssh where processes go, and
 * they end when these have left.
 *
 * Each host is looked at now and then (host_probe.h), several at once, and
 *   - is up when it answers and has what a job needs;
 *   - is suspect, so that it gets nothing new and malleable jobs leave it, after two looks in a row
 *     that failed; after a step has just failed there, after one, or when it takes long
 *     (SUSPECT_AFTER_MS);
 *   - is down, so that its jobs are ended, when the network has not reached it in `check_failures`
 *     looks in a row.  One that is slow, lets nobody in or lacks something is down only while
 *     nothing runs there: what runs goes on.
 * What keeps it from being up is told once, as the node's reason, in words that name the host and
 * what to do.
 *
 * Owner of the looks.  On the daemon's loop.  One thread.
 */

#ifndef ELASTIC_RM_HOSTS_BACKEND_H_INCLUDED
#define ELASTIC_RM_HOSTS_BACKEND_H_INCLUDED

#include <deque>
#include <map>

#include "backend/backend.h"
#include "backend/hosts/host_probe.h"
#include "backend/node_list.h"
#include "base/command.h"

namespace elastic::rm {

class HostsBackend : public Backend {
  public:
    HostsBackend(const Settings &settings, Loop &loop);
    ~HostsBackend() override;

    std::string start(const State &known, Tell tell) override;
    bool capacity_known() const override;
    void look_at(const std::string &node) override;
    void step_failed_on(const std::vector<std::string> &nodes) override;
    std::vector<std::string> launcher_options() const override;
    std::vector<std::string> launcher_environment() const override;

  private:
    struct Host {
        std::string name;
        int cores = 0;                  /* from the list; 0: the host says it */
        bool cores_known = false;
        bool waits = false;             /* in queue_ */
        bool hurry = false;             /* the first failure counts */
        int failures = 0;               /* in a row */
        bool clock_told = false;
        int64_t asked_ms = 0;           /* unix time */
        int64_t looked_ms = INT64_MIN / 2;      /* when the last look ended, monotonic */
        std::unique_ptr<Command> look;
        Loop::TimerId timer = 0, slow_timer = 0;
    };

    std::string read_hosts();
    std::vector<std::string> ssh_words() const;
    void look_soon(Host &host);
    void look_next();
    void look(Host &host);
    void looked(Host &host, const CommandEnd &end);
    void well(Host &host, const HostLook &look);
    void ill(Host &host, const HostLook &look);
    void down(const Host &host, const std::string &reason);
    void suspect(const Host &host, const std::string &reason);
    void check_clock(Host &host, int64_t ahead_s);
    int64_t pause_ms(const Host &host) const;
    const Node *node(const Host &host) const { return state_->node(host.name); }

    const Settings settings_;
    Loop &loop_;
    std::vector<InstalledFile> files_;
    std::string script_;
    const State *state_ = nullptr;
    Tell tell_;
    std::map<std::string, Host> hosts_;
    std::deque<Host *> queue_;          /* that are to be looked at */
    int64_t looks_ = 0;                 /* under way */
};

/* The hosts that the settings name, in their list and in their file. */
Result<ListedNodes> hosts_of(const Settings &settings);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HOSTS_BACKEND_H_INCLUDED */
