/* See journal.h. */

#include "daemon/journal.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/processor_time.h"
#include "store/derive.h"

namespace elastic::rm {

namespace {

/* maximum time that derived rows wait for an event to be written with */
constexpr int64_t FLUSH_MS = 200;
constexpr int64_t RETRY_MS = 1000;
constexpr int64_t RESERVE_MS = 2000;        /* between two looks at the disk and its reserve */
constexpr size_t EVENTS_PER_COMMIT = 30;    /* some 3 ms */
/* of processor time: other work is served in between */
constexpr double TURN_MS = 3;
constexpr size_t ROWS_AT_ONCE = 50;          /* derived ones: some 2 ms */
constexpr size_t PARTS_MAX = 20;             /* of derived rows; then they are written first */
constexpr int64_t REMOVE_ROWS = 200;         /* of each kind, in one part */
constexpr int64_t UNUSED_BYTES = 1 << 20;    /* of the file, kept for later data */
constexpr int64_t PAGES_RETURNED = 64;       /* in one part */
constexpr int64_t SNAPSHOT_PAUSE_MS = 10;       /* between two parts of a snapshot */
/* waiting requests of people; more are refused */
constexpr size_t REQUESTS_MAX = 10000;

}  // namespace

Journal::Journal(Parts parts, Store store, uint64_t snapshot_seq, int64_t snapshot_events,
                 int64_t reserve_bytes, Handle handle)
    : parts_(parts), store_(std::move(store)), handle_(std::move(handle)),
      snapshot_(parts.core, snapshot_seq, static_cast<uint64_t>(snapshot_events)),
      reserve_(store_.folder(), reserve_bytes)
{
    if (reserve_bytes > 0)
        parts_.loop.after(RESERVE_MS, [this] { watch_disk(); });
}

/* ---- input ----------------------------------------------------------------------------------- */

void Journal::notify(EventContent content)
{
    inbox_.push_back({std::move(content), std::nullopt, nullptr});
    parts_.loop.turn_again();
}

void Journal::notify_first(Configure configure)
{
    if (inbox_.empty() || !std::holds_alternative<Configure>(inbox_.front().content))
        inbox_.push_front({std::move(configure), std::nullopt, nullptr});
    parts_.loop.turn_again();
}

void Journal::request(Entry entry)
{
    bool is_refused = !has_space() && std::holds_alternative<Submit>(entry.content);
    if (requests_waiting_ >= REQUESTS_MAX || is_refused) {
        entry.done(nullptr, false);
        return;
    }
    requests_waiting_++;
    inbox_.push_back(std::move(entry));
    parts_.loop.turn_again();
}

void Journal::derive(const Event &event, const Action &action, JobId last_job)
{
    if (derived_.empty() || derived_.back().rows() >= ROWS_AT_ONCE)
        derived_.emplace_back();
    Batch &rows = derived_.back();
    rm::derive(rows, parts_.core.state(), event, action, last_job);
    /* Records read the user from the launch of their job. */
    if (&rows != &derived_.front() && !rows.bound.empty()) {
        auto &first = derived_.front().bound;
        first.insert(first.end(), rows.bound.begin(), rows.bound.end());
        rows.bound.clear();
    }
}

/* ---- commit ---------------------------------------------------------------------------------- */

void Journal::end_of_turn()
{
    if (rows_come_first())
        write_some_rows();
    else if (!accepted_.empty())
        handle_some(TURN_MS);
    else if (!inbox_.empty() && error_.empty())
        commit();
    else if (!inbox_.empty())
        failed(error_); /* people get the error at once; all other events wait for the retry */
    if (!accepted_.empty() || rows_come_first() || (!inbox_.empty() && error_.empty()))
        parts_.loop.turn_again();
}

bool Journal::commit()
{
    Batch batch = derived_.empty() ? Batch() : std::move(derived_.front());
    bool has_rows = !derived_.empty();
    if (has_rows)
        derived_.pop_front();
    size_t count = number(batch);
    std::string error = write(batch);
    if (!error.empty()) {
        batch.events.clear();
        batch.launches.clear();
        if (has_rows)
            derived_.push_front(std::move(batch));
        failed(error);
        return false;
    }
    if (!error_.empty())
        log_line(LogLevel::INFO, "the store can be written again");
    error_.clear();
    for (size_t i = 0; i < count; i++) {
        requests_waiting_ -= inbox_.front().done != nullptr;
        accepted_.emplace_back(std::move(batch.events[i]), std::move(inbox_.front()));
        inbox_.pop_front();
    }
    parts_written_ += has_rows;
    notify_written();
    if (parts_.loop.has_time())
        handle_some(TURN_MS);
    return true;
}

/* Moves the contents of the inbox into the batch, as far as possible.  Returns the number of
 * events. */
size_t Journal::number(Batch &batch)
{
    size_t count = std::min(inbox_.size(), EVENTS_PER_COMMIT);
    uint64_t seq = parts_.core.state().seq;
    int64_t event_ms = std::max(now_ms(), parts_.core.state().now_ms);
    batch.clock = parts_.clock.mark();
    for (size_t i = 0; i < count; i++) {
        Entry &entry = inbox_[i];
        batch.events.push_back({++seq, event_ms, entry.content});
        if (entry.launch) {
            entry.launch->seq = seq;
            batch.launches.push_back(*entry.launch);
        }
    }
    return count;
}

std::string Journal::write(const Batch &batch)
{
    auto begin = std::chrono::steady_clock::now();
    std::string error = batch.empty() ? "" : store_.write(batch);
    if (!error.empty() && store_.is_full() && reserve_.is_filled()) {
        release_reserve(error);
        error = store_.write(batch);
    }
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    parts_.metrics.time_commit(taken.count());
    return error;
}

void Journal::release_reserve(const std::string &error)
{
    reserve_.release();
    log_line(LogLevel::ERROR, "the disk of the store is full: no jobs are accepted now",
             {{"error", error}, {"advice", "free some space on that file system"}});
}

/* The store itself may still have free pages: elastic-stepd writes ends of steps, too. */
void Journal::watch_disk()
{
    if (reserve_.is_needed())
        release_reserve("nearly no space is left");
    else if (!reserve_.is_filled() && reserve_.fill())
        log_line(LogLevel::INFO, "there is space on the disk of the store: jobs are accepted");
    parts_.loop.after(RESERVE_MS, [this] { watch_disk(); });
}

bool Journal::make_space(int64_t bytes)
{
    if (!reserve_.can_hold(bytes))
        return false;
    if (reserve_.is_needed(bytes))
        release_reserve("the files of a step need more space");
    return true;
}

/* Handles at least one event, and more for about this time: then other work is served. */
void Journal::handle_some(double ms)
{
    double until_s = processor_seconds() + ms / 1000;
    while (!accepted_.empty()) {
        auto &[event, entry] = accepted_.front();
        is_partial_ = !handle_(event, entry, until_s);
        if (is_partial_)
            break;
        accepted_.pop_front();
        for (auto &task : std::exchange(waiting_for_event_, {}))
            when_written(std::move(task));
        if (processor_seconds() > until_s)
            break;
    }
    if (accepted_.empty() && snapshot_.is_due())
        request_snapshot();
    if (!derived_.empty() && !flush_timer_)
        flush_soon(FLUSH_MS);
}

void Journal::handle_accepted()
{
    while (!accepted_.empty())
        handle_some(TURN_MS);
}

/* People repeat their requests themselves; events of steps and of the back end must not be
 * dropped. */
void Journal::failed(const std::string &error)
{
    if (error_.empty())
        log_line(
            LogLevel::ERROR, error,
            {{"advice", "free some space on that file system; elasticd tries again by itself"}});
    parts_.metrics.count_storage_error();
    error_ = error;
    std::deque<Entry> remaining;
    for (Entry &entry : inbox_) {
        if (entry.done)
            entry.done(nullptr, false);
        else
            remaining.push_back(std::move(entry));
    }
    inbox_ = std::move(remaining);
    requests_waiting_ = 0;
    if (!retry_timer_)
        retry_timer_ = parts_.loop.after(RETRY_MS, [this] { try_again(); });
}

void Journal::try_again()
{
    retry_timer_ = 0;
    std::string still = store_.probe();
    if (!still.empty())
        failed(still);
    else if (accepted_.empty())
        commit();
    else /* numbers of further events follow from the handled ones */
        retry_timer_ = parts_.loop.after(RETRY_MS, [this] { try_again(); });
}

/* ---- derived rows ---------------------------------------------------------------------------- */

/* Handling adds rows faster than they are written. */
bool Journal::rows_come_first() const
{
    bool is_needed = derived_.size() > PARTS_MAX || (snapshot_waits_ && !is_partial_);
    return is_needed && !derived_.empty() && error_.empty();
}

/* False: they cannot be written now. */
bool Journal::write_some_rows()
{
    if (derived_.empty())
        return true;
    std::string error = write(derived_.front());
    if (!error.empty()) {
        failed(error);
        return false;
    }
    derived_.pop_front();
    parts_written_++;
    notify_written();
    if (derived_.empty() && snapshot_waits_)
        request_snapshot();
    return true;
}

void Journal::flush_soon(int64_t ms)
{
    if (flush_timer_)
        parts_.loop.cancel(flush_timer_);
    flush_timer_ = parts_.loop.after(ms, [this] {
        flush_timer_ = 0;
        flush();
    });
}

void Journal::flush()
{
    if (!write_some_rows()) {
        /* Readers get what is stored. */
        for (Waiting &each : std::exchange(waiting_, {}))
            each.task();
    } else if (!derived_.empty())
        flush_soon(0);
}

void Journal::when_written(std::function<void()> task)
{
    if (is_partial_) {
        waiting_for_event_.push_back(std::move(task));
    } else if (derived_.empty() || !error_.empty()) {
        task();
    } else {
        waiting_.push_back({parts_written_ + derived_.size(), std::move(task)});
        flush_soon(0);
    }
}

void Journal::notify_written()
{
    while (!waiting_.empty() && waiting_.front().parts <= parts_written_) {
        auto task = std::move(waiting_.front().task);
        waiting_.pop_front();
        task();
    }
}

Result<std::optional<Json>> Journal::ended(JobId job)
{
    for (auto part = derived_.rbegin(); part != derived_.rend(); ++part) {
        auto row = std::ranges::find(part->ended, job, &EndedRow::job);
        if (row != part->ended.end())
            return std::optional(row->body);
    }
    return store_.ended(job);
}

Result<std::optional<LaunchRow>> Journal::launch(JobId job)
{
    if (!derived_.empty() && !derived_.front().bound.empty())
        write_some_rows();
    return store_.launch(job);
}

/* Rows derived from earlier events must be stored before: a restart would not derive them again. */
void Journal::request_snapshot()
{
    snapshot_waits_ = !derived_.empty() || is_partial_;
    if (snapshot_waits_)
        return;
    snapshot_.begin(now_ms());
    if (!snapshot_timer_)
        go_on_with_snapshot();
}

void Journal::go_on_with_snapshot()
{
    snapshot_timer_ = 0;
    auto more = snapshot_.go_on(store_);
    if (!more)
        log_line(LogLevel::WARNING, more.error());
    else if (more.value())
        snapshot_timer_ = parts_.loop.after(SNAPSHOT_PAUSE_MS, [this] { go_on_with_snapshot(); });
}

void Journal::close()
{
    handle_accepted();
    while (!derived_.empty()) {
        if (!write_some_rows())
            return;
    }
    snapshot_.begin(now_ms());
    auto more = snapshot_.go_on(store_);
    while (more && more.value())
        more = snapshot_.go_on(store_);
    if (!more)
        log_line(LogLevel::WARNING, more.error());
}

bool Journal::remove_before(int64_t time_ms)
{
    auto more = store_.remove_before(time_ms, REMOVE_ROWS);
    if (!more)
        log_line(LogLevel::WARNING, more.error());
    return more && more.value();
}

bool Journal::remove_beyond(int64_t user_bytes_max, int64_t bytes_max)
{
    bool more = false;
    auto users = store_.users_above(user_bytes_max);
    for (uint32_t uid : users ? users.value() : std::vector<uint32_t>()) {
        auto found = store_.remove_oldest_of(uid, REMOVE_ROWS);
        more = more || (found && found.value());
    }
    auto [used_bytes, unused_bytes] = store_.pages();
    if (used_bytes > bytes_max) {
        auto time_ms = store_.time_of_oldest(REMOVE_ROWS);
        bool is_old = time_ms && time_ms.value() && *time_ms.value() < now_ms();
        more = (is_old && remove_before(*time_ms.value())) || more;
    }
    if (unused_bytes > UNUSED_BYTES) {
        std::string error = store_.return_pages(PAGES_RETURNED);
        more = more || error.empty();
    }
    return more;
}

}  // namespace elastic::rm
