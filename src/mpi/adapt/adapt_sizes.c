/*
 * MPIX_Adapt_sizes: the sizes that the program can use.  The calling process checks the rule and
 * sends it to mpiexec, which refuses other sizes and notifies elasticd; nothing is stored.  Rank 0
 * of the world sends it for all processes.
 */

#include "adapt.h"
#include "pmi_adapt_sizes.h"

/* A joining process has no rule before its commit: the job's rule is valid. */
static int speaks_for_all(void)
{
    return MPIR_Board.control && MPIR_Adapt.state != MPIR_ADAPT_STATE__LEFT &&
        MPIR_Adapt.epoch >= MPIR_Board.join_epoch && MPIR_Process.rank == 0;
}

int MPIR_Adapt_sizes_impl(const char *rule)
{
    int mpi_errno = MPI_SUCCESS;
    char squeezed[PMI_ADAPT_SIZES_MAX + 1];
    struct pmi_adapt_sizes read;
    const char *wrong = "it is too long";
    size_t at = 0;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER,
                        "**adaptrigid");
    int bad = !pmi_adapt_sizes_squeeze(rule, squeezed) ||
        pmi_adapt_sizes_read(&read, squeezed, &wrong, &at) != 0;
    MPIR_ERR_CHKANDJUMP3(bad, mpi_errno, MPI_ERR_ARG, "**adaptsizes", "**adaptsizes %s %d %s",
                         rule, (int) at + 1, wrong);
    if (speaks_for_all()) {
        mpi_errno = MPIR_Board_notify_proxy("cmd=adapt_sizes rule=%s", squeezed);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Appends "4," or "4-7,"; 0 if there is no space. */
static int append_range(char text[PMI_ADAPT_SIZES_MAX + 2], size_t * length, int first, int last)
{
    size_t capacity = PMI_ADAPT_SIZES_MAX + 2 - *length;
    int n = first == last ? snprintf(text + *length, capacity, "%d,", first) :
        snprintf(text + *length, capacity, "%d-%d,", first, last);

    *length += (size_t) n;
    return (size_t) n < capacity;
}

/* The function may call MPI, so the lock must be free. */
static int is_allowed(MPIX_Adapt_sizes_function * allowed, int size, void *extra_state)
{
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    int answer = allowed(size, extra_state);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return answer;
}

int MPIR_Adapt_sizes_callback_impl(MPIX_Adapt_sizes_function * allowed, void *extra_state,
                                   int largest)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_ADAPT_SIZES_MAX + 2];
    size_t length = 0;
    int fits = 1, first = 0;

    MPIR_ERR_CHKANDJUMP1(largest < 1 || largest > PMI_ADAPT_SIZE_LARGEST, mpi_errno, MPI_ERR_ARG,
                         "**adaptlargest", "**adaptlargest %d", largest);
    text[0] = '\0';
    for (int size = 1; fits && size <= largest + 1; size++) {
        int yes = size <= largest && is_allowed(allowed, size, extra_state);
        if (yes && !first)
            first = size;
        if (!yes && first) {
            fits = append_range(text, &length, first, size - 1);
            first = 0;
        }
    }
    MPIR_ERR_CHKANDJUMP1(!fits, mpi_errno, MPI_ERR_ARG, "**adaptsizeslist", "**adaptsizeslist %d",
                         largest);
    MPIR_ERR_CHKANDJUMP1(length == 0, mpi_errno, MPI_ERR_ARG, "**adaptsizesnone",
                         "**adaptsizesnone %d", largest);
    text[length - 1] = '\0';    /* the last comma */
    mpi_errno = MPIR_Adapt_sizes_impl(text);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
