/*
 * A request for another size of the world, of any origin: the wanted size, the caller that waits
 * for its end, and the best of the sizes that it allows.  Data and pure functions; SizeRequests
 * (requests/size_requests.h) turns requests into adaptations.
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

/* The origin of a request. */
enum class Origin {
    MODIFY,             /* MPIX_Comm_modify: all processes of the world wait */
    CLIENT,             /* a client of the step protocol */
    PROGRAM,            /* MPIX_Adapt_request */
    OPERATION,          /* an operation on process sets: a process waits */
    HINTS,              /* sizes that the program prefers: no process waits */
    SCHEDULE, POLICY
};
/* The name in events, for example "requested" and "committed". */
const char *to_string(Origin origin);
/* A request replaces an open request of the same or a lower priority. */
int priority_of(Origin origin);

/* The end of a size request; each has exactly one. */
enum class SizeRequestEnd : uint32_t {
    GRANTED = PMI_ADAPT_REQUEST_GRANTED,
    REFUSED = PMI_ADAPT_REQUEST_REFUSED,
    WITHDRAWN = PMI_ADAPT_REQUEST_WITHDRAWN
};
const char *to_string(SizeRequestEnd end);

/* A process that has made the size request. */
struct SizeRequestHolder {
    uint32_t uid = 0;
    uint32_t number = 0;        /* of the size request, counted by that process */
    ProxyId proxy_id;
};

struct SizeRequest {
    Origin origin = Origin::PROGRAM;
    /* the size; the leaving processes and the hosts of joining ones, if the request names them */
    ChangeRequest wanted;
    size_t entry = 0;           /* of the schedule, from 1 */
    std::string reason;         /* of the program or client, for people; "": none */
    uint64_t deadline_unix_ms = 0;      /* of the adaptation; 0: none */

    /* Only requests that may wait (requests/size_request_queue.h) have these: */
    /* counted by the step: 1, 2, ...; 0: the request has never been open */
    uint64_t number = 0;
    int size_min = 0, size_max = 0;     /* the sizes that it allows */
    uint64_t until_unix_ms = 0; /* 0: for ever */
    int rank = -1;              /* of the first process that made it; -1: not in the world yet */
    /* each uid once; empty: the request comes from hints or from an operation */
    std::vector<SizeRequestHolder> holders;
    uint64_t request = 0;       /* of the adaptation that was made for it; 0: none */
    bool withdrawing = false;   /* no process wants it any more, but it may still be granted */
    bool notified = false;      /* its event has been sent */

    /* For messages: "schedule entry 3". */
    std::string label() const;

    bool allows(int a_size) const { return size_min <= a_size && a_size <= size_max; }
    /* Ignores the time, because several processes seldom give the same one. */
    bool is_same(const SizeRequest &other) const;
};

/* The wanted size, else the next smaller, else the next greater size.  The size request must allow
 * it, the range must contain it, and the program must be able to use it.  An error: there is none,
 * with the reason. */
Result<int> best_size(const SizeRequest &size_request, const Range &range,
                      const ProgramSizes *rule);

/* Limits a rate: AT_ONCE requests at once, then one each EVERY_MS ms.  Times never go back. */
class RequestRate {
  public:
    static constexpr int AT_ONCE = 32;
    static constexpr int64_t EVERY_MS = 50;

    bool allows(int64_t now_ms);

  private:
    int64_t full_at_ms_ = 0;    /* when AT_ONCE requests at once are allowed again */
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_H_INCLUDED */
