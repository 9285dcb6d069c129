/*
 * Nodes that are up as long as elasticd runs, and never others:
 *   local    this machine, as several simulated nodes, which needs no configuration.  The nodes are
 *            names; mpiexec's launcher "fork" starts the processes of all of them here.
 *   nested   the nodes of one allocation of a batch system, which starts the processes itself
 *            (srun, blaunch) and monitors its nodes (nested.h).
 */

#ifndef ELASTIC_RM_FIXED_BACKEND_H_INCLUDED
#define ELASTIC_RM_FIXED_BACKEND_H_INCLUDED

#include <map>

#include "backend/backend.h"

namespace elastic::rm {

class FixedBackend : public Backend {
  public:
    /* Cores by name; mpiexec's launcher; variables for it. */
    FixedBackend(Loop &loop, std::map<std::string, int> nodes, std::string launcher,
                 std::vector<std::string> variables);
    ~FixedBackend() override;

    std::string start(const State &known, Notify notify) override;
    void check_node(const std::string &node) override;
    std::vector<std::string> launcher_options() const override { return {"-launcher", launcher_}; }
    std::vector<std::string> launcher_environment() const override { return variables_; }

  private:
    void report_nodes();
    bool report(const std::string &name, int cores);

    Loop &loop_;
    std::map<std::string, int> nodes_;
    std::string launcher_;
    std::vector<std::string> variables_;
    Notify notify_;
    const State *known_ = nullptr;
    /* Set while the number of cores of a node cannot be reduced yet, because jobs use more. */
    Loop::TimerId timer_ = 0;
};

std::unique_ptr<Backend> make_local_backend(const Settings &settings, Loop &loop);
std::unique_ptr<Backend> make_nested_backend(const Settings &settings, Loop &loop);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_FIXED_BACKEND_H_INCLUDED */
