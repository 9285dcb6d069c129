/*
 * A thread that reads the history and does long computations, so that the daemon's loop continues
 * meanwhile (store/history.h is its connection).
 *
 * A task runs on the thread and must not use data of the loop; it returns a function that the loop
 * calls with its result.  Tasks of one user wait for each other, and users take turns.  A task has
 * READ_MS for reading.
 *
 * Owner of the thread.  All functions are for the loop's thread.  Results are dropped when the
 * reader ends.
 */

#ifndef ELASTIC_RM_DAEMON_HISTORY_READER_H_INCLUDED
#define ELASTIC_RM_DAEMON_HISTORY_READER_H_INCLUDED

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/loop.h"
#include "daemon/fair_queue.h"
#include "store/history.h"

namespace elastic::rm {

class HistoryReader {
  public:
    static constexpr int64_t READ_MS = 2000;

    using Done = std::function<void()>;                 /* on the loop */
    using Task = std::function<Done(History &history)>; /* on the thread; throws nothing */

    explicit HistoryReader(Loop &loop) : loop_(loop) {}
    ~HistoryReader();
    HistoryReader(const HistoryReader &) = delete;
    HistoryReader &operator=(const HistoryReader &) = delete;

    /* Empty, or the reason why the store cannot be read. */
    std::string start(const std::string &folder);
    void add(uint32_t uid, Task task);
    size_t waiting() const;

  private:
    void run(History history);
    void take_results();

    Loop &loop_;
    Loop::Posting posting_;
    mutable std::mutex mutex_;
    std::condition_variable woken_;
    FairQueue<uint32_t, Task> tasks_;
    std::deque<Done> results_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_HISTORY_READER_H_INCLUDED */
