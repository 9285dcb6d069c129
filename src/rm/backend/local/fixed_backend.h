/*
 * Nodes that are up as long as elasticd is, and never others:
 *   local    this machine, played as several nodes, which needs no configuration.  The nodes are
 *            names; mpiexec's launcher "fork" starts the processes of every one of them here.
 *   nested   the nodes of one allocation of a batch system, which starts the processes itself
 *            (srun, blaunch) and watches its nodes (nested.h).
 */

#ifndef ELASTIC_RM_FIXED_BACKEND_H_INCLUDED
#define ELASTIC_RM_FIXED_BACKEND_H_INCLUDED

#include <map>

#include "backend/backend.h"

namespace elastic::rm {

class FixedBackend : public Backend {
  public:
    /* Cores by name; mpiexec's launcher; variables for it. */
    FixedBackend(std::map<std::string, int> nodes, std::string launcher,
                 std::vector<std::string> variables);

    std::string start(const State &known, Tell tell) override;
    void look_at(const std::string &node) override;
    std::vector<std::string> launcher_options() const override { return {"-launcher", launcher_}; }
    std::vector<std::string> launcher_environment() const override { return variables_; }

  private:
    std::map<std::string, int> nodes_;
    std::string launcher_;
    std::vector<std::string> variables_;
    Tell tell_;
};

std::unique_ptr<Backend> make_local_backend(const Settings &settings);
std::unique_ptr<Backend> make_nested_backend(const Settings &settings);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_FIXED_BACKEND_H_INCLUDED */
