/*
 * Full meshes.  In a full mesh each process has the addresses of all others, and knows that they
 * have its own.  Such processes make communicators without a rendezvous.  A process is in one full
 * mesh at most.  Meshes merge when all of their members have had a rendezvous.  They shrink only
 * when processes end, so that a reply about a mesh stays valid.  SI8.
 *
 * Owned by PsetRendezvous; no effects.  Contains living processes only.
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
    /* Whether one mesh contains all of these members. */
    bool hold(const SetMembers &members) const;
    /* These members have had a rendezvous, or were introduced to each other.  Returns whether they
     * are one full mesh now: not if a member is in a mesh with another process. */
    bool join(const SetMembers &members);
    void disconnected(uint32_t uid);

  private:
    std::map<uint32_t, uint32_t> mesh_of_;      /* by uid; a process without an entry is in none */
    std::map<uint32_t, size_t> sizes_;  /* by mesh */
    uint32_t last_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MESHES_H_INCLUDED */
