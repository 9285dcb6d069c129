/* See accept.h. */

#include "hydra.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include "accept.h"
#include "event_loop.h"

#define REST_MS 1000

static void report_once(const char *whose, int error)
{
    static int reported = 0;
    struct rlimit limit;

    if (reported)
        return;
    reported = 1;
    if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        HYDU_dump(stderr,
                  "no open file is left for a connection of %s: the limit is %llu (ulimit -n); "
                  "trying again every second\n", whose, (unsigned long long) limit.rlim_cur);
    } else
        HYDU_dump(stderr, "unable to accept a connection of %s (%s); trying again every second\n",
                  whose, MPL_strerror(error));
}

int HYD_accept(int listen_fd, const char *whose)
{
    const int on = 1;
    int fd;

    do
        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));      /* not for local ones */
    if (fd >= 0 || errno == EAGAIN || errno == ECONNABORTED)
        return fd;
    report_once(whose, errno);
    HYD_loop_rest(listen_fd, REST_MS);
    return -1;
}
