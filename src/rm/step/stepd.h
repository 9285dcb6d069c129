/*
 * elastic-stepd: the supervisor of one step, a separate process that continues after the end of
 * elasticd.
 *
 * It starts the step's program (mpiexec, or the job's script) as the submitting user, keeps the
 * paths of the step sockets that mpiexec registers, passes signals, and is the reaper of all
 * processes that the program leaves (child subreaper): exit.json is written only when no process of
 * the step is left, so that its cores are really free.  If elastic-stepd itself is killed, the
 * program gets SIGTERM (parent-death signal).
 *
 * A suspended step has all its processes stopped (stepd_suspend.cpp).
 *
 * It enforces without elasticd: the time limit, and SIGKILL some time after the signal that
 * elasticd has ordered.  It never blocks: children start the program, which opens files of the
 * user, and do all other operations on a user's path.
 *
 * Files and lines: step_spec.h.  Runs as elasticd does; only the child becomes the user.  One
 * thread, one loop.
 */

#ifndef ELASTIC_RM_STEPD_H_INCLUDED
#define ELASTIC_RM_STEPD_H_INCLUDED

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "base/descriptor.h"
#include "base/loop.h"
#include "step/step_spec.h"

namespace elastic::rm {

class Stepd {
  public:
    /* As a service of its own, it has its own control group. */
    Stepd(std::string folder, bool is_service);
    /* Returns the exit code of the process: 0 if exit.json has been written. */
    int run();

  private:
    struct Client {
        Descriptor socket;
        std::string in;
    };

    std::string start();
    std::string read_spec();
    std::string find_control_group();
    std::string make_register_socket();
    std::string launch();
    void launched();
    void arm_limit();
    void change_limit(int64_t limit_ms);
    void limit_is_near();
    void limit_reached();
    int64_t left_ms() const;
    void kill_after(int64_t ms);
    void set_suspended(bool suspended);
    void stop_processes(int64_t again_ms = 10);         /* repeated until all have stopped */
    void signal_launchers(int number);
    void continue_processes();
    void watch_listen();
    void accept_client();
    void client_ready(int fd);
    void take_order(int fd, const std::string &line);
    void connect_for(int client, const std::string &socket);
    void connected(int report, int client, const std::string &socket);
    StepdLine line() const;
    void registered();
    void send(Client &client, const StepdLine &line, int descriptor = -1);
    void send_all();
    void reap();
    void program_ended(int status);
    void remove_rest(int signal);
    bool has_rest() const;
    void finish(const StepExitFile &exit);
    void signal_step(int number);
    void node_leaves();

    std::string folder_;
    bool is_service_;
    StepSpec spec_;
    Loop loop_;
    Descriptor listen_, register_;
    Descriptor launch_report_;  /* open until the program runs or has failed to start */
    std::string launch_error_;
    std::string register_name_;
    std::map<int, Client> clients_;
    /* descriptors on which children report their connections */
    std::map<int, Descriptor> connecting_;
    std::string step_socket_;
    int64_t epoch_offset_ = -1;
    pid_t program_ = 0;
    bool started_ = false;      /* the program runs, or has run */
    bool ended_ = false, finishing_ = false, killing_ = false, written_ = false;
    bool socket_removed_ = false;
    Loop::TimerId kill_timer_ = 0, limit_timer_ = 0, warn_timer_ = 0;
    int64_t launched_ms_ = 0;   /* monotonic; moved forward by suspended time */
    bool suspended_ = false;
    int64_t suspended_at_ms_ = 0;       /* monotonic */
    Loop::TimerId stop_timer_ = 0;
    std::set<pid_t> stopped_;   /* stopped by elastic-stepd */
    /* each mpiexec that has registered a socket, and its start time (process_start) */
    std::map<pid_t, uint64_t> launchers_;
    bool warned_ = false;
    std::string reason_;        /* why it was ended, if not by an order */
    int exit_code_ = 0;
    bool signalled_ = false;    /* while the program ran */
    bool node_leaves_ = false;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEPD_H_INCLUDED */
