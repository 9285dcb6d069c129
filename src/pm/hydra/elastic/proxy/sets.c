/* See sets.h.  What is malformed or too much in a process' lines is not passed on: it waits for itself then. */

#include "state.h"
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "agent.h"
#include "answers.h"
#include "exits.h"
#include "output.h"
#include "pmi_adapt_set.h"
#include "pmi_line.h"
#include "reports.h"
#include "sets.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/silence.h"

/* What REPORT_SET_CALL and STEP_SET_ANSWER begin with. */
struct head {
    uint32_t who;               /* rank in the group; uid */
    uint32_t id;
};

struct call {
    int process;
    uint32_t id;
    int passed_on, answered;
    int by_board;               /* the process looks for the answer on the board first */
    unsigned char *bytes;       /* a head and the call; its answer */
    size_t used;
    struct call *next;
};

static struct call *calls;

/* Where it is, or where one more would be. */
static struct call **place_of(int process, uint32_t id)
{
    struct call **place = &calls;

    while (*place && ((*place)->process != process || (*place)->id != id))
        place = &(*place)->next;
    return place;
}

static void drop(struct call **place)
{
    struct call *c = *place;

    *place = c->next;
    MPL_free(c->bytes);
    MPL_free(c);
}

static int count_of(int process)
{
    int n = 0;

    for (const struct call * c = calls; c; c = c->next)
        n += c->process == process;
    return n;
}

static HYD_status append(struct call *c, const char *hex)
{
    size_t more = strlen(hex) / 2;
    HYD_status status = HYD_SUCCESS;

    HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, c->used + more + 1, status);
    if (c->used + more > sizeof(struct head) + PMI_SET_CALL_MAX ||
        HYD_pmi_line_decode_hex(hex, c->bytes + c->used, more) < 0)
        c->used = 0;            /* for good */
    else
        c->used += more;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status new_call(struct call **place, int process, uint32_t id)
{
    struct head head = { (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process], id };
    struct call *c = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(c, struct call *, sizeof(*c), status);
    *c = (struct call) {.process = process,.id = id };
    *place = c;
    HYDU_MALLOC_OR_JUMP(c->bytes, unsigned char *, sizeof(head), status);
    memcpy(c->bytes, &head, sizeof(head));
    c->used = sizeof(head);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* 0: it is none. */
static uint64_t inode_of(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t) status.st_ino : 0;
}

int HYD_sets_connected(int process_id)
{
    uint64_t socket = HYD_agent.processes ? HYD_agent.processes[process_id].socket : 0;

    return socket && inode_of(HYD_pmcd_pmip.downstream.pmi_fd[process_id]) == socket;
}

/* What has come on a process' connection, as long as it is the one on which it made calls before. */
static int bytes_of(int fd, uint64_t socket)
{
    int bytes = 0;

    return socket && inode_of(fd) == socket && ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

/* What comes meanwhile is read in the event loop: a process, or a child that has its connection, may never be
 * silent; and so is what comes from one that does not read its answers. */
HYD_status HYD_sets_read(int process_id)
{
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];
    uint64_t socket = HYD_agent.processes ? HYD_agent.processes[process_id].socket : 0;
    HYD_status status = HYD_SUCCESS;

    for (int reads = bytes_of(fd, socket) / HYD_TMPBUF_SIZE + 1; reads > 0; reads--) {
        if (status != HYD_SUCCESS || HYD_answers_wait(fd) || bytes_of(fd, socket) == 0)
            break;
        HYD_loop_outdate();
        status = HYD_pmcd_pmip_adapt_read_pmi(fd);
    }
    return status;
}

/* Its number here, -1: it is not here. */
static int process_of(uint32_t uid)
{
    return uid < HYD_agent.join.first_uid ? -1 : HYD_agent_process_of_rank((int) (uid - HYD_agent.join.first_uid));
}

HYD_status HYD_sets_sync(uint32_t uid)
{
    int i = process_of(uid);

    return i < 0 ? HYD_SUCCESS : HYD_sets_read(i);
}

HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid)
{
    struct {
        uint64_t number;
        uint32_t comes;
    } answer = { number, 0 };
    int i = process_of(uid);

    answer.comes = i >= 0 && HYD_agent.board.fd >= 0 && HYD_board_makes(&HYD_agent.board, i, creation);
    return HYD_reports_send(REPORT_COMES, 0, 0, &answer, sizeof(answer.number) + sizeof(answer.comes));
}

/* ---- who has begun to use MPI (SR1) ------------------------------------------------------------------------ */

static int starts_matter;       /* to mpiexec */

