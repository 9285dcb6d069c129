/* A file descriptor with one owner. */

#ifndef ELASTIC_RM_DESCRIPTOR_H_INCLUDED
#define ELASTIC_RM_DESCRIPTOR_H_INCLUDED

#include <unistd.h>

#include <utility>

namespace elastic::rm {

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    ~Descriptor() { reset(); }
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset()
    {
        if (fd_ >= 0)
            close(fd_);
        fd_ = -1;
    }

  private:
    int fd_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DESCRIPTOR_H_INCLUDED */
