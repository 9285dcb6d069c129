/*
 * The loops that proxies have merged (wire/loop_set.h), as the step manager keeps and describes
 * them. SPEC-performance N, J1.
 */

#ifndef ELASTIC_LOOPS_H_INCLUDED
#define ELASTIC_LOOPS_H_INCLUDED

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "stepmgr/common/bytes.h"
#include "stepmgr/common/step_events.h"
#include "wire/loop_set.h"

namespace elastic {

inline constexpr size_t LOOPS_TOLD_MAX = 32;    /* in a reply: the loops that take longest */
inline constexpr size_t ITEMS_TOLD_MAX = 16;    /* of a loop */
/* of "0-3,8,...": in a large world this text may be long */
inline constexpr size_t RANKS_TOLD_BYTES_MAX = 250;

class LoopSet {
  public:
    LoopSet() { loop_set_init(&set_); }
    ~LoopSet() { loop_set_free(&set_); }
    LoopSet(LoopSet &&other) noexcept : set_(other.set_) { loop_set_init(&other.set_); }
    LoopSet &operator=(LoopSet &&other) noexcept
    {
        std::swap(set_, other.set_);
        return *this;
    }
    LoopSet(const LoopSet &) = delete;
    LoopSet &operator=(const LoopSet &) = delete;

    static std::optional<LoopSet> read(Bytes bytes);
    std::string write() const;
    void merge(const LoopSet &from) { loop_set_merge(&set_, &from.set_); }
    /* `number` returns the new number of each process below `limit`; -1 leaves it out. */
    void renumber(uint32_t limit, const std::function<int64_t(uint32_t)> &number);
    void join_alone(uint32_t processes) { loop_set_join_alone(&set_, processes); }
    std::span<const loop> loops() const { return {set_.loop, set_.loops}; }
    uint32_t dropped() const { return set_.dropped; }
    loop_set *get() { return &set_; }

  private:
    loop_set set_;
};

/* Whether the loop contains MPI_Probe_adapt. */
bool is_elastic(const loop &loop);

/* The loop of a phase, by the id that the program has given the phase; nullptr: not known. */
const loop *find_phase(const LoopSet &set, uint64_t id);

/* All loops except the elastic one, the longest first, at most LOOPS_TOLD_MAX. */
Json describe_inner_loops(const LoopSet &set);

}  // namespace elastic

#endif /* ELASTIC_LOOPS_H_INCLUDED */
