/*
 * EASY backfilling: the first job that does not fit gets a reservation for the time when, by the
 * time limits, enough cores will be free; later ones start now if they end before that time or
 * leave the reserved cores free.
 *
 * A step without a time limit may run for ever.  If the reservation depends on such a step, only
 * jobs with a limit are backfilled: the number of steps without limit then only falls, the
 * reservation gets its time, and the first job starts in the end.
 */

#ifndef ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED

#include "core/reserved_cores.h"
#include "core/policy/policy.h"

namespace elastic::rm {

/* Cores that a job which starts in this decision will release, by its limit. */
struct Ending {
    int64_t time_ms = 0;
    Booking booking;
};

/* Cores that become free apart from the ends of jobs, and jobs that free another number than
 * they have booked. */
struct Outlook {
    std::vector<Booking> at_once;       /* soon free, or released on request */
    std::unordered_map<JobId, Booking> at_end;  /* of these jobs */
    std::vector<Ending> starting;       /* jobs that start in this decision, in any order */
};

/* The reservation of the first job that does not fit. */
class Reservation {
  public:
    /* `now` has the cores that may be booked at present.  Without an outlook, no job releases
     * cores before its end, and no other job starts. */
    Reservation(const State &state, const Space &now, const JobSpec &spec, int size);
    Reservation(const State &state, const Space &now, const JobSpec &spec, int size,
                Outlook outlook);
    Reservation(const Reservation &) = delete;  /* given_ points into outlook_ */
    Reservation &operator=(const Reservation &) = delete;

    /* Whether such a job may start in `now` without a delay of the reserved start.  `now` is
     * always the one of the construction, and only allocate() and reported changes change it. */
    bool allows(const Space &now, const JobSpec &spec, int size);
    /* Allocates its cores in `now`. */
    Blocks allocate(Space &now, const JobSpec &spec, int size);
    /* The same for further processes of a running job, which end by its limit. */
    bool allows_more(const Space &now, const Job &job, int more);
    Blocks allocate_more(Space &now, const Job &job, int more);
    /* Whether such a job, started now, ends before the reserved start; and until when that is
     * true (NEVER: always). */
    bool ends_before(const JobSpec &spec) const { return is_before(end_of(spec)); }
    int64_t ends_before_until_ms(const JobSpec &spec) const;
    /* The cores that such a job, started now, leaves to the job `first` with the reservation. */
    BackfillNumbers backfill_numbers(JobId first, const JobSpec &spec) const;
    /* `now` has fewer cores, used by a job that ends before the reserved start. */
    void changed();
    /* Number of free cores of `now` that the reserved start needs. */
    int64_t reserved_of(const Space &now) const;
    int64_t time_ms() const { return time_ms_; }
    /* Limits after this time were not examined. */
    int64_t limits_until_ms() const;

  private:
    void give(GrowingCapacity &growing, const Booking &booking);
    void find_time(GrowingCapacity &growing);
    void find_nodes(GrowingCapacity &growing);
    const Booking &booking_at_end(JobId id) const;
    int64_t end_of(const JobSpec &spec) const;
    bool is_before(int64_t end_ms) const;
    bool allows(const Space &now, const JobSpec &spec, int size, int64_t end_ms);
    Blocks allocate(Space &now, const JobSpec &spec, int size, int64_t end_ms);
    int64_t left() const;
    ReservedCores &reserved(const Space &now);

    const State &state_;
    const JobSpec &spec_;
    int size_;
    Outlook outlook_;           /* jobs that start are in the order of their times */
    int64_t time_ms_ = NEVER;   /* of the reserved start; NEVER: unknown */
    bool has_nodes_ = false;    /* the time is unknown, but its nodes or GPUs are known */
    int64_t total_ = 0;         /* cores that are free at that time */
    Space begun_;               /* initially free cores */
    std::vector<const Shares *> given_;         /* released until that time */
    std::vector<const Shares *> unlimited_;     /* by jobs without a limit, if has_nodes_ */
    /* computed when a caller needs the nodes, which is rare */
    std::optional<ReservedCores> reserved_;
};

class Easy : public Policy {
  public:
    Decisions decide(const State &state) const override;
};

/* For a job that can have only this size, in queue order. */
StartNumbers fixed_start(const JobSpec &spec, int size, int growing);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED */
