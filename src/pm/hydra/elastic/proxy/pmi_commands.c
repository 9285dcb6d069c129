/*
 * PMI commands of the processes about initialising, preparing and committing: they are forwarded to
 * mpiexec as REPORT_* messages.  Lines: doc/developer/pmi.md.  The program's commands about itself:
 * say.c.
 */

#include "state.h"
#include "pmip_adapt.h"
#include "committed.h"
#include "exits.h"
#include "messages/report_writers.h"
#include "output.h"
#include "pmi_line.h"
#include "reports.h"
#include "spawned.h"
#include "upward.h"
#include "wire/kinds.h"
#include "wire/keepalive.h"

#define CARD_BYTES_MAX 8192     /* addresses of one process */

/* number of adaptive processes that have sent this report */
static int initialised = 0, ready = 0;

/* Commands that each process sends once: they are sent to mpiexec together with the last one. */
static HYD_status report_of_each(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes,
                                 int is_reported)
{
    HYD_status status = HYD_reports_gather(kind, epoch, payload, bytes);

    return status == HYD_SUCCESS && is_reported >= HYD_proxy_process_count() ? HYD_reports_flush()
        : status;
}

HYD_status HYD_pmcd_pmip_adapt_fn_init(int fd, char *args[])
{
    unsigned char payload[REPORT_INIT_BYTES + CARD_BYTES_MAX];
    const char *mode = HYD_pmi_line_argument(args, "mode"),
               *hex = HYD_pmi_line_argument(args, "card");
    const char *namespace = HYD_pmi_line_argument(args, "pidns");
    uint32_t reported = REPORT_MODE_RIGID;
    int bytes = 0;
    HYD_status status = HYD_SUCCESS;

    int i = HYD_proxy_process_of_fd(fd);
    HYD_spawned_note_init(i, mode && !strcmp(mode, "begun"));
    if (HYD_proxy_state.board.fd < 0 || i < 0)
        goto fn_exit;
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
    if (mode && (!strcmp(mode, "adaptive") || !strcmp(mode, "modify"))) {
        bytes =
            HYD_pmi_line_decode_hex(hex ? hex : "", payload + REPORT_INIT_BYTES, CARD_BYTES_MAX);
        if (bytes < 0) {
            HYDU_dump(stderr, "rank %u sent a malformed address and is treated as rigid\n", rank);
            bytes = 0;
        } else
            reported = strcmp(mode, "modify") ? REPORT_MODE_ADAPTIVE : REPORT_MODE_MODIFY;
    }
    HYD_proxy_state.processes[i].adaptive = reported != REPORT_MODE_RIGID;
    if (reported != REPORT_MODE_RIGID) {
        HYD_keepalive_watch(HYD_pmcd_pmip.upstream.control);
        status = HYD_pmcd_pmip_adapt_channel();
        HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
        HYD_pmcd_pmip_adapt_hold_output();
        status = HYD_exits_watch();
        HYDU_ERR_POP(status, "unable to watch the processes\n");
    }
    size_t fixed =
        HYD_write_init(payload, rank, reported, namespace ? strtoull(namespace, NULL, 10) : 0);
    /* before the first adaptive process of a launch there may be no event loop that would send it
     * later */
    status = reported != REPORT_MODE_RIGID
                 ? report_of_each(REPORT_INIT, HYD_proxy_state.join.epoch, payload,
                                  fixed + (size_t) bytes, ++initialised)
                 : HYD_reports_send(REPORT_INIT, HYD_proxy_state.join.epoch, 0, payload, fixed);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_fn_ready(int fd, char *args[])
{
    unsigned char payload[REPORT_READY_BYTES];
    struct pmi_adapt_host host = { 0, 0, 0, 0, 0, 0 };
    const char *epoch = HYD_pmi_line_argument(args, "epoch"),
               *segment = HYD_pmi_line_argument(args, "segment");

    int i = HYD_proxy_process_of_fd(fd);
    if (HYD_proxy_state.board.fd < 0 || i < 0 || !epoch)
        return HYD_SUCCESS;
    if (segment) {
        unsigned long long bytes, device, inode, nonce;
        struct pmi_adapt_host named;
        if (sscanf(segment, "%" SCNu32 ":%" SCNu32 ":%llu:%llu:%llu:%llu", &named.segment_pid,
                   &named.segment_fd, &bytes, &device, &inode, &nonce) == 6) {
            named.segment_bytes = bytes;
            named.segment_device = device;
            named.segment_inode = inode;
            named.segment_nonce = nonce;
            host = named;
        }
    }
    HYD_write_ready(payload, (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i], &host);
    return report_of_each(REPORT_READY, (uint32_t) strtoul(epoch, NULL, 10), payload,
                          sizeof(payload), ++ready);
}

HYD_status HYD_pmcd_pmip_adapt_fn_unable(int fd, char *args[])
{
    const char *epoch = HYD_pmi_line_argument(args, "epoch"),
               *why = HYD_pmi_line_argument(args, "why");
    unsigned char payload[REPORT_UNABLE_BYTES + PMI_REPORT_UNABLE_MAX];

    int i = HYD_proxy_process_of_fd(fd);
    if (HYD_proxy_state.board.fd < 0 || i < 0 || !epoch)
        return HYD_SUCCESS;
    size_t fixed = HYD_write_unable(payload, (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i]);
    int bytes = HYD_pmi_line_decode_hex(why ? why : "", payload + fixed, PMI_REPORT_UNABLE_MAX);
    return HYD_reports_send(REPORT_UNABLE, (uint32_t) strtoul(epoch, NULL, 10), 0, payload,
                            fixed + (size_t) (bytes > 0 ? bytes : 0));
}

/* A command that the last process of a board sends for all. */
static HYD_status report_of_board(uint32_t kind, int fd, char *args[])
{
    const char *epoch = HYD_pmi_line_argument(args, "epoch");

    if (HYD_proxy_state.board.fd < 0 || HYD_proxy_process_of_fd(fd) < 0 || !epoch)
        return HYD_SUCCESS;
    return HYD_upward_report(kind, (uint32_t) strtoul(epoch, NULL, 10), NULL, 0);
}

HYD_status HYD_pmcd_pmip_adapt_fn_prepared(int fd, char *args[])
{
    return report_of_board(REPORT_PREPARED, fd, args);
}

HYD_status HYD_pmcd_pmip_adapt_fn_greeted(int fd, char *args[])
{
    return report_of_board(REPORT_GREETED, fd, args);
}

HYD_status HYD_pmcd_pmip_adapt_fn_committed(int fd, char *args[])
{
    const char *epoch = HYD_pmi_line_argument(args, "epoch");

    if (HYD_proxy_state.board.fd < 0 || HYD_proxy_process_of_fd(fd) < 0 || !epoch)
        return HYD_SUCCESS;
    HYD_board_count_committed(&HYD_proxy_state.board, (uint32_t) strtoul(epoch, NULL, 10));
    return HYD_committed_poll();
}
