/*
 * Full meshes.  In a full mesh each process has the addresses of all others, and knows that they
 * have its own.  Such processes make communicators without a rendezvous.  A process is in one full
 * mesh at most.  Meshes merge when all of their members have had a rendezvous, and shrink by ends
 * of processes only, so that a reply about a mesh holds for ever.  SI8.
 *
 * Owned by PsetRendezvous; no effects.  It knows living processes only.
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
    /* Whether one mesh has all of these members. */
    bool hold(const SetMembers &members) const;
    /* These have had a rendezvous, or were introduced.  Returns whether they are one full mesh from
     * now on: not if one of them is in a mesh with another process. */
    bool join(const SetMembers &members);
    void disconnected(uint32_t uid);

  private:
    std::map<uint32_t, uint32_t> mesh_of_;      /* by uid; a process without an entry is in none */
    std::map<uint32_t, size_t> sizes_;  /* by mesh */
    uint32_t last_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MESHES_H_INCLUDED */
