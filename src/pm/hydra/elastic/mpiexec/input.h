/*
 * Standard input goes to the present rank 0 of the world, and output is labelled with ranks of the
 * world. Standard input is read no faster than rank 0 reads it: at most INPUT_MESSAGES of it are in
 * transit.
 */

#ifndef MPIEXEC_INPUT_H_INCLUDED
#define MPIEXEC_INPUT_H_INCLUDED

#include <stddef.h>
#include "hydra.h"

struct HYD_pmcd_hdr;
struct HYD_proxy;

#define HYD_INPUT_READERS "0 all none"  /* arguments of -s */

/* The proxy of who reads standard input, NULL: nobody. */
struct HYD_proxy *HYD_step_first_proxy(void);
/* Checks whether rank 0 is another process now; after each event of the core. */
void HYD_step_follow_first(void);
/* A proxy has connected; it ends. */
void HYD_step_input_up(const struct HYD_proxy *proxy);
void HYD_step_input_ended(const struct HYD_proxy *proxy);
/* Of -s all. */
int HYD_step_input_is_for_all(void);
/* HYD_ADAPT_INPUT_TAKEN of this proxy: more may be read. */
void HYD_step_input_taken(const struct HYD_proxy *proxy, const void *payload, size_t bytes);

/* ---- called by stock files ---- */

/* The rank that labels output of this process. */
int HYD_step_label(const struct HYD_proxy *proxy, int rank);
/* Standard input has something: sets the proxy and the rank that it goes to; 0: drop it.  Sends it;
 * without bytes, its end. */
int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr);
HYD_status HYD_step_input_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr,
                               const char *bytes);
/* This proxy has connected: whether standard input is read from now on; and whether it may be read
 * at all. */
int HYD_step_input_starts(const struct HYD_proxy *proxy);
HYD_status HYD_step_input_valid(int *valid);
/* The option -s. */
HYD_status HYD_step_input_fn(char *arg, char ***argv);
void HYD_step_input_help_fn(void);

#endif /* MPIEXEC_INPUT_H_INCLUDED */
