/*
 * The waiting jobs of all users in one order, stored by user.  One number (State::delay_of) moves
 * all jobs of one user; to leave the order and to return costs as much as for one job.
 *
 * A traversal visits only the users of the jobs that it has reached.
 */

#ifndef ELASTIC_RM_CORE_USER_QUEUES_H_INCLUDED
#define ELASTIC_RM_CORE_USER_QUEUES_H_INCLUDED

#include <compare>
#include <limits>
#include <map>
#include <set>

#include "core/job.h"

namespace elastic::rm {

/* The order of waiting jobs: by the time since which they wait for their turn, minus their
 * priority, plus a bounded delay for the past use of their user.  So each job becomes first
 * after some time. */
struct QueueKey {
    /* eligible_ms - priority * priority_weight_ms + State::delay_of its user */
    int64_t key = 0;
    JobId job = 0;
    auto operator<=>(const QueueKey &) const = default;
};
constexpr QueueKey QUEUE_BEGIN = {std::numeric_limits<int64_t>::min(), 0};
constexpr QueueKey QUEUE_END = {std::numeric_limits<int64_t>::max(), 0};

/* Properties of all waiting jobs of a user. */
struct UserTurn {
    int64_t delay_ms = 0;       /* delay of all jobs of the user */
    bool out = false;           /* none of them is in the order */
    bool operator==(const UserTurn &) const = default;
};

class UserQueues {
    struct Queue {
        std::set<QueueKey> jobs;        /* keys without the delay; never empty */
        UserTurn turn;
        bool operator==(const Queue &) const = default;
    };
    using Heads = std::set<std::pair<QueueKey, uint32_t>>;

  public:
    /* Valid while nothing changes. */
    class Iterator {
      public:
        const QueueKey &operator*() const { return open_.front().key; }
        const QueueKey *operator->() const { return &open_.front().key; }
        Iterator &operator++();
        bool operator==(const Iterator &other) const;

      private:
        friend class UserQueues;
        struct Cursor {
            QueueKey key;       /* with the delay */
            std::set<QueueKey>::const_iterator next, end;
            int64_t delay_ms;
            bool operator>(const Cursor &other) const { return key > other.key; }
        };
        void open(const Queue &queue, const QueueKey &after);
        void push(Cursor cursor);
        void open_heads();

        const UserQueues *queues_ = nullptr;
        std::vector<Cursor> open_;      /* a heap of the users whose first job has been reached */
        Heads::const_iterator next_;    /* of the other users */
    };

    void insert(uint32_t uid, const UserTurn &turn, const QueueKey &key);
    void erase(uint32_t uid, const QueueKey &key);
    /* Updates the position of all jobs of the user. */
    void move(uint32_t uid, const UserTurn &turn);
    /* Including the delay; QUEUE_END: the user has none in the order. */
    QueueKey first_of(uint32_t uid) const;

    Iterator begin() const { return upper_bound(QUEUE_BEGIN); }
    /* The same, including users out of the order, at the position that they would have. */
    Iterator begin_of_all() const;
    Iterator end() const;
    Iterator upper_bound(const QueueKey &key) const;
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    bool operator==(const UserQueues &other) const { return users_ == other.users_; }

  private:
    static QueueKey head(const Queue &queue);
    void show(uint32_t uid, const Queue &queue);
    void hide(uint32_t uid, const Queue &queue);

    std::map<uint32_t, Queue> users_;
    Heads heads_;               /* the first job of each user in the order */
    size_t size_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_USER_QUEUES_H_INCLUDED */
