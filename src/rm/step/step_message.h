/*
 * A message of a step (doc/developer/step-protocol.md), read by one table of messages.  A step is
 * a process of a user: its lines are untrusted input, and only fields of the table are used, with
 * the type and within the bounds of the table.  A line that violates the table is an error of the
 * whole connection; an unknown message or field is ignored, as the protocol requires.  Pure.
 *
 * A new message, or a new field, is a row in step_message.cpp and a member of StepMessage.
 */

#ifndef ELASTIC_RM_STEP_MESSAGE_H_INCLUDED
#define ELASTIC_RM_STEP_MESSAGE_H_INCLUDED

#include <string>
#include <vector>

#include "core/fields.h"

namespace elastic::rm {

constexpr uint64_t STEP_NUMBER_MAX = uint64_t{1} << 53;

enum class StepMessageKind {
    ANSWER,
    ADAPTIVE,
    RIGID,
    SIZES,
    REQUESTED,
    PLAN,
    TARGET,
    COMMITTED,
    WITHDRAWN,
    FAILED,
    FREED,
    LEFT,
    NOTIFIED,
    ACCEPTED,
    DECLINED,
    SIZE_REQUEST,
    REQUEST_ENDED,
    SLOTS_CHANGED,
    HOST_LOST,
    OTHER       /* an event that is not used */
};

struct StepMessage {
    StepMessageKind kind = StepMessageKind::OTHER;
    /* of an event */
    uint64_t seq = 0;
    double time_ms = 0;
    uint64_t request = 0, epoch = 0, uid = 0;
    std::string tag, reason, rule, host;
    std::string step, request_kind, result;
    uint64_t size_request = 0, size = 0, size_min = 0, size_max = 0;
    bool modify = false, waits = false;
    std::vector<int> leaving;   /* ranks, rising */
    /* of an answer */
    std::string id, error;      /* error: its message; empty if ok */
    bool ok = false;
    uint64_t oldest = 0, next = 0;
};

/* The message, or the invalid field. */
Result<StepMessage> read_step_message(const Json &line);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_MESSAGE_H_INCLUDED */
