/* See committed.h. */

#include "pmip.h"
#include <sys/timerfd.h>
#include "demux.h"
#include "committed.h"
#include "upward.h"
#include "wire/kinds.h"

#define LOOK_FIRST_MS 1
#define LOOK_MOST_MS 4

static struct {
    const struct HYD_board *board;
    uint32_t epoch;             /* 0: no window */
    int timer;
    long wait_ms;
} window = {.timer = -1 };

static int look_again(void)
{
    const struct itimerspec once = {.it_value = {.tv_nsec = window.wait_ms * 1000000} };

    window.wait_ms = 2 * window.wait_ms < LOOK_MOST_MS ? 2 * window.wait_ms : LOOK_MOST_MS;
    return timerfd_settime(window.timer, 0, &once, NULL);
}

static HYD_status stop_looking(void)
{
    HYD_status status = HYD_SUCCESS;

    window.epoch = 0;
    if (window.timer >= 0) {
        status = HYDT_dmx_deregister_fd(window.timer);
        close(window.timer);
        window.timer = -1;
    }
    return status;
}

static HYD_status timer_cb(int fd, HYD_event_t events, void *userp)
{
    uint64_t expired;
    HYD_status status = HYD_SUCCESS;

    if (read(fd, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
        HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "unable to read a timer (%s)\n",
                            MPL_strerror(errno));
    status = HYD_committed_look();
    HYDU_ERR_POP(status, "unable to tell that the processes have committed\n");
    HYDU_ERR_CHKANDJUMP(status, window.epoch && look_again() < 0, HYD_INTERNAL_ERROR,
                        "unable to set a timer (%s)\n", MPL_strerror(errno));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_committed_await(const struct HYD_board *board, uint32_t epoch)
{
    HYD_status status = HYD_SUCCESS;

    status = stop_looking();
    HYDU_ERR_POP(status, "unable to deregister a timer\n");
    window.board = board;
    window.epoch = epoch;
    window.wait_ms = LOOK_FIRST_MS;
    window.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    HYDU_ERR_CHKANDJUMP(status, window.timer < 0 || look_again() < 0, HYD_INTERNAL_ERROR,
                        "unable to set a timer (%s)\n", MPL_strerror(errno));
    status = HYDT_dmx_register_fd(1, &window.timer, HYD_POLLIN, NULL, timer_cb);
    HYDU_ERR_POP(status, "unable to register a timer\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_committed_look(void)
{
    uint32_t epoch = window.epoch;
    HYD_status status = HYD_SUCCESS;

    if (!epoch || !HYD_board_committed(window.board))
        goto fn_exit;
    status = stop_looking();
    HYDU_ERR_POP(status, "unable to deregister a timer\n");
    status = HYD_upward_report(REPORT_COMMITTED, epoch, NULL, 0);
    HYDU_ERR_POP(status, "unable to report the commit\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