static HYD_status tell_starts(uint64_t number)
{
    size_t bytes = sizeof(number);
    char *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(payload, char *, bytes + (size_t) HYD_agent_process_count() * sizeof(uint32_t), status);
    memcpy(payload, &number, sizeof(number));
    for (int i = 0; HYD_agent.processes && i < HYD_agent_process_count(); i++) {
        struct HYD_agent_process *p = &HYD_agent.processes[i];
        uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
        if (!p->begun || p->begin_told)
            continue;
        p->begin_told = 1;
        memcpy(payload + bytes, &rank, sizeof(rank));
        bytes += sizeof(rank);
    }
    if (number > 0 || bytes > sizeof(number))
        status = HYD_reports_send(REPORT_STARTED, 0, 0, payload, bytes);

  fn_exit:
    MPL_free(payload);
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_pmcd_pmip_adapt_began(int process_id)
{
    if (process_id < 0 || !HYD_agent.processes || HYD_agent.processes[process_id].begun)
        return;
    HYD_agent.processes[process_id].begun = 1;
    if (starts_matter)
        (void) tell_starts(0);  /* if mpiexec is lost, the main loop finds out */
}

/* A process that has told others that it is there has written to its connection before. */
HYD_status HYD_sets_starts(uint64_t number)
{
    for (int i = 0; HYD_agent.processes && i < HYD_agent_process_count(); i++) {
        int bytes = 0, fd = HYD_pmcd_pmip.downstream.pmi_fd[i];
        if (!HYD_agent.processes[i].begun && fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0)
            HYD_agent.processes[i].begun = 1;
    }
    starts_matter = 1;
    return tell_starts(number);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* One that is not answered has the number 0 further up. */
static HYD_status pass_on(struct call **place, int one_way)
{
    struct head *head = (struct head *) (*place)->bytes;

    (*place)->passed_on = 1;
    if (one_way)
        head->id = 0;
    HYD_status status = HYD_reports_send(REPORT_SET_CALL, 0, 0, (*place)->bytes, (*place)->used);
    if (one_way)
        drop(place);
    return status;
}

/* A call comes in parts, each in a line: id=N more=0|1 [board=1|answer=0] call=HEX. */
HYD_status HYD_pmcd_pmip_adapt_fn_set_call(int fd, char *args[])
{
    const char *hex = HYD_pmi_line_argument(args, "call");
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), more = HYD_pmi_line_number(args, "more", UINT32_MAX);
    int i = HYD_agent.board.fd < 0 ? -1 : HYD_agent_process_of_fd(fd);
    struct call **place;
    HYD_status status = HYD_SUCCESS;

    if (i < 0 || id < 1 || !hex)
        goto fn_exit;
    place = place_of(i, (uint32_t) id);
    if (!*place && count_of(i) < PMI_SET_CALLS_MAX) {
        status = new_call(place, i, (uint32_t) id);
        HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    }
    if (!*place || (*place)->passed_on || (*place)->used == 0)
        goto fn_exit;
    HYD_agent.processes[i].socket = inode_of(fd);
    (*place)->by_board = HYD_pmi_line_number(args, "board", 1) == 1;
    status = append(*place, hex);
    HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    if (more < 1 && (*place)->used > 0)
        status = pass_on(place, HYD_pmi_line_number(args, "answer", 0) == 0);
    HYDU_ERR_POP(status, "unable to pass on a call on process sets\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_fn_set_fetch(int fd, char *args[])
{
    char line[2 * PMI_SET_PART_MAX + 128];
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), from = HYD_pmi_line_number(args, "at", UINT32_MAX);
    int i = HYD_agent.board.fd < 0 ? -1 : HYD_agent_process_of_fd(fd);
    struct call **place = place_of(i, id < 1 ? 0 : (uint32_t) id);
    size_t at = from < 0 ? 0 : (size_t) from;

    if (!*place || !(*place)->answered || at > (*place)->used) {
        static const char nothing[] = "cmd=adapt_set_part bytes=0 data=\n";
        return HYD_answer(fd, nothing, strlen(nothing));
    }
    const struct call *c = *place;
    size_t n = c->used - at < PMI_SET_PART_MAX ? c->used - at : PMI_SET_PART_MAX;
    int length = MPL_snprintf(line, sizeof(line), "cmd=adapt_set_part bytes=%zu data=", c->used);
    for (size_t k = 0; k < n; k++)
        length += MPL_snprintf(line + length, sizeof(line) - length, "%02x", c->bytes[at + k]);
    MPL_snprintf(line + length, sizeof(line) - length, "\n");
    if (at + n == c->used)
        drop(place);
    return HYD_answer(fd, line, strlen(line));
}

/* As the first adaptive process: a daemon with ends to report must not wait for mpiexec. */
HYD_status HYD_sets_used(void)
{
    HYD_status status = HYD_pmcd_pmip_adapt_channel();

    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    HYD_silence_watch(HYD_pmcd_pmip.upstream.control);
    status = HYD_reports_send(HYD_ADAPT_COUNTS_OUTPUT, 0, 0, NULL, 0);
    HYDU_ERR_POP(status, "unable to tell mpiexec that output is counted\n");
    HYD_pmcd_pmip_adapt_count_output();
    status = HYD_exits_watch();
    HYDU_ERR_POP(status, "unable to watch the processes\n");
    HYD_exits_report_earlier();
    status = HYD_sets_starts(0);
    HYDU_ERR_POP(status, "unable to tell mpiexec which processes have begun\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_sets_answered(const char *payload, size_t bytes)
{
    struct head head;
    struct call *c;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes <= sizeof(head), HYD_INTERNAL_ERROR,
                        "the answer to a call on process sets has a wrong length\n");
    memcpy(&head, payload, sizeof(head));
    int i = head.who < HYD_agent.join.first_uid ? -1 :
        HYD_agent_process_of_rank((int) (head.who - HYD_agent.join.first_uid));
    c = i < 0 ? NULL : *place_of(i, head.id);
    if (!c || !c->passed_on || c->answered)
        goto fn_exit;           /* it has ended meanwhile */
    if (c->by_board &&
        HYD_board_answer(&HYD_agent.board, i, head.id, payload + sizeof(head), bytes - sizeof(head))) {
        drop(place_of(i, head.id));
    } else {
        HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, bytes - sizeof(head), status);
        memcpy(c->bytes, payload + sizeof(head), bytes - sizeof(head));
        c->used = bytes - sizeof(head);
        c->answered = 1;
    }
    HYD_board_answered(&HYD_agent.board, i);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_sets_ended(int process_id)
{
    for (struct call ** place = &calls; *place;) {
        if ((*place)->process == process_id)
            drop(place);
        else
            place = &(*place)->next;
    }
}
