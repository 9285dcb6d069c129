/* See performance.h. */

#include "state.h"
#include <fcntl.h>
#include "core.h"
#include "options.h"
#include "performance.h"

#define CLIENT (-2)             /* a client id of the core; ids of the socket are not negative */
#define INTERVAL_DEFAULT_MS 10000
#define INTERVAL_MIN_MS 1000
#define INTERVAL_MAX_MS (3600 * 1000)

static int fd = -1;
static int64_t interval_ms, next_ms = -1;

void HYD_step_performance_open(void)
{
    const char *name = HYD_step_options.performance;

    if (!name)
        return;
    interval_ms = HYD_core_env_ms("MPIEXEC_ADAPT_SAMPLE", INTERVAL_DEFAULT_MS);
    if (interval_ms < INTERVAL_MIN_MS || interval_ms > INTERVAL_MAX_MS)
        HYD_step_option_error("MPIEXEC_ADAPT_SAMPLE", "must be a time from 1s to 3600s");
    /* a pipe without a reader loses lines, but does not block */
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        char error[HYDRA_MAX_PATH];
        MPL_snprintf(error, sizeof(error), "unable to open %s (%s)", name, MPL_strerror(errno));
        HYD_step_option_error("--adapt-performance", error);
    }
    next_ms = HYD_step_now_ms() + interval_ms;
}

void HYD_step_performance_close(void)
{
    if (fd >= 0)
        close(fd);
    fd = -1;
    next_ms = -1;
}

int64_t HYD_step_performance_next(void)
{
    return next_ms;
}

void HYD_step_performance_time(int64_t now_ms)
{
    char line[128];

    if (next_ms < 0 || next_ms > now_ms)
        return;
    next_ms = now_ms + interval_ms;
    MPL_snprintf(line, sizeof(line), "{\"op\":\"performance\",\"interval_ms\":%lld}",
                 (long long) interval_ms);
    HYD_core_client_line(CLIENT, line);
}

static int64_t unix_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int HYD_step_performance_answer(int client, const char *line)
{
    if (client != CLIENT)
        return 0;
    if (fd < 0)
        return 1;
    size_t bytes = strlen(line) + 64;
    char *text = MPL_malloc(bytes, MPL_MEM_PM);
    if (!text)
        return 1;
    /* the answer is an object, and not empty */
    int length =
        MPL_snprintf(text, bytes, "{\"unix_ms\":%lld,%s\n", (long long) unix_ms(), line + 1);
    ssize_t n = write(fd, text, (size_t) length);
    if (n != length && !(n < 0 && errno == EAGAIN)) {
        fprintf(stderr,
                "mpiexec: --adapt-performance: unable to write (%s); the samples end here\n",
                n < 0 ? MPL_strerror(errno) : "no space left");
        HYD_step_performance_close();
    }
    MPL_free(text);
    return 1;
}
