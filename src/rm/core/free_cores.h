/*
 * The free cores of each node, ordered by how many they are, so that nobody who asks what fits, or where, looks at
 * every node.  State keeps one; a Space (placement.h) begins as a copy of it, which shares what neither changes.
 *
 * Nodes have positions, in the order of their names.  Nodes of one number of cores of which equally many are free make
 * a group; the positions of a group are a bitmap.
 */

#ifndef ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED
#define ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED

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
    /* The first one that is not before `from`; NONE: there is none. */
    uint32_t next(uint32_t from) const;
    int size() const { return size_; }

  private:
    using Bits = std::vector<uint64_t>;
    Bits &own();

    std::shared_ptr<Bits> bits_;
    int size_ = 0;
};

class FreeCores {
  public:
    struct Group {
        int cores, free;
        PositionSet nodes;
    };

    /* Of these nodes, in this order; sets their positions.  Those that are not up are of no use. */
    template <class Nodes> void rebuild(const Nodes &nodes)
    {
        begin();
        for (const auto &[name, node] : nodes)
            add(node);
        finish();
    }

    bool usable(const Node &node) const { return layout_->base[node.position] >= 0; }
    int free(uint32_t position) const { return free_[position]; }
    int free(const Node &node) const { return free_[node.position]; }
    const Node &node(uint32_t position) const { return *layout_->nodes[position]; }
    /* Of a usable node. */
    void set(const Node &node, int free);
    int64_t total() const { return total_; }
    /* Rising by cores and free. */
    const std::vector<Group> &groups() const { return groups_; }
    /* Those of which no core is used: one for each number of cores. */
    const std::vector<uint32_t> &idle_groups() const { return layout_->idle; }
    bool operator==(const FreeCores &other) const;

  private:
    struct Layout {
        std::vector<const Node *> nodes;
        std::vector<int> base;          /* group of the node with nothing free; -1: it is not usable */
        std::vector<uint32_t> idle;
    };
    void begin();
    void add(const Node &node);
    void finish();

    std::shared_ptr<Layout> layout_ = std::make_shared<Layout>();
    std::vector<int> free_;
    std::vector<Group> groups_;
    int64_t total_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_FREE_CORES_H_INCLUDED */
