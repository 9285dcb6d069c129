/*
 * The first messages of a proxy and mpiexec on a control connection over the network: the proxy's
 * proxy id (stock), its half of the job's secret, and mpiexec's half.  A proxy that inherited its
 * connection need not authenticate.  Runs before all other work of the proxy, so it may block.
 */

#include "pmip.h"
#include "pmip_adapt.h"
#include "wire/job_secret.h"

static int lacks_secret = 0;    /* it should have one: HYD_secret_take has reported the reason */

static int is_inherited(void)
{
    const char *fd;

    return MPL_env2str("HYDI_CONTROL_FD", &fd);
}

HYD_status HYD_pmcd_pmip_secret_param(char *arg, char ***argv)
{
    lacks_secret = !is_inherited() && HYD_secret_take(**argv) != HYD_SUCCESS;
    (*argv)++;
    return HYD_SUCCESS;
}

HYD_status HYD_pmcd_pmip_handshake(void)
{
    int control = HYD_pmcd_pmip.upstream.control, count, closed;
    unsigned char answer[HYD_SECRET_HALF_BYTES];
    HYD_status status = HYD_SUCCESS;

    if (is_inherited() || (!HYD_secret_is_set() && !lacks_secret))
        goto fn_exit;
    /* Without a secret all bytes are 0, so that mpiexec does not wait for this proxy. */
    status =
        HYDU_sock_write(control, HYD_secret_half(HYD_SECRET_OF_PROXY), HYD_SECRET_HALF_BYTES,
                        &count, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send the job's secret to mpiexec\n");
    if (!closed) {
        status =
            HYDU_sock_read(control, answer, sizeof(answer), &count, &closed,
                           HYDU_SOCK_COMM_MSGWAIT);
        HYDU_ERR_POP(status, "unable to read the reply of mpiexec\n");
    }
    HYDU_ERR_CHKANDJUMP(status, lacks_secret, HYD_INTERNAL_ERROR,
                        "mpiexec accepts no proxy without the job's secret\n");
    HYDU_ERR_CHKANDJUMP(status, closed, HYD_INTERNAL_ERROR,
                        "mpiexec at %s:%d has not accepted this proxy: it has ended, has stopped "
                        "waiting for it, or belongs to another job\n",
                        HYD_pmcd_pmip.upstream.server_name, HYD_pmcd_pmip.upstream.server_port);
    HYDU_ERR_CHKANDJUMP(status, !HYD_secret_matches(HYD_SECRET_OF_MPIEXEC, answer),
                        HYD_INTERNAL_ERROR,
                        "the program that listens at %s:%d is not this job's mpiexec\n",
                        HYD_pmcd_pmip.upstream.server_name, HYD_pmcd_pmip.upstream.server_port);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
