/*
 * The number of the stored event that is being handled.  A process that ends by it (an abort, a
 * segmentation fault) prints it on standard error: the same event would end it at every start, and
 * `elasticd --quarantine-event` needs the number.
 */

#ifndef ELASTIC_RM_CRASH_NOTE_H_INCLUDED
#define ELASTIC_RM_CRASH_NOTE_H_INCLUDED

#include <cstdint>
#include <string>

namespace elastic::rm {

/* Once, at the start. */
void watch_crashes();

class EventInHand {
  public:
    explicit EventInHand(uint64_t seq);
    ~EventInHand();
    EventInHand(const EventInHand &) = delete;
    EventInHand &operator=(const EventInHand &) = delete;
};

/* Advice about an event that ends the process. */
std::string quarantine_advice(uint64_t seq);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CRASH_NOTE_H_INCLUDED */
