/*
 * The abort of a process.  The output in its pipes is sent to mpiexec before the abort, which ends
 * mpiexec.
 */

#include "pmip.h"
#include "pmip_adapt.h"
#include "pmi_line.h"
#include "reports.h"
#include "tasks.h"
#include <poll.h>

static HYD_status send_frame(struct HYD_pmcd_hdr *hdr, const char *bytes, int count)
{
    int sent, closed;
    HYD_status status = HYD_SUCCESS;

    hdr->buflen = count;
    status =
        HYDU_sock_write(HYD_pmcd_pmip.upstream.control, hdr, sizeof(*hdr), &sent, &closed,
                        HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");
    status =
        HYDU_sock_write(HYD_pmcd_pmip.upstream.control, bytes, count, &sent, &closed,
                        HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Sends the present content of the pipe of a process' output. */
static HYD_status send_waiting(int process, int fd, enum HYD_pmcd_cmd cmd)
{
    struct pollfd there = {.fd = fd,.events = POLLIN };
    char buf[HYD_TMPBUF_SIZE];
    struct HYD_pmcd_hdr hdr;
    HYD_status status = HYD_SUCCESS;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = cmd;
    hdr.pgid = HYD_pmcd_pmip.local.pgid;
    hdr.proxy_id = HYD_pmcd_pmip.local.id;
    hdr.rank = HYD_pmcd_pmip.downstream.pmi_rank[process];
    if (fd < 0 || poll(&there, 1, 0) != 1 || !(there.revents & POLLIN))
        goto fn_exit;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0) {
        status = send_frame(&hdr, buf, (int) n);
        HYD_pmcd_pmip_adapt_output((int) n);
    }

  fn_exit:
    return status;
}

HYD_status HYD_pmcd_pmip_adapt_fn_abort(int fd, char *args[])
{
    const struct HYD_pmcd_pmip_s *p = &HYD_pmcd_pmip;
    const char *code = HYD_pmi_line_argument(args, "exitcode");
    char line[64];
    struct HYD_pmcd_hdr hdr;
    HYD_status status = HYD_SUCCESS;

    /* A process may have sent all at the same time: its initialisation, its last output, and the
     * abort. */
    status = HYD_reports_flush();
    HYDU_ERR_POP(status, "unable to send the reports\n");
    for (int i = 0; i < p->local.proxy_process_count; i++) {
        status = send_waiting(i, p->downstream.out[i], STDOUT);
        HYDU_ERR_POP(status, "unable to send the last output of a process\n");
        status = send_waiting(i, p->downstream.err[i], STDERR);
        HYDU_ERR_POP(status, "unable to send the last output of a process\n");
    }
    /* the process ends itself now, and its world ends because of it; other processes continue */
    if (HYD_tasks_are_world()) {
        status = HYD_tasks_answer_abort(fd);
        goto fn_exit;
    }
    HYD_pmcd_init_header(&hdr);
    hdr.cmd = PMI_CMD;
    hdr.pid = fd;
    hdr.pmi_version = 1;
    MPL_snprintf(line, sizeof(line), "cmd=abort exitcode=%s\n", code ? code : "1");
    status = send_frame(&hdr, line, (int) strlen(line));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
