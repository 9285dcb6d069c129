/*
 * The secret that authenticates mpiexec and the proxies that connect to it over the network.  A
 * process with the secret can become a proxy and get the job's environment, so the secret is never
 * on a command line or in an environment. mpiexec makes one for the job; the launcher (ssh, srun,
 * ...) passes it to the proxy's standard input, in one line.  With launchers that have no standard
 * input, proxies read it from a file that the user has put on all hosts, MPIEXEC_SECRET_FILE, or
 * run without a secret (HYD_secret_source).  A proxy that inherits its connection needs no secret.
 *
 * The proxy sends one half after its proxy id. mpiexec sends the other half before all other data,
 * and the proxy accepts no command before it has checked it.
 *
 * In libhydra, because the launchers are.  State: the secret, set once.  No function blocks, except
 * a proxy that waits for its launcher.
 */

#ifndef JOB_SECRET_H_INCLUDED
#define JOB_SECRET_H_INCLUDED

#include "hydra.h"

#define HYD_SECRET_HALF_BYTES 16

enum HYD_secret_half {
    HYD_SECRET_OF_PROXY,
    HYD_SECRET_OF_MPIEXEC
};

/* mpiexec: makes the job's secret, or reads the user's file.  Called before anything is
 * launched. */
HYD_status HYD_secret_make(const char *launcher);
/* For the proxies' command line, --secret: "stdin", "none" or the name of the file. */
const char *HYD_secret_source(void);
/* Writes the secret to the standard input of a launcher, and closes the descriptor. */
void HYD_secret_give(int stdin_fd);

/* Proxy: reads the secret from the source of --secret. */
HYD_status HYD_secret_take(const char *source);

/* Whether there is a secret.  If not, no authentication is required. */
int HYD_secret_is_set(void);
const unsigned char *HYD_secret_half(enum HYD_secret_half half);
int HYD_secret_matches(enum HYD_secret_half half, const unsigned char *bytes);

#endif /* JOB_SECRET_H_INCLUDED */
