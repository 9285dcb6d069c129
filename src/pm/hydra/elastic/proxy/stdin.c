/* See stdin.h. */

#include "state.h"
#include "agent.h"
#include "stdin.h"

static int reader = -1;         /* process whose stdin_fd is downstream.in */

int *HYD_pmcd_pmip_adapt_stdin(int process_id, int *otherwise)
{
    return HYD_agent.processes ? &HYD_agent.processes[process_id].stdin_fd : otherwise;
}

/* Rank 0's is where stock keeps it. */
void HYD_stdin_started(void)
{
    reader = HYD_agent_process_of_rank(0);
    if (reader >= 0)
        HYD_agent.processes[reader].stdin_fd = HYD_pmcd_pmip.downstream.in;
}

/* Stock closes downstream.in at the end of the input: then the reader has none either. */
static void note_closed(void)
{
    if (reader >= 0 && HYD_pmcd_pmip.downstream.in == HYD_FD_CLOSED)
        HYD_agent.processes[reader].stdin_fd = HYD_FD_CLOSED;
}

void HYD_pmcd_pmip_adapt_stdin_to(int rank)
{
    int i = HYD_agent.processes && rank >= 0 ? HYD_agent_process_of_rank(rank) : -1;

    if (i < 0 || i == reader)
        return;
    note_closed();
    reader = i;
    int fd = HYD_agent.processes[i].stdin_fd;
    if (fd >= 0 && HYDU_sock_set_nonblock(fd) == HYD_SUCCESS)
        HYD_pmcd_pmip.downstream.in = fd;
    else
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
}

/* Its reader has closed it, or has ended and nobody has told us yet. */
HYD_status HYD_pmcd_pmip_adapt_stdin_write(const char *bytes, int n, int *sent, int *closed)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN };
    struct sigaction before;

    sigaction(SIGPIPE, &ignored, &before);
    ssize_t written = write(HYD_pmcd_pmip.downstream.in, bytes, (size_t) n);
    int error = written < 0 ? errno : 0;
    sigaction(SIGPIPE, &before, NULL);
    *sent = written > 0 ? (int) written : 0;
    *closed = 0;
    if (error == EPIPE) {
        close(HYD_pmcd_pmip.downstream.in);
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
        *sent = n;
    }
    return error == 0 || error == EPIPE || error == EAGAIN ? HYD_SUCCESS : HYD_SOCK_ERROR;
}

void HYD_stdin_ended(int process_id)
{
    struct HYD_agent_process *p = &HYD_agent.processes[process_id];

    note_closed();
    if (p->stdin_fd >= 0)
        close(p->stdin_fd);
    p->stdin_fd = HYD_FD_CLOSED;
    if (process_id == reader)
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;    /* writing there would be SIGPIPE */
}
