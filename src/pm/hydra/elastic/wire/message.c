/* See message.h. */

#include "hydra.h"
#include "common.h"
#include "message.h"


void HYD_adapt_fill_heads(struct HYD_adapt_heads *heads, struct HYD_adapt_message message,
                          uint64_t bytes)
{
    memset(heads, 0, sizeof(*heads));
    HYD_pmcd_init_header(&heads->hdr);
    heads->hdr.cmd = ADAPT;
    heads->hdr.buflen = (int) (sizeof(message) + bytes);
    heads->message = message;
    heads->message.bytes = bytes;
}

/* The body after each header that a side may send. */
enum body { NOTHING, PROCESS_INTS, BUFFER, BUFFER_OR_NOTHING };
struct frame {
    enum HYD_pmcd_cmd cmd;
    enum body body;
};

static const struct frame from_proxy[] = {
    {PID_LIST, PROCESS_INTS},
    {EXIT_STATUS, PROCESS_INTS},
    {PMI_CMD, BUFFER},
    {STDOUT, BUFFER},
    {STDERR, BUFFER},
    {ADAPT, BUFFER},
    {PROCESS_TERMINATED, NOTHING},
};

static const struct frame from_mpiexec[] = {
    {PMI_RESPONSE, BUFFER_OR_NOTHING},
    {ADAPT, BUFFER_OR_NOTHING},
    {STDIN, BUFFER_OR_NOTHING},
    {SIGNAL, NOTHING},
};

static size_t frame_bytes(const struct frame *frames, size_t n, const void *head, int processes)
{
    struct HYD_pmcd_hdr hdr;
    size_t i;

    memcpy(&hdr, head, sizeof(hdr));
    for (i = 0; i < n && frames[i].cmd != hdr.cmd; i++);
    if (i == n)
        return 0;
    switch (frames[i].body) {
        case NOTHING:
            return sizeof(hdr);
        case PROCESS_INTS:
            return sizeof(hdr) + (size_t) processes * sizeof(int);
        case BUFFER:
        case BUFFER_OR_NOTHING:
            if (hdr.buflen < (frames[i].body == BUFFER) || hdr.buflen > HYD_ADAPT_BODY_MAX)
                return 0;
            return sizeof(hdr) + (size_t) hdr.buflen;
    }
    return 0;
}

size_t HYD_adapt_frame_from_proxy(const void *hdr, int processes)
{
    return frame_bytes(from_proxy, sizeof(from_proxy) / sizeof(*from_proxy), hdr, processes);
}

size_t HYD_adapt_frame_from_mpiexec(const void *hdr)
{
    return frame_bytes(from_mpiexec, sizeof(from_mpiexec) / sizeof(*from_mpiexec), hdr, 0);
}
