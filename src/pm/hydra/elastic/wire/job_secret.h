/*
 * The secret that authenticates mpiexec and the proxies that connect to it over the network.  A
 * process with the secret can become a proxy, and get the job's environment; so it is never on a
 * command line or in an environment.  mpiexec makes one for the job; the launcher (ssh, srun, ...)
 * carries it to the proxy's standard input, in one line.  Launchers without standard input read it
 * from a file that the user has put on all hosts, MPIEXEC_SECRET_FILE, or run without
 * (HYD_secret_source).  A proxy that inherits its connection needs none.
 *
 * The proxy sends one half, after its proxy id, and mpiexec the other one, before all other data: a
 * proxy accepts no command before it has checked that half.
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

/* mpiexec, before it launches anything: makes the job's secret, or reads the user's file. */
HYD_status HYD_secret_make(const char *launcher);
/* For the proxies' command line, --secret: "stdin", "none" or the name of the file. */
const char *HYD_secret_source(void);
/* Gives the secret to a launcher whose standard input this is the other end of, and closes it. */
void HYD_secret_give(int stdin_fd);

/* Proxy: reads the secret from the source of --secret. */
HYD_status HYD_secret_take(const char *source);

/* If not, nobody has to know one. */
int HYD_secret_is_set(void);
const unsigned char *HYD_secret_half(enum HYD_secret_half half);
int HYD_secret_matches(enum HYD_secret_half half, const unsigned char *bytes);

#endif /* JOB_SECRET_H_INCLUDED */
