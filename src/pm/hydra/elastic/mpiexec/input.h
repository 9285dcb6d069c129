/*
 * Standard input goes to the present rank 0 of the world, and output is labelled with ranks of the
 * world. mpiexec reads it no faster than rank 0 does: at most INPUT_MESSAGES messages of it are in
 * transit.
 */

#ifndef MPIEXEC_INPUT_H_INCLUDED
#define MPIEXEC_INPUT_H_INCLUDED

#include <stddef.h>
#include "hydra.h"

struct HYD_pmcd_hdr;
struct HYD_proxy;

#define HYD_INPUT_READERS "0 all none"  /* arguments of -s */

/* The proxy of the process that reads standard input, NULL: there is none. */
struct HYD_proxy *HYD_step_first_proxy(void);
/* Checks whether rank 0 is another process now.  Called after each event of the core. */
void HYD_step_follow_first(void);
/* A proxy has connected; has ended. */
void HYD_step_input_up(const struct HYD_proxy *proxy);
void HYD_step_input_ended(const struct HYD_proxy *proxy);
/* Whether -s all was given. */
int HYD_step_input_is_for_all(void);
/* HYD_ADAPT_INPUT_TAKEN of this proxy: more may be read. */
void HYD_step_input_taken(const struct HYD_proxy *proxy, const void *payload, size_t bytes);

/* ---- called by stock files ---- */

/* The rank that labels output of this process. */
int HYD_step_label(const struct HYD_proxy *proxy, int rank);
/* Standard input is readable: sets the proxy and the rank that get it; 0: drop it. */
int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr);
/* Sends input; no bytes: its end. */
HYD_status HYD_step_input_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr,
                               const char *bytes);
/* This proxy has connected: whether standard input is read from now on. */
int HYD_step_input_starts(const struct HYD_proxy *proxy);
/* Whether standard input may be read at all. */
HYD_status HYD_step_input_valid(int *valid);
/* The option -s. */
HYD_status HYD_step_input_fn(char *arg, char ***argv);
void HYD_step_input_help_fn(void);

#endif /* MPIEXEC_INPUT_H_INCLUDED */
