/*
 * A request for another size of the world, of any origin: the wanted size, the caller that waits
 * for its end, and the best of the sizes that it allows.  Data and pure functions; SizeRequests
 * (requests/size_requests.h) makes adaptations of them.
 */

#ifndef ELASTIC_SIZE_REQUEST_H_INCLUDED
#define ELASTIC_SIZE_REQUEST_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/change.h"
#include "base/program_sizes.h"
#include "base/result.h"
#include "pmi_adapt_request.h"
#include "stepmgr/common/schedule.h"
#include "stepmgr/common/world.h"
#include "wire/request_messages.h"

namespace elastic {

/* Who requests. */
enum class Origin {
    MODIFY,             /* MPIX_Comm_modify: all processes of the world wait */
    CLIENT,             /* a client of the step protocol */
    PROGRAM,            /* MPIX_Adapt_request */
    OPERATION,          /* an operation on process sets: a process waits */
    HINTS,              /* sizes that the program prefers: nobody waits */
    SCHEDULE, POLICY
};
/* As the events "requested" and "committed" name it, among others. */
const char *to_string(Origin origin);
/* A request replaces an open one of its own priority, or of a lower one. */
int priority_of(Origin origin);

/* How it ends; each size request does so in exactly one way. */
enum class SizeRequestEnd : uint32_t {
    GRANTED = PMI_ADAPT_REQUEST_GRANTED,
    REFUSED = PMI_ADAPT_REQUEST_REFUSED,
    WITHDRAWN = PMI_ADAPT_REQUEST_WITHDRAWN
};
const char *to_string(SizeRequestEnd end);

/* A process that has made the size request. */
struct SizeRequestHolder {
    uint32_t uid = 0;
    uint32_t number = 0;        /* of the size request among that process' own */
    ProxyId proxy_id;
};

struct SizeRequest {
    Origin origin = Origin::PROGRAM;
    /* the size, and who leaves, where joining processes go, if that matters */
    ChangeRequest wanted;
    size_t entry = 0;           /* of the schedule, from 1 */
    std::string reason;         /* of the program or client, for people; "": none */
    uint64_t deadline_unix_ms = 0;      /* of the adaptation; 0: none */

    /* Only requests that may wait (requests/size_request_queue.h) have these: */
    uint64_t number = 0;        /* among the step's: 1, 2, ...; 0: it has not been open */
    int size_min = 0, size_max = 0;     /* what it can do with */
    uint64_t until_unix_ms = 0; /* 0: for ever */
    int rank = -1;              /* of who was the first to make it; -1: not in the world yet */
    /* each uid once; none: it is of hints, or of an operation */
    std::vector<SizeRequestHolder> holders;
    uint64_t request = 0;       /* of the adaptation that is made for it here; 0: none */
    bool withdrawing = false;   /* nobody wants it any more, but it may be granted yet */
    bool notified = false;      /* its event has been */

    /* For messages: "schedule entry 3". */
    std::string label() const;

    bool allows(int a_size) const { return size_min <= a_size && a_size <= size_max; }
    /* The time does not matter: several processes seldom give the same. */
    bool is_same(const SizeRequest &other) const;
};

/* The wanted size, else the next smaller, else the next greater one that the size request allows,
 * that lies in the range and that the program can use; or why there is none. */
Result<int> best_size(const SizeRequest &size_request, const Range &range,
                      const ProgramSizes *rule);

/* So many at once, and then one in so many ms; times never go back. */
class RequestRate {
  public:
    static constexpr int AT_ONCE = 32;
    static constexpr int64_t EVERY_MS = 50;

    bool allows(int64_t now_ms);

  private:
    int64_t full_at_ms_ = 0;    /* when the bucket is full again, that is, empty of size requests */
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_H_INCLUDED */
