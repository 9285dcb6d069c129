/*
 * The interface between elasticd and a kind of machine (this computer, hosts over ssh, a stock
 * Slurm).  A back end
 *   - reports which nodes exist and their state (NodeUp, NodeDown, NodeRemoved),
 *   - acquires and releases nodes, if it has to request them elsewhere (asynchronous_nodes),
 *   - reports how an mpiexec reaches them.
 * mpiexec manages the processes; elastic-stepd starts it on elasticd's machine in every case.
 *
 * A back end notifies the core by events, at any time after start(); the journal stores them like
 * all others.  No function blocks: slow operations go through the loop.  One thread.
 */

#ifndef ELASTIC_RM_BACKEND_H_INCLUDED
#define ELASTIC_RM_BACKEND_H_INCLUDED

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "core/action.h"
#include "core/event.h"
#include "core/state.h"
#include "settings/settings.h"

namespace elastic::rm {

class Backend {
  public:
    using Notify = std::function<void(EventContent)>;

    virtual ~Backend() = default;

    /* `known` is the state of the core; it stays valid, and only changes are reported.  Returns
     * an error, or empty. */
    virtual std::string start(const State &known, Notify notify) = 0;

    /* Only with asynchronous_nodes: answered by NodesAcquired or NodesRefused, and by
     * NodesReleased. */
    virtual bool asynchronous_nodes() const { return false; }
    /* It can only provide whole nodes. */
    virtual bool whole_nodes() const { return false; }
    virtual void acquire(const AcquireNodes &) {}
    virtual void release(const ReleaseNodes &) {}

    /* Whether the known nodes are final, with their cores: a larger job is then refused.
     * Queried again after each NodeUp and NodeDown. */
    virtual bool capacity_known() const { return true; }

    /* An administrator resumed a node that was down: checks it again. */
    virtual void check_node(const std::string &node) = 0;
    /* A step failed there, or at its start or growth there: checks whether the nodes are the
     * cause, so that the core does not select them again. */
    virtual void step_failed_on(const std::vector<std::string> &) {}

    /* Before a step starts: writes the files for its launcher into its folder.  Empty, or the
     * error. */
    virtual std::string prepare_step(const Job &, const std::string & /* folder */) { return ""; }

    /* The command of a shell on that node, as elasticd's user, that reads a script from its
     * standard input. */
    virtual std::vector<std::string> shell_on(const std::string & /* node */) const
    {
        return {"/bin/sh", "-s"};
    }

    /* Options of mpiexec, and variables for it and for an mpiexec in a script. */
    virtual std::vector<std::string> launcher_options() const = 0;
    virtual std::vector<std::string> launcher_environment() const = 0;

    /* For people: properties of this back end (empty: none to report), and why it does not work
     * now (empty: it works). */
    virtual std::string about() const { return ""; }
    virtual std::string trouble() const { return ""; }
    /* For people: why the requested nodes of a job are not there yet; empty: unknown. */
    virtual std::string why_acquiring(JobId) const { return ""; }
};

/* The configured back end (backend.kind), or an error. */
Result<std::unique_ptr<Backend>> make_backend(const Settings &settings, Loop &loop);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BACKEND_H_INCLUDED */
