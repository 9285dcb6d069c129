/* Waiting jobs of all users in one order, against a sorted list of them. */

#include "core/user_queues.h"

#include <gtest/gtest.h>

#include <random>

namespace elastic::rm {
namespace {

/* The same in a simple form. */
struct Plain {
    std::map<uint32_t, std::set<QueueKey>> jobs;
    std::map<uint32_t, UserTurn> turns;

    std::vector<QueueKey> after(const QueueKey &key, bool with_those_out = false) const
    {
        std::set<QueueKey> all;
        for (const auto &[uid, keys] : jobs) {
            UserTurn turn = turns.at(uid);
            for (const QueueKey &each : keys) {
                QueueKey shown{each.key + turn.delay_ms, each.job};
                if ((with_those_out || !turn.out) && shown > key)
                    all.insert(shown);
            }
        }
        return {all.begin(), all.end()};
    }
};

std::vector<QueueKey> after(const UserQueues &queues, const QueueKey &key)
{
    std::vector<QueueKey> all;
    for (auto next = queues.upper_bound(key); next != queues.end(); ++next)
        all.push_back(*next);
    return all;
}

TEST(UserQueuesTest, the_order_is_that_of_all_keys)
{
    std::mt19937 random(1);
    UserQueues queues;
    Plain plain;
    for (JobId job = 1; job <= 2000; job++) {
        uint32_t uid = random() % 5;
        UserTurn &turn = plain.turns[uid];
        auto &keys = plain.jobs[uid];
        QueueKey key;
        switch (random() % 4) {
            case 0:
            case 1:
                key = {static_cast<int64_t>(random() % 100), job};
                keys.insert(key);
                queues.insert(uid, turn, key);
                break;
            case 2:
                if (!keys.empty()) {
                    QueueKey removed =
                        *std::next(keys.begin(), static_cast<long>(random() % keys.size()));
                    queues.erase(uid, removed);
                    queues.erase(uid, removed);
                    keys.erase(removed);
                }
                break;
            default:
                turn = {static_cast<int64_t>(random() % 50), random() % 3 == 0};
                queues.move(uid, turn);
        }
        std::vector<QueueKey> all = plain.after(QUEUE_BEGIN);
        ASSERT_EQ(after(queues, QUEUE_BEGIN), all) << "job " << job;
        ASSERT_EQ(queues.size(), all.size());
        std::vector<QueueKey> with_those_out;
        for (auto next = queues.begin_of_all(); next != queues.end(); ++next)
            with_those_out.push_back(*next);
        ASSERT_EQ(with_those_out, plain.after(QUEUE_BEGIN, true)) << "job " << job;
        ASSERT_EQ(queues.empty(), queues.begin() == queues.end());
        QueueKey some{static_cast<int64_t>(random() % 150), random() % 2000};
        ASSERT_EQ(after(queues, some), plain.after(some));
        ASSERT_EQ(queues.first_of(uid),
                  turn.out || keys.empty()
                      ? QUEUE_END
                      : (QueueKey{keys.begin()->key + turn.delay_ms, keys.begin()->job}));
    }
}

}  // namespace
}  // namespace elastic::rm
