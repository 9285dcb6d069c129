/*
 * Limits the number of long answers of one user that are made at the same time, so that their
 * memory is bounded; more wait for their turn.  Runs on the daemon's loop; any thread may release a
 * slot.
 */

#ifndef ELASTIC_RM_DAEMON_USER_SLOTS_H_INCLUDED
#define ELASTIC_RM_DAEMON_USER_SLOTS_H_INCLUDED

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/loop.h"

namespace elastic::rm {

class UserSlots {
  public:
    static constexpr int AT_ONCE = 4;

    /* The last copy of it releases the slot. */
    using Slot = std::shared_ptr<void>;

    explicit UserSlots(Loop &loop)
        : shared_(std::make_shared<Shared>()),
          posting_(loop.make_posting([this] { take_released(); }))
    {
    }

    /* Calls back at once, or when the user has a slot again. */
    void take(uint32_t uid, std::function<void(Slot)> begin)
    {
        User &user = users_[uid];
        user.waiting.push_back(std::move(begin));
        go_on(uid);
    }

  private:
    struct User {
        int taken = 0;
        std::deque<std::function<void(Slot)>> waiting;
    };
    struct Shared {
        std::mutex mutex;
        std::deque<uint32_t> released;
    };

    void go_on(uint32_t uid)
    {
        User &user = users_[uid];
        while (user.taken < AT_ONCE && !user.waiting.empty()) {
            auto begin = std::move(user.waiting.front());
            user.waiting.pop_front();
            user.taken++;
            begin(Slot(nullptr, [shared = shared_, posting = posting_, uid](void *) {
                {
                    std::lock_guard lock(shared->mutex);
                    shared->released.push_back(uid);
                }
                posting.post();
            }));
        }
        if (user.taken == 0)
            users_.erase(uid);
    }
    void take_released()
    {
        std::deque<uint32_t> released;
        {
            std::lock_guard lock(shared_->mutex);
            released.swap(shared_->released);
        }
        for (uint32_t uid : released) {
            users_[uid].taken--;
            go_on(uid);
        }
    }

    std::map<uint32_t, User> users_;
    std::shared_ptr<Shared> shared_;
    Loop::Posting posting_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_USER_SLOTS_H_INCLUDED */
