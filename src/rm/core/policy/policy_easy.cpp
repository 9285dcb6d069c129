/* See policy_easy.h. */

#include "core/policy/policy_easy.h"

#include "core/policy/backfill_depth.h"
#include "core/policy/requested_sizes.h"
#include "core/time_limit.h"

namespace elastic::rm {

StartNumbers fixed_start(const JobSpec &spec, int size, int growing)
{
    StartNumbers numbers;
    numbers.least = numbers.wanted = numbers.fits = numbers.most = size;
    numbers.capacity = growing;
    numbers.cores_per_process = spec.cores_per_process;
    return numbers;
}

Reservation::Reservation(const State &state, const Space &now, const JobSpec &spec, int size)
    : state_(state), spec_(spec), size_(size), begun_(now)
{
    GrowingCapacity growing(now, spec);
    for (JobId id : state.indices().freeing) {
        if (state.jobs.at(id).state == JobState::COMPLETING)
            give(growing, state.booking(id));
    }
    find_time(growing);
}

Reservation::Reservation(const State &state, const Space &now, const JobSpec &spec, int size,
                         Outlook outlook)
    : state_(state), spec_(spec), size_(size), outlook_(std::move(outlook)), begun_(now)
{
    GrowingCapacity growing(now, spec);
    for (const Booking &booking : outlook_.at_once)
        give(growing, booking);
    std::stable_sort(outlook_.starting.begin(), outlook_.starting.end(),
                     [](const Ending &a, const Ending &b) { return a.time_ms < b.time_ms; });
    find_time(growing);
}

void Reservation::give(GrowingCapacity &growing, const Booking &booking)
{
    growing.give(booking);
    given_.push_back(&booking.shares);
}

/* Assumes the ends of allocated jobs in the order of their limits, until it fits. */
void Reservation::find_time(GrowingCapacity &growing)
{
    int64_t time_ms = state_.now_ms;
    const auto &limits = state_.indices().limits;
    auto next = limits.begin();
    auto start = outlook_.starting.begin(), last = outlook_.starting.end();
    while (next != limits.end() || start != last) {
        bool runs = start == last || (next != limits.end() && next->first <= start->time_ms);
        int64_t end_ms = std::max(runs ? next->first : start->time_ms, state_.now_ms);
        if (growing.capacity() >= size_ && end_ms > time_ms)
            break;
        time_ms = end_ms;
        give(growing, runs ? booking_at_end((next++)->second) : (start++)->booking);
    }
    total_ = growing.total();
    if (growing.capacity() >= size_)
        time_ms_ = time_ms;
    else if (!any_node_will_do(spec_))
        find_nodes(growing);
}

/* It is unknown when certain nodes or GPUs are free.  The job gets those that it would get if
 * all jobs had ended: the free ones of these, now and until the last limit, are left to it, and
 * others start on the rest, for any time. */
void Reservation::find_nodes(GrowingCapacity &growing)
{
    for (JobId id : state_.indices().allocated) {
        const Job &job = state_.jobs.at(id);
        if (job.limit_at_ms != NEVER || job.state == JobState::COMPLETING)
            continue;
        growing.give(booking_at_end(id));
        unlimited_.push_back(&booking_at_end(id).shares);
    }
    has_nodes_ = growing.capacity() >= size_;
}

const Booking &Reservation::booking_at_end(JobId id) const
{
    auto known = outlook_.at_end.find(id);
    return known == outlook_.at_end.end() ? state_.booking(id) : known->second;
}

/* For a job that starts now; NEVER: it has no limit. */
int64_t Reservation::end_of(const JobSpec &spec) const
{
    int64_t limit = time_limit(state_, spec);
    return limit > 0 ? state_.now_ms + limit : NEVER;
}

bool Reservation::is_before(int64_t end_ms) const
{
    return end_ms != NEVER && (time_ms_ == NEVER || end_ms <= time_ms_);
}

BackfillNumbers Reservation::backfill_numbers(JobId first, const JobSpec &spec) const
{
    return {first, {time_ms_, std::max<int64_t>(left(), 0), has_nodes_}, {}, end_of(spec)};
}

int64_t Reservation::ends_before_until_ms(const JobSpec &spec) const
{
    return time_ms_ == NEVER ? NEVER : time_ms_ - time_limit(state_, spec);
}

ReservedCores &Reservation::reserved(const Space &now)
{
    if (!reserved_)
        reserved_.emplace(state_, begun_, given_, now, spec_, size_, unlimited_);
    return *reserved_;
}

bool Reservation::allows(const Space &now, const JobSpec &spec, int size, int64_t end_ms)
{
    if (!now.fits(spec, size))
        return false;
    if (is_before(end_ms))
        return true;
    bool is_left = time_ms_ != NEVER && int64_t{size} * spec.cores_per_process <= left();
    return (is_left || has_nodes_) && reserved(now).fits(now, spec, size);
}

bool Reservation::allows(const Space &now, const JobSpec &spec, int size)
{
    return allows(now, spec, size, end_of(spec));
}

bool Reservation::allows_more(const Space &now, const Job &job, int more)
{
    return allows(now, JoiningSpec(job.spec), more, job.limit_at_ms);
}

void Reservation::changed()
{
    if (reserved_)
        reserved_->changed();
}

/* Number of cores besides the reserved ones. */
int64_t Reservation::left() const
{
    return reserved_ ? reserved_->left() : total_ - int64_t{size_} * spec_.cores_per_process;
}

int64_t Reservation::reserved_of(const Space &now) const
{
    return std::max<int64_t>(now.total() - std::max<int64_t>(left(), 0), 0);
}

Blocks Reservation::allocate(Space &now, const JobSpec &spec, int size, int64_t end_ms)
{
    if (!is_before(end_ms))
        return reserved(now).allocate(now, spec, size);
    changed();
    return now.allocate(spec, size);
}

Blocks Reservation::allocate(Space &now, const JobSpec &spec, int size)
{
    return allocate(now, spec, size, end_of(spec));
}

Blocks Reservation::allocate_more(Space &now, const Job &job, int more)
{
    return allocate(now, JoiningSpec(job.spec), more, job.limit_at_ms);
}

int64_t Reservation::limits_until_ms() const
{
    return time_ms_ == NEVER ? LIMITS_END : time_ms_;
}

namespace {

/* One decision. */
class EasyPass {
  public:
    explicit EasyPass(const State &state) : state_(state), now_(state) {}
    Decisions run();

