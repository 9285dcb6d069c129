/*
 * Processor time of this thread, in seconds: the machine may be busy with other things.
 */

#ifndef ELASTIC_RM_BASE_PROCESSOR_TIME_H_INCLUDED
#define ELASTIC_RM_BASE_PROCESSOR_TIME_H_INCLUDED

#include <ctime>

namespace elastic::rm {

inline double processor_seconds()
{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BASE_PROCESSOR_TIME_H_INCLUDED */
