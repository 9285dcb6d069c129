/*
 * See dynproc_names.h: names of servers in jobs of elasticd.  They go the way of MPI_Publish_name, by the process
 * manager, which queries elasticd; so they lead from each job of the user to each other, on whatever host.  DN1.
 *
 * The registered value is the server's address and a secret of its own, which only jobs of the same user receive.  A
 * name that is reserved leads to the number of its job.  No state.
 */

#include "dynproc_names.h"
#include "namepub.h"

#define PREFIX "server:"        /* MPI_Publish_name has names of its own */
#define RESERVED "reserved:"

bool MPIR_Dynproc_has_name_service(void)
{
    return getenv("ELASTICD_SOCKET") && getenv("ELASTIC_JOB_ID") && getenv("ELASTIC_STEP_REGISTER") &&
        (getenv("PMI_FD") || getenv("PMI_PORT"));
}

/* The process manager's lines have no blanks in values. */
static void write_name(const char *name, char text[sizeof(PREFIX) + 3 * MPIR_DYNPROC_NAME])
{
    int used = sprintf(text, PREFIX);

    for (; *name; name++)
        used += sprintf(text + used, isalnum((unsigned char) *name) || strchr("-_.:/", *name) ? "%c" : "%%%02X",
                        (unsigned char) *name);
}

static void write_reservation(char text[64])
{
    snprintf(text, 64, RESERVED "%.40s", getenv("ELASTIC_JOB_ID"));
}

static bool is_ours(const char *text)
{
    char ours[64];

    write_reservation(ours);
    return !strcmp(text, ours);
}

bool MPIR_Dynproc_lookup(const char *name, char *text)
{
    char written[sizeof(PREFIX) + 3 * MPIR_DYNPROC_NAME];

    write_name(name, written);
    return MPID_NS_Lookup(NULL, NULL, written, text) == MPI_SUCCESS;
}

void MPIR_Dynproc_withdraw(const char *name)
{
    char written[sizeof(PREFIX) + 3 * MPIR_DYNPROC_NAME];

    write_name(name, written);
    (void) MPID_NS_Unpublish(NULL, NULL, written);
}

/* Instead of a reservation of this job. */
bool MPIR_Dynproc_publish(const char *name, const char *text)
{
    char written[sizeof(PREFIX) + 3 * MPIR_DYNPROC_NAME];

    write_name(name, written);
    MPIR_Dynproc_end_reservation(name);
    return MPID_NS_Publish(NULL, NULL, written, text) == MPI_SUCCESS;
}

bool MPIR_Dynproc_reserve(const char *name)
{
    char text[64];

    write_reservation(text);
    return MPIR_Dynproc_publish(name, text);
}

void MPIR_Dynproc_end_reservation(const char *name)
{
    char known[MPI_MAX_PORT_NAME];

    if (MPIR_Dynproc_lookup(name, known) && is_ours(known))
        MPIR_Dynproc_withdraw(name);
}
