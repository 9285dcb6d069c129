/* See sessions.h. */

#include <fcntl.h>
#include <unistd.h>
#include "wire/children.h"
#include "sessions.h"

static int has_autogroups(void)
{
    int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    char text = '0';

    if (fd < 0)
        return 0;
    if (read(fd, &text, 1) != 1)
        text = '0';
    close(fd);
    return text == '1';
}

void HYD_share_session(void)
{
    HYD_child_session = !has_autogroups();
}

void HYD_follow_session(void)
{
    if (getpgrp() == getpid() && getsid(0) != getpid())
        HYD_share_session();
}
