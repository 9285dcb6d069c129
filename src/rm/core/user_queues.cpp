/* See user_queues.h. */

#include "core/user_queues.h"

#include <algorithm>

namespace elastic::rm {

QueueKey UserQueues::head(const Queue &queue)
{
    QueueKey first = *queue.jobs.begin();
    return {first.key + queue.turn.delay_ms, first.job};
}

void UserQueues::show(uint32_t uid, const Queue &queue)
{
    if (queue.turn.out)
        return;
    heads_.insert({head(queue), uid});
    size_ += queue.jobs.size();
}

void UserQueues::hide(uint32_t uid, const Queue &queue)
{
    if (queue.turn.out)
        return;
    heads_.erase({head(queue), uid});
    size_ -= queue.jobs.size();
}

/* Only a new first job moves its user. */
void UserQueues::insert(uint32_t uid, const UserTurn &turn, const QueueKey &key)
{
    auto [user, is_new] = users_.try_emplace(uid);
    Queue &queue = user->second;
    bool is_first = is_new || key < *queue.jobs.begin();
    if (is_new)
        queue.turn = turn;
    else if (is_first)
        hide(uid, queue);
    bool is_added = queue.jobs.insert(key).second;
    if (is_first)
        show(uid, queue);
    else if (is_added && !queue.turn.out)
        size_++;
}

void UserQueues::erase(uint32_t uid, const QueueKey &key)
{
    auto user = users_.find(uid);
    if (user == users_.end())
        return;
    Queue &queue = user->second;
    auto job = queue.jobs.find(key);
    if (job == queue.jobs.end())
        return;
    bool is_first = job == queue.jobs.begin();
    if (is_first)
        hide(uid, queue);
    else if (!queue.turn.out)
        size_--;
    queue.jobs.erase(job);
    if (queue.jobs.empty())
        users_.erase(user);
    else if (is_first)
        show(uid, queue);
}

void UserQueues::move(uint32_t uid, const UserTurn &turn)
{
    auto user = users_.find(uid);
    if (user == users_.end())
        return;
    hide(uid, user->second);
    user->second.turn = turn;
    show(uid, user->second);
}

QueueKey UserQueues::first_of(uint32_t uid) const
{
    auto user = users_.find(uid);
    return user == users_.end() || user->second.turn.out ? QUEUE_END : head(user->second);
}

UserQueues::Iterator UserQueues::end() const
{
    Iterator end;
    end.queues_ = this;
    end.next_ = heads_.end();
    return end;
}

UserQueues::Iterator UserQueues::begin_of_all() const
{
    Iterator all;
    all.queues_ = this;
    all.next_ = heads_.begin();
    for (const auto &[uid, queue] : users_)
        if (queue.turn.out)
            all.open(queue, QUEUE_BEGIN);
    all.open_heads();
    return all;
}

UserQueues::Iterator UserQueues::upper_bound(const QueueKey &key) const
{
    Iterator found;
    found.queues_ = this;
    for (found.next_ = heads_.begin(); found.next_ != heads_.end() && found.next_->first <= key;
         ++found.next_)
        found.open(users_.at(found.next_->second), key);
    found.open_heads();
    return found;
}

/* The user's jobs after that key. */
void UserQueues::Iterator::open(const Queue &queue, const QueueKey &after)
{
    int64_t delay_ms = queue.turn.delay_ms;
    auto next = after == QUEUE_BEGIN ? queue.jobs.begin()
                                     : queue.jobs.upper_bound({after.key - delay_ms, after.job});
    push({{}, next, queue.jobs.end(), delay_ms});
}

void UserQueues::Iterator::push(Cursor cursor)
{
    if (cursor.next == cursor.end)
        return;
    cursor.key = {cursor.next->key + cursor.delay_ms, cursor.next->job};
    ++cursor.next;
    open_.push_back(cursor);
    std::push_heap(open_.begin(), open_.end(), std::greater<>());
}

/* Opens users whose first job comes before all other open ones. */
void UserQueues::Iterator::open_heads()
{
    for (; next_ != queues_->heads_.end() && (open_.empty() || next_->first < open_.front().key);
         ++next_)
        open(queues_->users_.at(next_->second), QUEUE_BEGIN);
}

UserQueues::Iterator &UserQueues::Iterator::operator++()
{
    std::pop_heap(open_.begin(), open_.end(), std::greater<>());
    Cursor past = open_.back();
    open_.pop_back();
    push(past);
    open_heads();
    return *this;
}

/* Both must belong to the same order. */
bool UserQueues::Iterator::operator==(const Iterator &other) const
{
    if (open_.empty() || other.open_.empty())
        return open_.empty() == other.open_.empty();
    return **this == *other;
}

}  // namespace elastic::rm
