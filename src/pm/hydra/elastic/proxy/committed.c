/* See committed.h. */

#include "pmip.h"
#include "committed.h"
#include "upward.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"

#define LOOK_FIRST_MS 1
#define LOOK_MOST_MS 4

static struct {
    const struct HYD_board *board;
    uint32_t epoch;             /* 0: no window */
    int64_t wait_ms;
} window;

static HYD_status poll_again(void)
{
    HYD_status status = HYD_committed_poll();

    window.wait_ms = 2 * window.wait_ms < LOOK_MOST_MS ? 2 * window.wait_ms : LOOK_MOST_MS;
    if (window.epoch)
        HYD_loop_call(poll_again, window.wait_ms);
    return status;
}

void HYD_committed_await(const struct HYD_board *board, uint32_t epoch)
{
    window.board = board;
    window.epoch = epoch;
    window.wait_ms = LOOK_FIRST_MS;
    HYD_loop_call(poll_again, window.wait_ms);
}

HYD_status HYD_committed_poll(void)
{
    uint32_t epoch = window.epoch;

    if (!epoch || !HYD_board_committed(window.board))
        return HYD_SUCCESS;
    window.epoch = 0;
    HYD_loop_call(poll_again, -1);
    return HYD_upward_report(REPORT_COMMITTED, epoch, NULL, 0);
}
