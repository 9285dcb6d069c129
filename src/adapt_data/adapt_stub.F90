! What Fortran programs need of adaptations where MPI has none: with `use adapt_stub` beside `use
! mpi_f08` (or `use mpi`) one source serves every MPI.  With an MPI that has adaptations the module
! is empty.  See adapt_stub.h.

module adapt_stub
  implicit none
#ifdef ADAPT_RIGID
  integer, parameter :: MPI_ADAPT_FALSE = 0, MPI_ADAPT_TRUE = 1
  integer, parameter :: MPI_ADAPT_STATUS_NEW = 2, MPI_ADAPT_STATUS_JOINING = 3
  integer, parameter :: MPI_ADAPT_STATUS_STAYING = 4, MPI_ADAPT_STATUS_LEAVING = 5

contains

  ! The process is of the launch.
  subroutine MPI_Init_adapt(status, ierror)
    integer, intent(out) :: status
    integer, optional, intent(out) :: ierror
    integer :: code
    external :: MPI_Init

    status = MPI_ADAPT_STATUS_NEW
    call MPI_Init(code)
    if (present(ierror)) ierror = code
  end subroutine MPI_Init_adapt

  subroutine MPI_Init_thread_adapt(required, provided, status, ierror)
    integer, intent(in) :: required
    integer, intent(out) :: provided, status
    integer, optional, intent(out) :: ierror
    integer :: code
    external :: MPI_Init_thread

    status = MPI_ADAPT_STATUS_NEW
    call MPI_Init_thread(required, provided, code)
    if (present(ierror)) ierror = code
  end subroutine MPI_Init_thread_adapt

  ! The number of processes stays that of the launch.
  subroutine MPIX_Adapt_sizes(rule, ierror)
    character(len=*), intent(in) :: rule
    integer, optional, intent(out) :: ierror

    if (present(ierror)) ierror = min(0, len(rule))
  end subroutine MPIX_Adapt_sizes
#endif
end module adapt_stub
