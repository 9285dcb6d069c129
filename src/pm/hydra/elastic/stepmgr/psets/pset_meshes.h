/*
 * Full meshes: processes each of which has taken in the addresses of all others, and knows that they have taken in its
 * own: they make communicators without asking for a rendezvous.  A process is in one at most.  Meshes grow together
 * when all of their members have met, and get smaller only by ends, so that what a process was notified about its full
 * mesh holds for ever.  SI8.
 *
 * Owned by PsetRendezvous; no effects.  Living processes alone have capacity.
 */

#ifndef ELASTIC_PSET_MESHES_H_INCLUDED
#define ELASTIC_PSET_MESHES_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <map>

#include "stepmgr/common/pset_members.h"

namespace elastic {

class PsetMeshes {
  public:
    /* Whether one of them has all of these. */
    bool hold(const SetMembers &members) const;
    /* These have met, or been introduced.  Whether they are one full mesh from now on: none is in a full mesh with
     * anybody else. */
    bool join(const SetMembers &members);
    void disconnected(uint32_t uid);

  private:
    std::map<uint32_t, uint32_t> mesh_of_;      /* by uid; who is not there has never met anybody so */
    std::map<uint32_t, size_t> sizes_;  /* by mesh */
    uint32_t last_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MESHES_H_INCLUDED */
