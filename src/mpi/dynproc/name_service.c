/*
 * See dynproc_names.h: names of servers in jobs of elasticd.  They use the path of
 * MPI_Publish_name: the process manager, which queries elasticd.  So each job of the user finds the
 * names of the others, on any host.  DN1.
 *
 * The registered value is the server's address and a secret of its own, which only jobs of the same
 * user receive.  The value of a reserved name is the number of its job.  No state.
 */

#include "dynproc_names.h"
#include "mpid_dynproc.h"
#include "pmi_adapt_calls.h"

#define PREFIX "server:"        /* separates them from names of MPI_Publish_name */
#define RESERVED "reserved:"
#define WRITTEN (sizeof(PREFIX) + MPIR_DYNPROC_NAME)

bool MPIR_Dynproc_has_name_service(void)
{
    return getenv("ELASTICD_SOCKET") && getenv("ELASTIC_JOB_ID") && getenv("ELASTIC_STEP_REGISTER")
        && (getenv("PMI_FD") || getenv("PMI_PORT"));
}

static void write_reservation(char text[64])
{
    snprintf(text, 64, RESERVED "%.40s", getenv("ELASTIC_JOB_ID"));
}

bool MPIR_Dynproc_lookup(const char *name, char *text)
{
    char written[WRITTEN];

    snprintf(written, sizeof(written), PREFIX "%s", name);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPID_Dynproc_prepare_names();
    int failed = PMIU_Adapt_lookup_name(written, text, true);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return !failed;
}

enum MPIR_Dynproc_found MPIR_Dynproc_step_lookup(const void *owner, const char *name, char *text)
{
    char written[WRITTEN];

    snprintf(written, sizeof(written), PREFIX "%s", name);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int result = PMIU_Adapt_step_lookup(owner, written, text);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return result > 0 ? MPIR_DYNPROC_LOOKS : result == 0 ? MPIR_DYNPROC_FOUND : MPIR_DYNPROC_NOBODY;
}

void MPIR_Dynproc_forget_lookup(const void *owner)
{
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    PMIU_Adapt_forget_lookup(owner);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
}

/* Withdraws the name; with `text` only if this is its value. */
static void withdraw(const char *name, const char *text)
{
    char written[WRITTEN];

    snprintf(written, sizeof(written), PREFIX "%s", name);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    (void) PMIU_Adapt_withdraw_name(written, text);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
}

void MPIR_Dynproc_withdraw(const char *name)
{
    withdraw(name, NULL);
}

/* Replaces a reservation of this job. */
bool MPIR_Dynproc_publish(const char *name, const char *text)
{
    char written[WRITTEN];

    snprintf(written, sizeof(written), PREFIX "%s", name);
    MPIR_Dynproc_end_reservation(name);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPID_Dynproc_prepare_names();
    int failed = PMIU_Adapt_publish_name(written, text, true);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return !failed;
}

bool MPIR_Dynproc_reserve(const char *name)
{
    char text[64];

    write_reservation(text);
    return MPIR_Dynproc_publish(name, text);
}

void MPIR_Dynproc_end_reservation(const char *name)
{
    char text[64];

    write_reservation(text);
    withdraw(name, text);
}
