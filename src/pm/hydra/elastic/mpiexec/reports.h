/*
 * Messages of proxies to mpiexec (wire/kinds.h): mpiexec handles some of them itself, and passes
 * the rest to the core.
 */

#ifndef MPIEXEC_REPORTS_H_INCLUDED
#define MPIEXEC_REPORTS_H_INCLUDED

#include "hydra.h"

struct HYD_pmcd_hdr;

/* A message with command ADAPT has arrived from a proxy. */
HYD_status HYD_step_message(struct HYD_proxy *proxy, int fd, const struct HYD_pmcd_hdr *hdr);

#endif /* MPIEXEC_REPORTS_H_INCLUDED */
