/*
 * The free cores of each node, ordered by their number, so that a search for a fit does not visit
 * every node, and its free GPUs.  State has one; a Space (placement.h) begins as a copy of it, and
 * both share the parts that neither changes.
 *
 * Nodes have positions, in the order of their names.  Nodes with equal numbers of cores and of
 * free cores form a group; a bitmap holds the positions of a group.  A copy costs nothing until
 * one of the two changes.
 */

#ifndef ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED
#define ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/node.h"

namespace elastic::rm {

/* Positions; copies share their bits until one of them changes. */
class PositionSet {
  public:
    static constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();

    void insert(uint32_t position, uint32_t end);
    void erase(uint32_t position);
    /* The first position that is not before `from`; NONE: there is none. */
    uint32_t next(uint32_t from) const;
    int size() const { return size_; }
    /* The same for positions that are also in the other set. */
    uint32_t next(uint32_t from, const PositionSet &within) const;
    int size(const PositionSet &within) const;

  private:
    using Bits = std::vector<uint64_t>;
    Bits &own();

    std::shared_ptr<Bits> bits_;
    int size_ = 0;
    uint32_t first_word_ = 0;   /* no position comes before this word */
};

/* A number for each position; copies share the parts that neither changes. */
class SharedNumbers {
  public:
    void push_back(int number);
    void set(uint32_t position, int number);
    int operator[](uint32_t position) const
    {
        return (*parts_[position / PART_SIZE])[position % PART_SIZE];
    }
    uint32_t size() const { return size_; }
    std::vector<int> all() const;
    /* The positions with another number than in `other`, rising.  Parts that both share are not
     * read. */
    template <class Visit> void each_difference(const SharedNumbers &other, Visit visit) const
    {
        for (uint32_t i = 0; i < size_; i = (i / PART_SIZE + 1) * PART_SIZE) {
            if (parts_[i / PART_SIZE] == other.parts_[i / PART_SIZE])
                continue;
            for (uint32_t at = i; at < std::min(i + PART_SIZE, size_); at++) {
                if ((*this)[at] != other[at])
                    visit(at);
            }
        }
    }

  private:
    static constexpr uint32_t PART_SIZE = 512;
    using Part = std::array<int, PART_SIZE>;

    std::vector<std::shared_ptr<Part>> parts_;
    uint32_t size_ = 0;
};

/* Positions that are marked in any order and then visited in rising order, each once, without
 * sorting. */
class PositionMarks {
  public:
    explicit PositionMarks(size_t positions) : bits_((positions + 63) / 64) {}
    /* Returns whether it was not marked before. */
    bool add(uint32_t position)
    {
        uint64_t &bits = bits_[position / 64], before = bits;
        bits |= uint64_t{1} << position % 64;
        return bits != before;
    }
    template <class Visit> void each(Visit visit) const
    {
        for (size_t word = 0; word < bits_.size(); word++) {
            for (uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
                visit(static_cast<uint32_t>(word * 64) +
                      static_cast<uint32_t>(std::countr_zero(bits)));
        }
    }

  private:
    std::vector<uint64_t> bits_;
};

class FreeCores {
  public:
    struct Group {
        int cores, free;
        PositionSet nodes;
    };

    /* Counts these nodes, in this order; sets their positions.  Nodes that are not up are
     * ignored. */
    template <class Nodes> void rebuild(const Nodes &nodes)
    {
        begin();
        for (const auto &[name, node] : nodes)
            add(node);
        finish();
    }

    bool usable(const Node &node) const { return usable(node.position); }
    bool usable(uint32_t position) const { return layout_->base[position] >= 0; }
    int free(uint32_t position) const { return present_->free[position]; }
    int free(const Node &node) const { return present_->free[node.position]; }
    /* For all nodes, by their positions; 0 for unusable nodes. */
    std::vector<int> by_position() const { return present_->free.all(); }
    uint32_t positions() const { return present_->free.size(); }
    bool all_usable() const { return layout_->all_usable; }
    const Node &node(uint32_t position) const { return *layout_->nodes[position]; }
    /* Tables of these, for long lists of nodes: nodes are far apart in memory. */
    uint32_t position(const NodeName &name) const
    {
        const std::vector<uint32_t> &known = layout_->by_name;
        return name.number() < known.size() ? known[name.number()] : PositionSet::NONE;
    }
    int cores(uint32_t position) const { return layout_->cores[position]; }
    /* For a usable node. */
    void set(const Node &node, int free);
    void set_gpus(const Node &node, int free);
    /* 0: the node is unusable, or has no GPUs. */
    int gpus(const Node &node) const { return has_gpus() ? present_->gpus[node.position] : 0; }
    std::vector<int> gpus_by_position() const { return present_->gpus.all(); }
    bool has_gpus() const { return !layout_->gpu_nodes.empty(); }
    /* By position, rising: usable nodes that have GPUs. */
    const std::vector<uint32_t> &gpu_nodes() const { return layout_->gpu_nodes; }
    int64_t total() const { return present_->total; }
    /* Rising by cores and free. */
    const std::vector<Group> &groups() const { return present_->groups; }
    /* Nodes without a used core: one for each number of cores. */
    const std::vector<uint32_t> &idle_groups() const { return layout_->idle; }
    /* Marks the nodes with another number of free cores or GPUs than in `other`, which began as a
     * copy of the same. */
    PositionMarks differences(const FreeCores &other) const;
    bool operator==(const FreeCores &other) const;

  private:
    struct Layout {
        std::vector<const Node *> nodes;
        std::vector<int> cores;         /* of these */
        /* positions by NodeName::number; NONE: no node of this machine */
        std::vector<uint32_t> by_name;
        /* group of the node with nothing free; -1: it is not usable */
        std::vector<int> base;
        std::vector<uint32_t> idle;
        std::vector<uint32_t> gpu_nodes;
        bool all_usable = true;
    };
    struct Present {
        SharedNumbers free;     /* by position */
        SharedNumbers gpus;     /* the same; empty if no node has any */
        std::vector<Group> groups;
        int64_t total = 0;
    };
    void begin();
    void add(const Node &node);
    void finish();

    std::shared_ptr<Layout> layout_ = std::make_shared<Layout>();
    std::shared_ptr<Present> present_ = std::make_shared<Present>();
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED */
