/*
 * Where jobs run: the one interface between elasticd and a kind of machine (this computer, hosts
 * over ssh, a stock Slurm).  A back end
 *   - says which nodes there are and how they are (NodeUp, NodeDown, NodeRemoved),
 *   - gets and gives back nodes, if it must ask somebody for them (asynchronous_nodes),
 *   - says how an mpiexec reaches them.
 * The processes themselves are mpiexec's business, which elastic-stepd starts on elasticd's machine
 * in every case.
 *
 * It tells by events of the core, at any time after start(); they are made durable like all others.
 * Nothing here waits: what takes time goes through the loop.  One thread.
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
#include "daemon/config.h"

namespace elastic::rm {

class Backend {
  public:
    using Tell = std::function<void(EventContent)>;

    virtual ~Backend() = default;

    /* `known` is what the core knows, from before and always later: only what has changed is told.
     * Empty, or why it cannot work. */
    virtual std::string start(const State &known, Tell tell) = 0;

    /* Only of those that must ask: each is answered by NodesAcquired or NodesRefused,
     * NodesReleased. */
    virtual bool asynchronous_nodes() const { return false; }
    /* It cannot give less than a node. */
    virtual bool whole_nodes() const { return false; }
    virtual void acquire(const AcquireNodes &) {}
    virtual void release(const ReleaseNodes &) {}

    /* Whether the known nodes are all that there will be, with their cores: a job that is larger is
     * then refused.  It is asked again after each NodeUp and NodeDown. */
    virtual bool capacity_known() const { return true; }

    /* An administrator has resumed a node that was down: look at it again. */
    virtual void look_at(const std::string &node) = 0;
    /* A step that ran there, or was to be started or to grow there, has failed: look whether the
     * nodes are the cause, so that they are not chosen again. */
    virtual void step_failed_on(const std::vector<std::string> &) {}

    /* Before a step starts: writes into its folder what its launcher needs.  Empty, or why it
     * cannot. */
    virtual std::string prepare_step(const Job &, const std::string & /* folder */) { return ""; }

    /* Options of mpiexec, and variables for it and for an mpiexec in a script. */
    virtual std::vector<std::string> launcher_options() const = 0;
    virtual std::vector<std::string> launcher_environment() const = 0;

    /* For people: how it works here (empty: nothing worth saying), and why it does not work now
     * (empty: it does). */
    virtual std::string about() const { return ""; }
    virtual std::string trouble() const { return ""; }
};

/* The one that the configuration asks for (backend.kind), or why there is none. */
Result<std::unique_ptr<Backend>> make_backend(const Settings &settings, Loop &loop);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BACKEND_H_INCLUDED */
