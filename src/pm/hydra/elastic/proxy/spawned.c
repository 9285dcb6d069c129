/* See spawned.h. */

#include "spawned.h"
#include "pmip.h"
#include <fcntl.h>

extern int HYDU_child_error_fd;        /* launch.c */

static int reader = -1;         /* of what processes say that cannot be executed; closed by each execution */

HYD_status HYD_spawned_start(void)
{
    int ends[2];
    HYD_status status = HYD_SUCCESS;

    if (!HYD_pmcd_pmip.local.spawner_kvsname)
        goto fn_exit;
    if (pipe2(ends, O_CLOEXEC) < 0)
        HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "pipe error (%s)\n", MPL_strerror(errno));
    reader = ends[0];
    HYDU_child_error_fd = ends[1];

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_spawned_check(void)
{
    char text[1024];
    ssize_t n;
    int failed = 0;

    if (reader < 0)
        return;
    close(HYDU_child_error_fd);
    HYDU_child_error_fd = -1;
    while ((n = read(reader, text, sizeof(text) - 1)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        text[n] = '\0';
        HYDU_dump_noprefix(stderr, "%s", text);
        failed = 1;
    }
    close(reader);
    reader = -1;
    if (!failed)
        return;
    HYD_pmcd_pmip_send_signal(SIGKILL);
    fflush(stderr);
    exit(0);
}
