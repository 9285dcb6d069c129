/*
 * Forwards a program's PMI commands about itself to mpiexec: sizes that it can use, messages that
 * it had not received at commit.  Decides and stores nothing; does not forward lines that are too
 * long or malformed.  See pmip_adapt.h for the contract and doc/developer/pmi.md for the lines.
 */

#include "pmip.h"
#include "pmip_adapt.h"
#include "messages/report_writers.h"
#include "pmi_adapt_sizes.h"
#include "pmi_line.h"
#include "reports.h"
#include "wire/kinds.h"

HYD_status HYD_pmcd_pmip_adapt_fn_sizes(int fd, char *args[])
{
    unsigned char payload[REPORT_SIZES_BYTES + PMI_ADAPT_SIZES_MAX];
    const char *rule = HYD_pmi_line_argument(args, "rule");
    int rank = HYD_pmi_line_rank(fd);

    if (rank < 0 || !rule || strlen(rule) > PMI_ADAPT_SIZES_MAX)
        return HYD_SUCCESS;
    size_t fixed = HYD_write_sizes(payload, (uint32_t) rank);
    memcpy(payload + fixed, rule, strlen(rule));
    return HYD_reports_send(REPORT_SIZES, 0, 0, payload, fixed + strlen(rule));
}

HYD_status HYD_pmcd_pmip_adapt_fn_unreceived(int fd, char *args[])
{
    unsigned char payload[REPORT_UNRECEIVED_BYTES + PMI_REPORT_COMMUNICATOR_MAX];
    const char *epoch = HYD_pmi_line_argument(args, "epoch");
    const char *count = HYD_pmi_line_argument(args, "count");
    const char *source = HYD_pmi_line_argument(args, "source");
    const char *tag = HYD_pmi_line_argument(args, "tag");
    const char *communicator = HYD_pmi_line_argument(args, "comm");
    int rank = HYD_pmi_line_rank(fd);

    if (rank < 0 || !epoch || !count || !source || !tag || !communicator ||
        strlen(communicator) > PMI_REPORT_COMMUNICATOR_MAX)
        return HYD_SUCCESS;
    size_t fixed =
        HYD_write_unreceived(payload, (uint32_t) rank, (uint32_t) strtoul(count, NULL, 10),
                             atoi(source), atoi(tag));
    memcpy(payload + fixed, communicator, strlen(communicator));
    return HYD_reports_send(REPORT_UNRECEIVED, (uint32_t) strtoul(epoch, NULL, 10), 0, payload,
                            fixed + strlen(communicator));
}
