/*
 * The addresses (business cards) of processes that change through sets, and the business cards that
 * each process has received.  A reply about a set carries the business cards of its members, each
 * once to each process, so that the process need not query when it makes a communicator.  SI8.
 *
 * Owned by Sets; no effects.  It knows living processes only.
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
    static constexpr size_t TOLD_BYTES_MAX = 1 << 20;   /* in one answer; the rest is sent later */

    using Bc = std::pair<uint32_t, std::string>;        /* uid and text */

    /* "": none.  The business card of a process never changes. */
    void give(uint32_t uid, const std::string &bc);
    /* nullptr: the process has given none. */
    const std::string *find(uint32_t uid) const;
    /* Business cards of members that this process has not received, its own among them. */
    std::vector<Bc> lacking(uint32_t uid, const SetMembers &members) const;
    /* The same, and the process has received them from now on. */
    std::vector<Bc> notify(uint32_t uid, const SetMembers &members);
    /* Whether the process lacks none but these. */
    bool lacks_only(uint32_t uid, const SetMembers &members, const std::set<uint32_t> &bcs) const;
    /* This living process has received these with another reply. */
    void notified(uint32_t uid, const SetMembers &bcs);
    void disconnected(uint32_t uid);

  private:
    /* Intervals of uids, by their first one: one after the last.  They do not touch. */
    using Intervals = std::map<uint32_t, uint32_t>;

    static void add(Intervals &intervals, uint32_t first, uint32_t end);

    std::map<uint32_t, std::string> bcs_;       /* by uid */
    /* by uid: owners of the business cards that it has */
    std::map<uint32_t, Intervals> notified_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_BC_TABLE_H_INCLUDED */
