/*
 * Messages that processes had not received when an adaptation window closed, for the user and for
 * clients.
 */

#ifndef ELASTIC_UNRECEIVED_MESSAGES_H_INCLUDED
#define ELASTIC_UNRECEIVED_MESSAGES_H_INCLUDED

#include <cstddef>
#include <cstdint>

#include "stepmgr/proto/payload.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class UnreceivedMessages {
  public:
    explicit UnreceivedMessages(StepState &state) : state_(state) {}

    /* Each report is an event.  The user gets one message at the end of the adaptation, and one for
     * each later report at once. */
    void on_report(const Process &process, uint32_t epoch, const UnreceivedReport &report);
    /* The adaptation under way ends. */
    void notify_user() const;

  private:
    static constexpr size_t TEXT_MAX = 4;       /* reports in the text for the user */
    static constexpr size_t EVENTS_MAX = 64;

    StepState &state_;
};

}  // namespace elastic

#endif /* ELASTIC_UNRECEIVED_MESSAGES_H_INCLUDED */
