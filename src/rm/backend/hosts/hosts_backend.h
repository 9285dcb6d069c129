/*
 * The back end *hosts*: machines of the configuration that ssh reaches.  No process of elasticd
 * runs on a host without a job: mpiexec starts its proxies with ssh, and they end with their
 * processes.
 *
 * Each host is probed periodically (host_probe.h), several at once, and
 *   - is up when it answers and has what a job needs;
 *   - is suspect, so that it gets no new processes and malleable jobs leave it, after two failed
 *     probes in a row; after one, if a step has just failed there; or when a probe takes long
 *     (SUSPECT_AFTER_MS);
 *   - is down, so that its jobs end, when the network has not reached it in `check_failures` probes
 *     in a row.  A host that is slow, refuses the login or lacks a file is down only while no
 *     process runs there: running processes continue.
 * The reason is reported once, as the node's reason; it names the host and the remedy.
 *
 * Owner of the probes.  Runs on the daemon's loop.  One thread.
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

    std::string start(const State &known, Notify notify) override;
    bool capacity_known() const override;
    void check_node(const std::string &node) override;
    void step_failed_on(const std::vector<std::string> &nodes) override;
    std::vector<std::string> shell_on(const std::string &node) const override;
    std::vector<std::string> launcher_options() const override;
    std::vector<std::string> launcher_environment() const override;

  private:
    struct Host {
        std::string name;
        int cores = 0;                  /* from the list; 0: reported by the host */
        bool cores_known = false;
        bool waits = false;             /* in queue_ */
        bool hurry = false;             /* the first failure counts */
        int failures = 0;               /* failures in a row */
        bool clock_reported = false;
        int64_t queried_ms = 0;           /* unix time */
        int64_t polled_ms = INT64_MIN / 2;      /* when the last probe ended, monotonic */
        std::unique_ptr<Command> poll;
        Loop::TimerId timer = 0, slow_timer = 0;
    };

    std::string read_hosts();
    std::vector<std::string> ssh_words() const;
    void poll_soon(Host &host);
    void poll_next();
    void poll(Host &host);
    void poll_later(Host &host, int64_t pause_ms);
    void polled(Host &host, const CommandEnd &end);
    void well(Host &host, const HostReport &poll);
    void ill(Host &host, const HostReport &poll);
    void down(const Host &host, const std::string &reason);
    void suspect(const Host &host, const std::string &reason);
    void check_clock(Host &host, int64_t offset_s);
    int64_t pause_ms(const Host &host) const;
    const Node *node(const Host &host) const { return state_->node(host.name); }

    const Settings settings_;
    Loop &loop_;
    std::vector<InstalledFile> files_;
    std::string script_;
    const State *state_ = nullptr;
    Notify notify_;
    std::map<std::string, Host> hosts_;
    std::deque<Host *> queue_;          /* hosts that wait for a probe */
    int64_t polls_ = 0;                 /* in progress */
};

/* The hosts in the settings: in their list and in their file. */
Result<ListedNodes> hosts_of(const Settings &settings);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HOSTS_BACKEND_H_INCLUDED */
