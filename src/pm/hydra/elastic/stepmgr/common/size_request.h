/*
 * A size request of the program for another size of its world (MPIX_Adapt_request): what is wanted, who waits for its
 * end, and which size of those that it allows would be best.  Data and pure functions; SizeRequests
 * (requests/size_requests.h) owns those that have no end yet.
 */

#ifndef ELASTIC_SIZE_REQUEST_H_INCLUDED
#define ELASTIC_SIZE_REQUEST_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/program_sizes.h"
#include "base/result.h"
#include "pmi_adapt_request.h"
#include "stepmgr/common/schedule.h"
#include "stepmgr/common/world.h"
#include "wire/request_messages.h"

namespace elastic {

/* More than these go on being kinds that nobody knows here. */
enum class SizeRequestKind : uint32_t {
    PROCESSES = PMI_ADAPT_REQUEST_PROCESSES,
    MODIFY = PMI_ADAPT_REQUEST_MODIFY
};

/* How it ends; each size request does so in exactly one way. */
enum class SizeRequestEnd : uint32_t {
    GRANTED = PMI_ADAPT_WISH_GRANTED,
    REFUSED = PMI_ADAPT_WISH_REFUSED,
    WITHDRAWN = PMI_ADAPT_WISH_WITHDRAWN
};
const char *to_string(SizeRequestKind kind);
const char *to_string(SizeRequestEnd end);

/* A process that has made the size request. */
struct SizeRequestHolder {
    uint32_t uid = 0;
    uint32_t number = 0;        /* of the size request among that process' own */
    Agent agent;
};

struct SizeRequest {
    uint64_t number = 0;        /* among the step's: 1, 2, ... */
    SizeRequestKind kind = SizeRequestKind::PROCESSES;
    int size = 0, size_min = 0, size_max = 0;   /* wanted, and what it can do with */
    uint64_t until_unix_ms = 0; /* 0: for ever */
    std::string reason;         /* of the program, for people */
    int rank = -1;              /* of who was the first to make it; -1: not in the world yet */
    std::vector<SizeRequestHolder>
        holders; /* each uid once; none: it is of hints, or of an operation on
                                                 * process sets */
    uint64_t request = 0;       /* of the adaptation that is made for it here; 0: none */
    bool withdrawing = false;   /* nobody wants it any more, but it may be granted yet */
    bool notified = false;      /* its event has been */
    bool awaited = false;       /* by an operation on process sets */

    bool allows(int a_size) const { return size_min <= a_size && a_size <= size_max; }
    /* The time does not matter: several processes seldom give the same. */
    bool is_same(const SizeRequest &other) const;
};

/* The wanted size, else the next smaller, else the next greater one that the size request allows, that lies in the
 * range and that the program can use; or why there is none. */
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
