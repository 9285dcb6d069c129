/*
 * Circles of processes each of which has taken in the addresses of all others, and knows that they have taken in its
 * own: they make communicators without asking for a meeting.  A process is in one at most.  Circles grow together when
 * all of their members have met, and get smaller only by ends, so that what a process was told of its circle holds for
 * ever.  SI8.
 *
 * Owned by SetMeetings; no effects.  Living processes alone have room.
 */

#ifndef ELASTIC_PSET_MESHES_H_INCLUDED
#define ELASTIC_PSET_MESHES_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <map>

#include "stepmgr/common/pset_members.h"

namespace elastic {

class SetCircles {
  public:
    /* Whether one of them has all of these. */
    bool hold(const SetMembers &members) const;
    /* These have met, or been introduced.  Whether they are one circle from now on: none is in a circle with anybody
     * else. */
    bool join(const SetMembers &members);
    void departed(uint32_t uid);

  private:
    std::map<uint32_t, uint32_t> circle_of_;    /* by uid; who is not there has never met anybody so */
    std::map<uint32_t, size_t> sizes_;          /* by circle */
    uint32_t last_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MESHES_H_INCLUDED */
