! SX9 in Fortran (mpi_f08): windows and a file over a group of a session, by 2 processes.
program session_windows_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  type(MPI_Session) :: session
  type(MPI_Group) :: group
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(c_ptr) :: memory
  integer, pointer :: allocated
  integer, asynchronous :: here
  integer :: rank, ierror, value, kind
  integer(MPI_ADDRESS_KIND), parameter :: zero = 0, four = 4
  integer(MPI_OFFSET_KIND) :: offset

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
  call MPI_Group_rank(group, rank)

  here = -1
  call MPIX_Win_create_from_group(group, 'create', here, four, 4, MPI_INFO_NULL, &
      MPI_ERRORS_RETURN, win, ierror)
  call check(ierror == MPI_SUCCESS, 'create')
  call put(win)
  call check(here == 1 - rank, 'what was put into memory of the program')
  call MPI_Win_free(win)

  do kind = 1, 2
    if (kind == 1) then
      call MPIX_Win_allocate_from_group(group, 'allocate', four, 4, MPI_INFO_NULL, &
                                        MPI_ERRORS_RETURN, memory, win, ierror)
    else
      call MPIX_Win_allocate_shared_from_group(group, 'shared', four, 4, MPI_INFO_NULL, &
                                               MPI_ERRORS_RETURN, memory, win, ierror)
    end if
    call check(ierror == MPI_SUCCESS, 'allocate')
    call c_f_pointer(memory, allocated)
    call put(win)
    call check(allocated == 1 - rank, 'what was put into the memory of a window')
    call MPI_Win_free(win)
  end do

  call MPIX_Win_create_dynamic_from_group(group, 'dynamic', MPI_INFO_NULL, MPI_ERRORS_RETURN, win, &
      ierror)
  call check(ierror == MPI_SUCCESS, 'dynamic')
  call MPI_Win_free(win)

  call MPIX_File_open_from_group(group, 'file ', 'windows.data', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                                 MPI_INFO_NULL, MPI_ERRORS_RETURN, file, ierror)
  call check(ierror == MPI_SUCCESS, 'open')
  offset = 4 * rank
  call MPI_File_write_at_all(file, offset, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_File_sync(file)
  offset = 4 * (1 - rank)
  value = -1
  call MPI_File_read_at_all(file, offset, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
  call check(value == 1 - rank, 'what the other one has written')
  call MPI_File_close(file)

  call MPIX_Win_create_dynamic_from_group(MPI_GROUP_EMPTY, 'dynamic', MPI_INFO_NULL, &
      MPI_ERRORS_RETURN, win, ierror)
  call check(ierror /= MPI_SUCCESS, 'an empty group is an error')
  call MPI_Group_free(group)
  call MPI_Session_finalize(session)
  if (rank == 0) print '(a)', 'PASS session_windows_f08'

contains
  subroutine put(win)
    type(MPI_Win), intent(in) :: win
    call MPI_Win_fence(0, win)
    call MPI_Put(rank, 1, MPI_INTEGER, 1 - rank, zero, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
  end subroutine put

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (.not. ok) then
      print '(2a)', 'FAIL ', what
      stop 1
    end if
  end subroutine check
end program session_windows_f08
