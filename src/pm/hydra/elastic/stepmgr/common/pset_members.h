/*
 * The members of a process set: an ordered list of uids without repetition, stored as runs of
 * consecutive uids.  So a set of a hundred thousand consecutive uids needs no more memory than a
 * set of two.  A value type: equal lists compare equal.
 */

#ifndef ELASTIC_PSET_MEMBERS_H_INCLUDED
#define ELASTIC_PSET_MEMBERS_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace elastic {

class SetMembers {
  public:
    static constexpr size_t MAX = 1 << 20;

    struct Run {
        uint32_t first = 0, count = 0;
        bool operator==(const Run &) const = default;
    };

    SetMembers() = default;
    /* Nothing: too many uids, or one uid twice. */
    static std::optional<SetMembers> of_runs(std::span<const Run> runs);
    static std::optional<SetMembers> of_list(std::span<const uint32_t> uids);

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const std::vector<Run> &runs() const { return runs_; }
    bool contains(uint32_t uid) const;
    /* The first member, in the order of the list, that is in `uids`. */
    std::optional<uint32_t> find_any(const std::set<uint32_t> &uids) const;
    bool any_of(const std::set<uint32_t> &uids) const { return find_any(uids).has_value(); }
    size_t count_of(const std::set<uint32_t> &uids) const;
    /* The first member that is not in `uids`; UINT32_MAX: all members are. */
    uint32_t first_without(const std::set<uint32_t> &uids) const;
    uint32_t greatest() const;  /* of a set that is not empty */

    /* The result has the order of the first operand; a union has the order of first appearance. */
    static std::optional<SetMembers> union_of(std::span<const SetMembers *const> operands);
    static SetMembers intersection_of(std::span<const SetMembers *const> operands);
    static SetMembers difference_of(std::span<const SetMembers *const> operands);
    /* Consecutive parts.  The sum of `sizes` is the size of this set. */
    std::vector<SetMembers> split(std::span<const uint32_t> sizes) const;

    bool operator==(const SetMembers &) const = default;

  private:
    void append(Run run);

    std::vector<Run> runs_;
    size_t size_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MEMBERS_H_INCLUDED */
