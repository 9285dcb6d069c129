/*
 * The number of the stored event that is being handled.  If the event ends the process (an abort, a
 * segmentation fault), the number is printed on standard error: the same event would end the
 * process at every start, and `elasticd --quarantine-event` needs the number.
 */

#ifndef ELASTIC_RM_CRASH_NOTE_H_INCLUDED
#define ELASTIC_RM_CRASH_NOTE_H_INCLUDED

#include <cstdint>
#include <string>

namespace elastic::rm {

/* Call it once, at the start. */
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
