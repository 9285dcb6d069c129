/*
 * Virtual time and random numbers of a simulation.  Time advances only when no event of the present
 * time is left.  Events run in the order of their times; events of equal times run in the order of
 * their creation.  The same seed gives the same order.
 */

#ifndef ELASTIC_RM_SIM_VIRTUAL_TIME_H_INCLUDED
#define ELASTIC_RM_SIM_VIRTUAL_TIME_H_INCLUDED

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace elastic::rm {

class VirtualTime {
  public:
    explicit VirtualTime(uint64_t seed) : random_(seed) {}

    int64_t now_ms() const { return now_ms_; }
    void after(int64_t ms, std::function<void()> action);
    bool empty() const { return queue_.empty(); }
    /* Runs the next event. */
    void go_on();

    bool chance(double probability);
    int64_t between(int64_t low, int64_t high);

  private:
    struct Happening {
        int64_t time_ms;
        uint64_t order;
        std::function<void()> action;
        bool operator>(const Happening &other) const
        {
            return std::pair(time_ms, order) > std::pair(other.time_ms, other.order);
        }
    };

    int64_t now_ms_ = 1000000;
    uint64_t order_ = 0;
    std::mt19937_64 random_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_VIRTUAL_TIME_H_INCLUDED */
