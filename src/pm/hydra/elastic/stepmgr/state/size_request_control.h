/*
 * The interface by which other components make size requests.  SizeRequests
 * (requests/size_requests.h) implements it; Step passes the object to them.
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
    /* Returns the reply to hints of the process with this uid. */
    virtual std::string add_hints(uint32_t uid, const SetData &hints) = 0;

    /* For an operation on process sets without a resource manager: starts the adaptation now.
     * Returns the number of its request; nothing: this size is impossible. */
    virtual std::optional<uint64_t> deliver_for_operation(int size) = 0;
    /* "": there are slots for a world of this size; else the reason why not. */
    virtual std::string why_no_capacity(int size) const = 0;
    virtual const std::optional<Range> &range() const = 0;
    /* Whether the rate of the program's requests is low enough for one more. */
    virtual bool rate_allows() = 0;

    /* The same with a resource manager, which decides.  Replaces the open request.  Returns the new
     * number; 0: refused. */
    virtual uint64_t request_for_operation(SizeRequest size_request) = 0;
    /* The open request, if it has this number. */
    virtual const SizeRequest *find(uint64_t number) const = 0;
    /* release: the operation no longer waits, but the size request may still be granted. withdraw:
     * no process wants it any more. */
    virtual void release(uint64_t number) = 0;
    virtual void withdraw(const std::string &why) = 0;

  protected:
    ~SizeRequestControl() = default;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_CONTROL_H_INCLUDED */
