/* See history_reader.h. */

#include "daemon/history_reader.h"

#include <algorithm>

#include "base/log.h"

namespace elastic::rm {

HistoryReader::~HistoryReader()
{
    {
        std::lock_guard lock(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

std::string HistoryReader::start(const std::string &folder)
{
    auto history = History::open(folder);
    if (!history)
        return history.error();
    posting_ = loop_.make_posting([this] { take_results(); });
    thread_ = std::thread([this, opened = std::make_shared<History>(std::move(history.value()))] {
        run(std::move(*opened));
    });
    return "";
}

void HistoryReader::add(uint32_t uid, Task task)
{
    {
        std::lock_guard lock(mutex_);
        auto user = std::ranges::find(users_, uid, &User::uid);
        if (user == users_.end())
            user = users_.insert(users_.end(), User{uid, {}});
        user->tasks.push_back(std::move(task));
    }
    woken_.notify_one();
}

size_t HistoryReader::waiting() const
{
    std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const User &user : users_)
        count += user.tasks.size();
    return count;
}

void HistoryReader::run(History history)
{
    std::unique_lock lock(mutex_);
    while (true) {
        woken_.wait(lock, [this] { return ends_ || !users_.empty(); });
        if (ends_)
            return;
        User user = std::move(users_.front());
        users_.pop_front();
        Task task = std::move(user.tasks.front());
        user.tasks.pop_front();
        if (!user.tasks.empty())
            users_.push_back(std::move(user));
        lock.unlock();
        history.set_deadline(monotonic_ms() + READ_MS);
        Done done = task(history);
        task = nullptr;
        lock.lock();
        results_.push_back(std::move(done));
        posting_.post();
    }
}

void HistoryReader::take_results()
{
    std::deque<Done> results;
    {
        std::lock_guard lock(mutex_);
        results.swap(results_);
    }
    for (Done &done : results)
        done();
}

}  // namespace elastic::rm
