/* See history_reader.h. */

#include "daemon/history_reader.h"

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
        tasks_.push(uid, std::move(task));
    }
    woken_.notify_one();
}

size_t HistoryReader::waiting() const
{
    std::lock_guard lock(mutex_);
    return tasks_.size();
}

void HistoryReader::run(History history)
{
    std::unique_lock lock(mutex_);
    while (true) {
        woken_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
        if (ends_)
            return;
        Task task = tasks_.pop();
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
    bool more = true;
    do {
        Done done;
        {
            std::lock_guard lock(mutex_);
            if (results_.empty())
                return;
            done = std::move(results_.front());
            results_.pop_front();
            more = !results_.empty();
        }
        done();
    } while (more && loop_.has_time());
    if (more)
        posting_.post();
}

}  // namespace elastic::rm
