/*
 * A program's PMI commands about itself, passed on to mpiexec: the sizes that it can use, messages
 * that it had not received by commit.  Nothing is decided or stored here; what is too long or malformed is
 * not passed on.  See agent.h for the contract and doc/developer/pmi.md for the lines.
 */

#include "pmip.h"
#include "agent.h"
#include "pmi_adapt_sizes.h"
#include "pmi_line.h"
#include "reports.h"
#include "wire/kinds.h"

#define COMMUNICATOR_BYTES_MAX 64

HYD_status HYD_pmcd_pmip_adapt_fn_sizes(int fd, char *args[])
{
    unsigned char payload[sizeof(uint32_t) + PMI_ADAPT_SIZES_MAX];
    const char *rule = HYD_pmi_line_argument(args, "rule");
    int rank = HYD_pmi_line_rank(fd);

    if (rank < 0 || !rule || strlen(rule) > PMI_ADAPT_SIZES_MAX)
        return HYD_SUCCESS;
    memcpy(payload, &rank, sizeof(uint32_t));
    memcpy(payload + sizeof(uint32_t), rule, strlen(rule));
    return HYD_reports_send(REPORT_SIZES, 0, 0, payload, sizeof(uint32_t) + strlen(rule));
}

/* The payload of REPORT_UNRECEIVED. */
struct unreceived {
    uint32_t rank, count;
    int32_t source, tag;
    char communicator[COMMUNICATOR_BYTES_MAX];
};

HYD_status HYD_pmcd_pmip_adapt_fn_unreceived(int fd, char *args[])
{
    struct unreceived payload;
    const char *epoch = HYD_pmi_line_argument(args, "epoch");
    const char *count = HYD_pmi_line_argument(args, "count");
    const char *source = HYD_pmi_line_argument(args, "source");
    const char *tag = HYD_pmi_line_argument(args, "tag");
    const char *communicator = HYD_pmi_line_argument(args, "comm");
    int rank = HYD_pmi_line_rank(fd);

    if (rank < 0 || !epoch || !count || !source || !tag || !communicator ||
        strlen(communicator) > COMMUNICATOR_BYTES_MAX)
        return HYD_SUCCESS;
    payload.rank = (uint32_t) rank;
    payload.count = (uint32_t) strtoul(count, NULL, 10);
    payload.source = atoi(source);
    payload.tag = atoi(tag);
    memcpy(payload.communicator, communicator, strlen(communicator));
    return HYD_reports_send(REPORT_UNRECEIVED, (uint32_t) strtoul(epoch, NULL, 10), 0, &payload,
                            offsetof(struct unreceived, communicator) + strlen(communicator));
}
