/*
 * The numbers of processes that a program can use, for the component that decides
 * (stepmgr/requests/size_hints.cpp). SR10.
 */

#include "session.h"

/* *notified NULL: no component decides. */
int MPIR_Session_add_scheduling_hints_impl(MPIR_Session * session, MPIR_Info * hints,
                                           MPIR_Info ** result)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };

    *result = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIR_Session_has_proxy())
        goto fn_exit;
    MPIR_Session_write_set_hints(&call, hints);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_note_dynamic();
    if (MPIR_Session_answer_number(&answer) == 0)
        goto fn_exit;
    mpi_errno = MPIR_Session_read_data(&answer, result);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
