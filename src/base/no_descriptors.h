/* For tests: while it exists, this process cannot open a further descriptor. */

#ifndef ELASTIC_RM_BASE_NO_DESCRIPTORS_H_INCLUDED
#define ELASTIC_RM_BASE_NO_DESCRIPTORS_H_INCLUDED

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace elastic::rm {

class NoDescriptors {
  public:
    NoDescriptors()
    {
        getrlimit(RLIMIT_NOFILE, &before_);
        int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(lowest);
        rlimit less = before_;
        less.rlim_cur = static_cast<rlim_t>(lowest);
        setrlimit(RLIMIT_NOFILE, &less);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors &) = delete;
    NoDescriptors &operator=(const NoDescriptors &) = delete;

  private:
    rlimit before_ = {};
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BASE_NO_DESCRIPTORS_H_INCLUDED */
