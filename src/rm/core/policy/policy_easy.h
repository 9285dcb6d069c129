/*
 * EASY backfilling: the first job that does not fit gets a reservation for the time when, by the
 * time limits, enough will be free; later ones start now if they end before that time or leave it
 * the cores that it will need.
 *
 * A step without a time limit may run for ever.  If the reservation depends on such a one, only
 * jobs with a limit go ahead: the number of steps without limit then only falls, the reservation
 * gets its time, and the first job starts in the end.
 */

#ifndef ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED

#include "core/promise.h"
#include "core/policy/policy.h"

namespace elastic::rm {

/* Cores that a job which starts in this decision will give back, by its limit. */
struct Ending {
    int64_t time_ms = 0;
    Booking booking;
};

/* What becomes free beside what jobs give back with their ends, and where that is another sum than
 * what they have booked. */
struct Outlook {
    std::vector<Booking> at_once;       /* about to be free, or given as soon as it is wanted */
    std::unordered_map<JobId, Booking> at_end;  /* of these jobs */
    std::vector<Ending> starting;       /* jobs that start in this decision, in any order */
};

/* What the first job that does not fit is promised. */
class Reservation {
  public:
    /* `now` is what may be booked at present.  Without an outlook: nobody gives anything before
     * its end, and nobody else starts. */
    Reservation(const State &state, const Space &now, const JobSpec &spec, int size);
    Reservation(const State &state, const Space &now, const JobSpec &spec, int size,
                Outlook outlook);
    Reservation(const Reservation &) = delete;  /* given_ points into outlook_ */
    Reservation &operator=(const Reservation &) = delete;

    /* Whether such a job may start now, in `now`, without delaying the promised start.  `now` is
     * always the one of the construction, and changes by place() alone, or it is told. */
    bool allows(const Space &now, const JobSpec &spec, int size);
    /* Places it there. */
    Blocks place(Space &now, const JobSpec &spec, int size);
    /* The same of so many more processes of a running job, which are gone by its limit. */
    bool allows_more(const Space &now, const Job &job, int more);
    Blocks place_more(Space &now, const Job &job, int more);
    /* Whether such a job, started now, has ended before the promised start; and until when that is
     * so (NEVER: always). */
    bool ends_before(const JobSpec &spec) const { return is_before(end_of(spec)); }
    int64_t ends_before_until_ms(const JobSpec &spec) const;
    /* What such a job, started now, leaves to the job `first`, whose reservation it is. */
    GoingAhead going_ahead(JobId first, const JobSpec &spec) const;
    /* `now` has got less, for who ends before. */
    void changed();
    /* Of the cores that are free in `now`, how many the promised start needs. */
    int64_t kept_of(const Space &now) const;
    int64_t time_ms() const { return time_ms_; }
    /* Later limits have not been looked at. */
    int64_t limits_until_ms() const;

  private:
    void give(GrowingRoom &room, const Booking &booking);
    void find_time(GrowingRoom &room);
    int64_t end_of(const JobSpec &spec) const;
    bool is_before(int64_t end_ms) const;
    bool allows(const Space &now, const JobSpec &spec, int size, int64_t end_ms);
    Blocks place(Space &now, const JobSpec &spec, int size, int64_t end_ms);
    int64_t left() const;
    Promise &promise(const Space &now);

    const State &state_;
    const JobSpec &spec_;
    int size_;
    Outlook outlook_;           /* those who start by their times */
    int64_t time_ms_ = NEVER;   /* of the promised start; NEVER: unknown */
    int64_t total_ = 0;         /* cores that are free at that time */
    Space begun_;               /* what was free in the beginning */
    std::vector<const Shares *> given_;         /* until that time */
    std::optional<Promise> promise_;    /* made when somebody asks where, which few do */
};

class Easy : public Policy {
  public:
    Decisions decide(const State &state) const override;
};

/* Of a job that can have this size alone, in its turn. */
StartNumbers fixed_start(const JobSpec &spec, int size, int room);
/* A step's time limit; 0: none. */
int64_t time_limit(const State &state, const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_EASY_H_INCLUDED */
