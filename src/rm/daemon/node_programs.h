/*
 * Prologs and epilogs: an administrator's programs that run on a node before the first process of a
 * job is there, and after its last one has ended.  The core requests nodes (AcquireNodes) and
 * releases them (ReleaseNodes), at the start and end of a job and when it grows and shrinks; for a
 * back end that does not request nodes, this component answers when the programs have run.
 *
 * A node is drained when its program fails.  A failed prolog refuses the nodes, so that the job
 * waits again, or does not grow; a failed epilog keeps no node.  One program runs at a time for
 * each job and node, in order; at most AT_ONCE in total.  A node that is down gets no epilog.
 *
 * Each run has a folder (FOLDER/JOB.STEP.REQUEST.KIND.NODE), which shows after a restart of
 * elasticd whether it runs or has ended (step/node_program.h).
 *
 * Runs on the daemon's loop.  One thread.
 */

#ifndef ELASTIC_RM_DAEMON_NODE_PROGRAMS_H_INCLUDED
#define ELASTIC_RM_DAEMON_NODE_PROGRAMS_H_INCLUDED

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "core/state.h"
#include "step/node_program.h"

namespace elastic::rm {

struct NodeProgramsConfig {
    std::vector<std::string> prolog, epilog;    /* empty: none */
    int64_t limit_ms = 0;
    std::string folder;
    std::string cluster;
    StepdProgram stepd;
    bool any() const { return !prolog.empty() || !epilog.empty(); }
};

class NodePrograms {
  public:
    static constexpr size_t AT_ONCE = 32;

    using Shell = std::function<std::vector<std::string>(const std::string &node)>;
    using Notify = std::function<void(EventContent)>;

    NodePrograms(Loop &loop, NodeProgramsConfig config, const State &state, Shell shell,
                 Notify notify);
    ~NodePrograms();

    /* Makes the folder if there are programs, and removes the folders of steps that hold no
     * nodes.  Empty, or the error. */
    std::string open();
    bool any() const { return config_.any(); }

    /* The answers are events.  A repeated request in progress has no effect. */
    void acquire(const AcquireNodes &acquire);
    void release(const ReleaseNodes &release);
    /* The core has received the answer. */
    void acquired(JobId job, uint32_t step, uint64_t request);
    void released(JobId job, uint32_t step, uint64_t request, bool all);

  private:
    enum class Kind { ACQUIRE, RELEASE, RELEASE_ALL };
    struct Key {
        JobId job = 0;
        uint32_t step = 0;
        uint64_t request = 0;
        Kind kind = Kind::ACQUIRE;
        auto operator<=>(const Key &) const = default;
    };
    struct Batch {
        Blocks blocks;
        size_t runs = 0;                /* that have not ended */
        std::string problem;            /* of the first failed run */
        std::vector<std::string> folders;
        bool answered = false;
    };
    struct Run {
        Key key;
        NodeName node;
        std::string folder;
        std::unique_ptr<NodeProgram> program;   /* null: it waits */
    };

    bool holds(const Job &job, const NodeName &node, uint64_t request, bool joining) const;
    void begin(const Key &key, const Blocks &blocks, const std::set<std::string> &nodes);
    void start_next();
    bool may_start(size_t index) const;
    void start(Run &run);
    std::vector<std::string> variables_for(const Run &run) const;
    void ended(const Run &run, const NodeProgramEnd &end);
    void report(const Run &run, const NodeProgramEnd &end);
    void answer_if_done(const Key &key);
    void answer(const Key &key, const Batch &batch);
    void remove(const Key &key);
    void remove_some_garbage();

    Loop &loop_;
    NodeProgramsConfig config_;
    const State &state_;
    Shell shell_;
    Notify notify_;
    std::map<Key, Batch> batches_;
    std::deque<std::unique_ptr<Run>> runs_;     /* waiting and running ones, in order */
    size_t running_ = 0;
    /* Departures whose processes no longer count as present on their nodes. */
    std::map<std::pair<JobId, uint32_t>, std::set<uint64_t>> released_;
    std::deque<std::string> garbage_;   /* unused folders */
    Loop::TimerId garbage_timer_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_NODE_PROGRAMS_H_INCLUDED */