  private:
    bool start_in_order();
    void start_backfill(const Job &job);

    const State &state_;
    Decisions decisions_;
    Space now_;
    const Job *first_ = nullptr;        /* the first job that does not fit */
    std::optional<Reservation> reservation_;
};

Decisions EasyPass::run()
{
    const State::Indices &indices = state_.indices();
    /* Backfilling follows when the limits of the jobs that start now are known: the core calls
     * again. */
    if (!start_in_order() || !decisions_.starts.empty())
        return std::move(decisions_);
    QueueKey &examined_until = decisions_.depends_on->queue_until;
    examined_until = state_.queue_key(*first_);
    BackfillDepth depth(state_, first_->spec);
    auto next = indices.queue.upper_bound(examined_until);
    for (; !depth.is_reached() && next != indices.queue.end(); ++next) {
        const Job &job = state_.jobs.at(next->job);
        if (depth.takes(job.spec))
            start_backfill(job);
        examined_until = *next;
    }
    if (next == indices.queue.end() || state_.is_divided())
        examined_until = QUEUE_END;     /* a job of another partition may start at any position */
    if (reservation_)
        decisions_.depends_on->limits_until_ms = reservation_->limits_until_ms();
    return std::move(decisions_);
}

/* False: all jobs could start. */
bool EasyPass::start_in_order()
{
    for (const QueueKey &key : state_.indices().runnable) {
        const Job &job = state_.jobs.at(key.job);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        int size = fixed_size(state_, job.spec);
        if (!now_.fits(job.spec, size)) {
            first_ = &job;
            return true;
        }
        StartNumbers numbers = fixed_start(job.spec, size, now_.capacity(job.spec));
        decisions_.starts.push_back({job.id, now_.allocate(job.spec, size), numbers});
    }
    return false;
}

void EasyPass::start_backfill(const Job &job)
{
    int size = fixed_size(state_, job.spec);
    if (job.offer_after_ms > state_.now_ms || size == 0 || !now_.fits(job.spec, size))
        return;
    if (!reservation_)
        reservation_.emplace(state_, now_, first_->spec, fixed_size(state_, first_->spec));
    if (!reservation_->allows(now_, job.spec, size))
        return;
    StartNumbers numbers = fixed_start(job.spec, size, now_.capacity(job.spec));
    numbers.backfill = reservation_->backfill_numbers(first_->id, job.spec);
    decisions_.starts.push_back({job.id, reservation_->allocate(now_, job.spec, size), numbers});
}

}  // namespace

Decisions Easy::decide(const State &state) const
{
    const State::Indices &indices = state.indices();
    Decisions decisions;
    if (indices.free_cores > 0 && !indices.queue.empty())
        decisions = EasyPass(state).run();
    else
        decisions.depends_on->queue_until = indices.free_cores > 0 ? QUEUE_END : QUEUE_BEGIN;
    grant_size_requests(state, decisions);
    return decisions;
}

}  // namespace elastic::rm
