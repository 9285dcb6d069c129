/*
 * Which stored event is being handled, said on standard error if this process dies of it (an abort,
 * a segmentation fault): the same event would kill it at every start, and its number is what
 * `elasticd --quarantine-event` wants.
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

/* What to do about an event that cannot be borne. */
std::string quarantine_advice(uint64_t seq);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CRASH_NOTE_H_INCLUDED */
