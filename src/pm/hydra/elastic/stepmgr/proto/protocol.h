/*
 * The step protocol's lines: requests parsed and checked field by field, answers written.  No
 * decisions about the step.  Specified in doc/developer/step-protocol.md; every limit has a name
 * here.
 */

#ifndef ELASTIC_PROTOCOL_H_INCLUDED
#define ELASTIC_PROTOCOL_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/change.h"
#include "base/result.h"
#include "stepmgr/common/step_events.h"

namespace elastic {

inline constexpr int PROTOCOL_VERSION = 1;
inline constexpr size_t REQUEST_ID_MAX_BYTES = 64;
inline constexpr size_t TAG_MAX_BYTES = 64;
inline constexpr size_t SLOT_HINTS_MAX = 255;   /* bytes, of an event */
inline constexpr size_t REASON_MAX_BYTES = PMI_ADAPT_REASON_MAX - 1;

struct HelloRequest {};
struct StatusRequest {};
struct PerformanceRequest {
    std::optional<uint32_t> interval_ms;        /* 0: nothing is measured */
};
struct ResizeRequest {
    ChangeRequest change;
    std::optional<uint32_t> if_epoch;   /* refuse unless this is the last committed epoch */
    uint64_t deadline_ms = 0;   /* Unix time */
    std::string reason;
    bool wait = false;          /* send a second answer when the adaptation has ended */
};
struct EventsRequest {
    uint64_t since = 0;
    bool follow = false;
};
struct CancelRequest {
    std::optional<uint64_t> request;    /* none: the adaptation under way */
};

struct RefuseRequest {
    uint64_t request_number = 0;
    std::string reason;         /* for the program, not empty */
};

struct GrantRequest {           /* slots for processes that the program starts */
    uint64_t request_number = 0;
    uint64_t grant = 0;         /* number of the grant: 1, 2, 3, ... */
    std::vector<std::string> hosts;     /* one slot on each, or NAME:COUNT */
};

struct SlotsRequest {
    std::optional<size_t> most; /* greatest number of slots that the job can ever get */
};

struct PsetsRequest {
    uint32_t after = 0;         /* only sets that were named after this serial number */
};

struct TasksRequest {};         /* lists the processes on slots */

struct ClientRequest {
    Json id;                    /* null if none could be read */
    std::variant<HelloRequest, StatusRequest, ResizeRequest, EventsRequest, CancelRequest,
                 PerformanceRequest, RefuseRequest, GrantRequest, SlotsRequest, PsetsRequest,
                 TasksRequest>
        what;
};

/* The only definition of the error codes. doc/developer/step-protocol.md describes them for
 * clients. */
enum class ErrorCode { SYNTAX, VERSION, OPERATION, FIELD, CHANGE, RIGID, BUSY, ENDED, STALE, LAUNCH,
                       NOTHING, AGREED, MANAGED, SIZES };
const char *to_string(ErrorCode code);

struct ProtocolError {
    Json id;
    ErrorCode code = ErrorCode::SYNTAX;
    std::string message;
};

std::variant<ClientRequest, ProtocolError> parse_request(std::string_view line);

/* {"id":..,"ok":true, fields...} and {"id":..,"ok":false,"error":{"code":..,"message":..}} */
std::string write_answer(const Json &id, const Json &fields);
std::string write_error(const ProtocolError &error);

}  // namespace elastic

#endif /* ELASTIC_PROTOCOL_H_INCLUDED */
