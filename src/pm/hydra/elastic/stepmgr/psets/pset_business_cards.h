/*
 * The addresses ("cards") of processes that change through sets, and which process has been told which: whoever is
 * answered something of a set gets the cards of its members along with it, each once, so that it need not ask when it
 * makes a communicator.  SI8.
 *
 * Owned by Sets; no effects.  Only living processes have cards and have been told any.
 */

#ifndef ELASTIC_PSET_BUSINESS_CARDS_H_INCLUDED
#define ELASTIC_PSET_BUSINESS_CARDS_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/common/pset_members.h"

namespace elastic {

class SetCards {
  public:
    static constexpr size_t TOLD_BYTES_MAX = 1 << 20;   /* in one answer; the rest is told later */

    using Card = std::pair<uint32_t, std::string>;      /* uid and text */

    /* "" is none.  A process has one card for ever. */
    void give(uint32_t uid, const std::string &card);
    /* Nothing: it has not given one. */
    const std::string *find(uint32_t uid) const;
    /* Those of these members that this process has not been told, its own among them. */
    std::vector<Card> lacking(uint32_t uid, const SetMembers &members) const;
    /* The same; it has been from now on. */
    std::vector<Card> tell(uint32_t uid, const SetMembers &members);
    /* Whether it lacks none but these. */
    bool lacks_only(uint32_t uid, const SetMembers &members, const std::set<uint32_t> &cards) const;
    /* This living process has been told these in another way. */
    void told(uint32_t uid, const SetMembers &cards);
    void departed(uint32_t uid);

  private:
    /* Intervals of uids, by their first one: one after the last.  They do not touch. */
    using Intervals = std::map<uint32_t, uint32_t>;

    static void add(Intervals &intervals, uint32_t first, uint32_t end);

    std::map<uint32_t, std::string> cards_;     /* by uid */
    std::map<uint32_t, Intervals> told_;        /* by uid: whose cards it has */
};

}  // namespace elastic

#endif /* ELASTIC_PSET_BUSINESS_CARDS_H_INCLUDED */
