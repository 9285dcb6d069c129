/*
 * This machine, played as several nodes: the back end that needs no configuration.  Its nodes are
 * names; mpiexec's launcher "fork" starts the processes of every one of them here.  They are up as
 * long as elasticd is.
 */

#ifndef ELASTIC_RM_LOCAL_BACKEND_H_INCLUDED
#define ELASTIC_RM_LOCAL_BACKEND_H_INCLUDED

#include <map>

#include "daemon/backend.h"

namespace elastic::rm {

class LocalBackend : public Backend {
  public:
    explicit LocalBackend(const Settings &settings);

    std::string start(const State &known, Tell tell) override;
    void look_at(const std::string &node) override;
    std::vector<std::string> launcher_options() const override { return {"-launcher", "fork"}; }
    std::vector<std::string> launcher_environment() const override { return {"HYDRA_LAUNCHER=fork"}; }

  private:
    std::map<std::string, int> nodes_;  /* cores by name */
    Tell tell_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LOCAL_BACKEND_H_INCLUDED */
