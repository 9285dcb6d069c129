/*
 * The part of the proxy that its files for PMI commands use, for pmi_lines_fuzz.cpp, which defines
 * the object.
 */

#ifndef PMIP_H_INCLUDED
#define PMIP_H_INCLUDED

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include "hydra.h"

#define HYD_TMPBUF_SIZE 65536
#define HYD_FD_CLOSED (-2)

struct HYD_pmcd_pmip_s {
    struct {
        int control;
    } upstream;
    struct {
        int *pmi_rank, *pmi_fd, *pmi_fd_active;
    } downstream;
    struct {
        int proxy_process_count;
    } local;
};
extern struct HYD_pmcd_pmip_s HYD_pmcd_pmip;

#endif
