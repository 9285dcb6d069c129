/*
 * Loops of processes of several proxies, merged on their way up the tree (upward.h): one set for
 * each process group and sample, because processes are numbered within their group
 * (wire/loop_set.h).  SPEC-performance N6, J1.
 */

#ifndef PROXY_GATHERED_LOOPS_H_INCLUDED
#define PROXY_GATHERED_LOOPS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "wire/tree.h"

/* Adds a set, as bytes. 0: the bytes are invalid, or there is no memory; then nothing was added. */
int HYD_gathered_loops_add(uint32_t group, uint32_t sample, const void *bytes, size_t n);
/* Bytes of all sets as entries of wire/tree.h, 0: there are no sets. */
size_t HYD_gathered_loops_bytes(void);
/* Writes the entries, which are reports of this proxy, numbered from *reports + 1 on, and clears
 * the sets. */
void HYD_gathered_loops_write(char *bytes, struct HYD_relay_origin origin, uint32_t * reports);

#endif /* PROXY_GATHERED_LOOPS_H_INCLUDED */
