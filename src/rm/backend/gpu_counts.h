/*
 * The numbers of GPUs of nodes, from the configuration (backend.gpus): "4" for each node,
 * "n[1-4]:2" for these nodes; later entries override earlier ones.  Pure.
 */

#ifndef ELASTIC_RM_GPU_COUNTS_H_INCLUDED
#define ELASTIC_RM_GPU_COUNTS_H_INCLUDED

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

class GpuCounts {
  public:
    /* An error names the entry, and the valid form. */
    static Result<GpuCounts> parse(const std::vector<std::string> &entries);

    int of(const std::string &node) const;
    bool empty() const { return all_ == 0 && by_node_.empty(); }

  private:
    int all_ = 0;
    std::map<std::string, int> by_node_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_GPU_COUNTS_H_INCLUDED */
