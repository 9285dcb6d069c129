/*
 * A queue in which users take turns: items of one user keep their order, and one user's many items
 * do not delay those of others.
 */

#ifndef ELASTIC_RM_DAEMON_FAIR_QUEUE_H_INCLUDED
#define ELASTIC_RM_DAEMON_FAIR_QUEUE_H_INCLUDED

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

namespace elastic::rm {

template <class User, class Item> class FairQueue {
  public:
    void push(const User &user, Item item)
    {
        auto line = std::ranges::find(lines_, user, &Line::user);
        if (line == lines_.end())
            line = lines_.insert(lines_.end(), Line{user, {}});
        line->items.push_back(std::move(item));
        size_++;
    }

    /* Of the user whose turn it is.  The queue must not be empty. */
    Item pop()
    {
        Line line = std::move(lines_.front());
        lines_.pop_front();
        Item item = std::move(line.items.front());
        line.items.pop_front();
        if (!line.items.empty())
            lines_.push_back(std::move(line));
        size_--;
        return item;
    }

    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }

  private:
    struct Line {
        User user;
        std::deque<Item> items;
    };
    std::deque<Line> lines_;            /* of users with items; the first one is next */
    size_t size_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_FAIR_QUEUE_H_INCLUDED */
