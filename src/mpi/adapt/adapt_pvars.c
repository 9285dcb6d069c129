/*
 * Performance variables of adaptations, for any MPI_T tool.  All of them are of this process, not
 * bound to an object, read-only and always counting; times are in seconds.  doc/user/variables.md
 * lists them.
 *
 * Standstill is the time that the library takes from a staying process: in the probe that returns
 * TRUE, in begin and in commit.  The application's time in between does not count.
 */

#include "adapt.h"
#include "adapt_measure.h"
#include "mpid_session.h"
#include "mpidu_oversubscribed.h"

static struct {
    unsigned long long adaptations;
    double standstill_last, standstill_total, standstill_max;
    double joining_wait;
} pvars;

static double standstill_now;   /* of the present adaptation */

void MPIR_Adapt_count_standstill(double seconds)
{
    standstill_now += seconds;
}

double MPIR_Adapt_seconds_since(MPL_time_t start)
{
    MPL_time_t now;
    double seconds;

    MPL_wtime(&now);
    MPL_wtime_diff(&start, &now, &seconds);
    return seconds;
}

void MPIR_Adapt_count_joining_wait(double seconds)
{
    pvars.joining_wait = seconds;
}

void MPIR_Adapt_count_commit(void)
{
    pvars.adaptations++;
    pvars.standstill_last = standstill_now;
    pvars.standstill_total += standstill_now;
    pvars.standstill_max = MPL_MAX(pvars.standstill_max, standstill_now);
    standstill_now = 0;
}

static void add(MPIR_T_pvar_class_t class, MPI_Datatype type, const char *name, void *address,
                const char *description)
{
    MPIR_T_PVAR_REGISTER_impl(class, type, name, address, 1, MPI_T_ENUM_NULL,
                              MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS |
                              (class == MPI_T_PVAR_CLASS_LEVEL ? 0 : MPIR_T_PVAR_FLAG_SUM),
                              NULL, NULL, "ADAPT", description);
}

void MPIR_Adapt_add_pvars(unsigned long long *rendezvous)
{
    unsigned *channels;
    unsigned long long *channel_messages;

    MPL_COMPILE_TIME_ASSERT(sizeof(MPIR_Adapt.count) == sizeof(unsigned long long));
    MPID_Channels_counts(&channels, &channel_messages);

    add(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, "adapt_adaptations", &pvars.adaptations,
        "Adaptations of MPI_COMM_WORLD that this process has committed");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG_LONG, "adapt_probe_count", &MPIR_Adapt.count,
        "Calls of MPI_Probe_adapt since the start or the last commit");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_DOUBLE, "adapt_standstill_last", &pvars.standstill_last,
        "Seconds that the library took for the last adaptation: in the probe that returned TRUE, "
        "begin and commit");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_DOUBLE, "adapt_standstill_max", &pvars.standstill_max,
        "The longest standstill so far, in seconds");
    add(MPI_T_PVAR_CLASS_AGGREGATE, MPI_DOUBLE, "adapt_standstill_total", &pvars.standstill_total,
        "Seconds of standstill of all adaptations");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_DOUBLE, "adapt_joining_wait", &pvars.joining_wait,
        "Seconds that this process, when it joined, waited in begin for the others");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED, "progress_yield", &MPIDU_oversubscribed,
        "1 while a waiting process yields its core (MPIR_CVAR_PROGRESS_YIELD), else 0");
    add(MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED, "shm_lanes", channels,
        "Processes that were started separately with which this process uses shared memory");
    add(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, "shm_lane_messages", channel_messages,
        "Messages, or parts of long ones, sent to these through shared memory");
    add(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, "session_meetings", rendezvous,
        "Queries to mpiexec before a communicator of processes that were started separately");
    MPIR_Measure_register_pvars();
}
