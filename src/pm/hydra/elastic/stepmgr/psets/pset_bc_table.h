/*
 * The addresses (business cards) of processes that change through sets, and the business cards that
 * each process has received.  A reply about a set contains the business cards of its members that
 * the process lacks, so that the process need not query them when it makes a communicator.  SI8.
 *
 * Owned by Sets; no effects.  Contains living processes only.
 */

#ifndef ELASTIC_PSET_BC_TABLE_H_INCLUDED
#define ELASTIC_PSET_BC_TABLE_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/common/pset_members.h"

namespace elastic {

class PsetBcTable {
  public:
    static constexpr size_t TOLD_BYTES_MAX = 1 << 20;   /* in one reply; the rest is sent later */

    using Bc = std::pair<uint32_t, std::string>;        /* uid and text */

    /* `bc` is "" if the process has none.  The business card of a process never changes. */
    void give(uint32_t uid, const std::string &bc);
    /* nullptr: the process has not sent its business card. */
    const std::string *find(uint32_t uid) const;
    /* Business cards of members that this process has not received; may contain its own. */
    std::vector<Bc> lacking(uint32_t uid, const SetMembers &members) const;
    /* The same, and marks them as received. */
    std::vector<Bc> notify(uint32_t uid, const SetMembers &members);
    /* Whether the process lacks no other business cards than `bcs`. */
    bool lacks_only(uint32_t uid, const SetMembers &members, const std::set<uint32_t> &bcs) const;
    /* This living process has received these business cards with another reply. */
    void notified(uint32_t uid, const SetMembers &bcs);
    void disconnected(uint32_t uid);

  private:
    /* Intervals of uids: first uid, and last uid plus 1.  They do not touch. */
    using Intervals = std::map<uint32_t, uint32_t>;

    static void add(Intervals &intervals, uint32_t first, uint32_t end);

    std::map<uint32_t, std::string> bcs_;       /* by uid */
    /* by uid: owners of the business cards that the process has received */
    std::map<uint32_t, Intervals> notified_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_BC_TABLE_H_INCLUDED */
