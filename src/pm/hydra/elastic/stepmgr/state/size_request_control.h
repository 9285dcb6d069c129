/*
 * Size requests, as other components make them.  SizeRequests (requests/size_requests.h) implements
 * this; Step gives components the object.
 */

#ifndef ELASTIC_SIZE_REQUEST_CONTROL_H_INCLUDED
#define ELASTIC_SIZE_REQUEST_CONTROL_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>

#include "stepmgr/common/schedule.h"
#include "stepmgr/common/size_request.h"
#include "stepmgr/proto/pset_call.h"

namespace elastic {

class SizeRequestControl {
  public:
    /* The job can adapt from now on. */
    virtual void adaptive() = 0;
    /* The answer to hints of the process with this uid. */
    virtual std::string add_hints(uint32_t uid, const SetData &hints) = 0;

    /* Of an operation on process sets, without a resource manager: it becomes an adaptation now.
     * Returns the number of its request; nothing: this size is impossible. */
    virtual std::optional<uint64_t> deliver_for_operation(int size) = 0;
    /* "": there are slots for a world of this size; else why not. */
    virtual std::string why_no_capacity(int size) const = 0;
    virtual const std::optional<Range> &range() const = 0;
    /* Whether the program has not made too many requests in a short time. */
    virtual bool rate_allows() = 0;

    /* The same with a resource manager, which decides.  Replaces the open one.  Returns its number;
     * 0: refused. */
    virtual uint64_t request_for_operation(SizeRequest size_request) = 0;
    /* The open one, if it has this number. */
    virtual const SizeRequest *find(uint64_t number) const = 0;
    /* The operation waits no more, but the size request may be granted; or nobody wants it any
     * more. */
    virtual void release(uint64_t number) = 0;
    virtual void withdraw(const std::string &why) = 0;

  protected:
    ~SizeRequestControl() = default;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_CONTROL_H_INCLUDED */
