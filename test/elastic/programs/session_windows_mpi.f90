! SX9 in Fortran (mpi): a window and a file over a group of a session, by 2 processes.
program session_windows_mpi
  use mpi
  implicit none
  integer :: session, group, win, file, rank, ierror, value
  integer, asynchronous :: here
  integer(MPI_ADDRESS_KIND), parameter :: zero = 0, four = 4
  integer(MPI_OFFSET_KIND) :: offset

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierror)
  call MPI_Group_rank(group, rank, ierror)

  here = -1
  call MPIX_Win_create_from_group(group, 'create', here, four, 4, MPI_INFO_NULL, &
      MPI_ERRORS_RETURN, win, ierror)
  call check(ierror == MPI_SUCCESS, 'create')
  call MPI_Win_fence(0, win, ierror)
  call MPI_Put(rank, 1, MPI_INTEGER, 1 - rank, zero, 1, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call check(here == 1 - rank, 'what was put')
  call MPI_Win_free(win, ierror)

  call MPIX_File_open_from_group(group, 'file', 'windows.data', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                                 MPI_INFO_NULL, MPI_ERRORS_RETURN, file, ierror)
  call check(ierror == MPI_SUCCESS, 'open')
  offset = 4 * rank
  call MPI_File_write_at_all(file, offset, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_sync(file, ierror)
  offset = 4 * (1 - rank)
  value = -1
  call MPI_File_read_at_all(file, offset, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call check(value == 1 - rank, 'what the other one has written')
  call MPI_File_close(file, ierror)
  call MPI_Group_free(group, ierror)
  call MPI_Session_finalize(session, ierror)
  if (rank == 0) print '(a)', 'PASS session_windows_mpi'

contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (.not. ok) then
      print '(2a)', 'FAIL ', what
      stop 1
    end if
  end subroutine check
end program session_windows_mpi
