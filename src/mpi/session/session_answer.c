/*
 * Replies of the step manager to calls of session_call.c: how they are read, and the errors that
 * they stand for.  A reply that is too short for its data is an error.  SE1.
 */

#include "session.h"

int MPIR_Session_answer_error(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS;
    char text[512];

    MPIR_Session_answer_text(answer, text, sizeof(text) - 1);
    switch (answer->code) {
        case PMI_SET_FOREIGN:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_GROUP, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_MEMBER_ENDED:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_PROC_ABORTED, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_PENDING:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_PENDING, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_LOST:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_SPAWN, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_WINDOWS:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetcall", "**psetcall %s",
                          text);
            break;
        case PMI_TASK_NO_PLACE:
            MPIR_ERR_SET1(mpi_errno, MPIX_ERR_ALLOCATE, "**processallocate", "**processallocate %s",
                          text);
            break;
        case PMI_SET_FULL:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**psetcall", "**psetcall %s", text);
            break;
        default:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_ARG, "**psetcall", "**psetcall %s", text);
    }
    return mpi_errno;
}

static const unsigned char *take_answer_bytes(struct MPIR_Session_answer *answer, size_t n)
{
    answer->bad = answer->bad || n > answer->used - answer->at;
    if (answer->bad)
        return NULL;
    answer->at += n;
    return answer->bytes + answer->at - n;
}

uint32_t MPIR_Session_answer_number(struct MPIR_Session_answer *answer)
{
    uint32_t number = 0;
    const unsigned char *bytes = take_answer_bytes(answer, sizeof(number));

    if (bytes)
        memcpy(&number, bytes, sizeof(number));
    return number;
}

void MPIR_Session_answer_text(struct MPIR_Session_answer *answer, char *text, size_t max)
{
    size_t n = MPIR_Session_answer_number(answer);
    const unsigned char *bytes = take_answer_bytes(answer, n);

    n = bytes ? MPL_MIN(n, max) : 0;
    if (n)
        memcpy(text, bytes, n);
    text[n] = '\0';
}

void MPIR_Session_answer_free(struct MPIR_Session_answer *answer)
{
    MPL_free(answer->bytes);
    answer->bytes = NULL;
}
