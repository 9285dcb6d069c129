/* The capacity of the nodes of a job that requests a number of nodes (JobSpec::nodes).  Pure. */

#ifndef ELASTIC_RM_CORE_NODE_NUMBER_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_NUMBER_H_INCLUDED

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>

namespace elastic::rm {

/* Sum of the capacities of a number of nodes: of those that it requires, and of the largest
 * others.  0: there are too few.  With the number 0: of all nodes. */
class CapacityOfNodes {
  public:
    explicit CapacityOfNodes(int nodes) : nodes_(nodes), left_(nodes) {}

    /* Adds so many nodes with this capacity each; a negative count removes them. */
    void add(int capacity, int64_t count = 1)
    {
        if (nodes_ == 0)
            sum_ += capacity * count;
        else if (capacity > 0)
            counts_[capacity] += count;
    }
    /* One of the added nodes is required. */
    void require(int capacity)
    {
        if (nodes_ == 0)
            return;
        add(capacity, -1);
        sum_ += capacity;
        left_--;
    }
    int64_t sum() const
    {
        int64_t sum = sum_, left = left_;
        for (const auto &[capacity, count] : counts_) {
            int64_t here = std::min(left, count);
            sum += here * capacity;
            left -= here;
        }
        return left > 0 ? 0 : sum;
    }

  private:
    int nodes_;
    int64_t left_, sum_ = 0;
    std::map<int, int64_t, std::greater<>> counts_;     /* by capacity */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_NUMBER_H_INCLUDED */
