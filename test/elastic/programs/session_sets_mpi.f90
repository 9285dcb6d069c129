! The operations on process sets by "use mpi".  Run by 2 processes.
program session_sets
  use mpi
  implicit none
  integer :: session, info, data, world, group, request
  integer :: ierror, n, size, rank, calls
  logical :: flag, primary
  character(len=MPI_MAX_PSET_NAME_LEN) :: name
  character(len=16) :: names(3), parts(2), keys(2), short, value
  character(len=40) :: text

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
  call check(ierror == MPI_SUCCESS, 'init')
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', world, ierror)
  call MPI_Group_rank(world, rank, ierror)
  call MPI_Group_size(world, size, ierror)
  call check(size == 2, 'two processes')
  call MPIX_Session_get_default_pset(session, name, flag, ierror)
  call check(ierror == MPI_SUCCESS .and. name == 'mpi://WORLD' .and. .not. flag, 'default set')
  short = 'x'
  call MPIX_Session_get_default_pset(session, short(1:6), flag, ierror)
  call check(short == 'mpi://', 'a name that does not fit is cut off')
  call MPIX_Session_get_primary_process(session, 'mpi://world', primary, ierror)
  call check(ierror == MPI_SUCCESS .and. (primary .eqv. rank == 0), 'primary')
  call MPIX_Session_pset_included(session, 'mpi://SELF', flag, ierror)
  call check(ierror == MPI_SUCCESS .and. flag, 'included')

  call check(MPIX_RC_NONE == 0 .and. MPIX_RC_ADD == 1 .and. MPIX_RC_SUB == 2, 'kinds of changes')
  call MPIX_Session_rc_test(session, ' ', flag, ierror)
  call check(ierror == MPI_SUCCESS .and. .not. flag, 'no change')
  call MPIX_Session_rc_get(session, 'mpi://WORLD', calls, name, n, info, ierror)
  call check(ierror == MPI_SUCCESS .and. calls == MPIX_RC_NONE .and. name == ' ' .and. n == -1 .and. &
             info == MPI_INFO_NULL, 'no change is pending')

  ! made by one process, known to both by their data
  if (rank == 0) then
    names(1) = 'mpi://SELF'
    names(2) = 'mpi://WORLD'
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'mpix_name', 'app://union', ierror)
    n = 1
    call MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, names, 2, info, parts, n, ierror)
    call check(ierror == MPI_SUCCESS .and. n == 1 .and. parts(1) == 'app://union', 'union')
    call MPI_Info_set(info, 'mpi_part_sizes', '1,1', ierror)
    names(1) = 'app://union'
    n = 2
    call MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, names, 1, info, parts, n, ierror)
    call check(ierror == MPI_SUCCESS .and. n == 2 .and. parts(1) == 'mpix://op/0.1', 'first part')
    call check(parts(2) == 'mpix://op/0.2', 'second part')
    names(1) = 'app://nobody'
    n = 1
    call MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, names, 1, MPI_INFO_NULL, parts, n, ierror)
    call check(ierror /= MPI_SUCCESS .and. parts(1) == ' ', 'unknown operand')
    call MPI_Info_free(info, ierror)
    call MPI_Group_incl(world, 1, (/ 1 /), group, ierror)
    call MPIX_Session_pset_from_group(session, group, MPI_INFO_NULL, name, ierror)
    call check(ierror == MPI_SUCCESS .and. name == 'mpix://op/0.3', 'set of a group')
    call MPIX_Session_pset_move(session, name, 'app://one ', ierror)
    call check(ierror == MPI_SUCCESS, 'move')
    call MPI_Group_free(group, ierror)
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'colour', 'blue', ierror)
    call MPI_Info_set(info, 'number', '42', ierror)
    call MPIX_Session_set_pset_data(session, 'mpi://WORLD', info, ierror)
    call check(ierror == MPI_SUCCESS, 'set data')
    call MPI_Info_free(info, ierror)
  end if
  keys(1) = 'colour'
  keys(2) = 'number'
  call MPIX_Session_get_pset_data(session, 'mpi://WORLD', 'mpi://WORLD', keys, 2, .true., data, ierror)
  call check(ierror == MPI_SUCCESS, 'get data')
  call MPI_Info_get(data, 'number', 16, value, flag, ierror)
  call check(flag .and. value == '42', 'data')
  call MPI_Info_free(data, ierror)
  call MPIX_Session_iget_pset_data(session, 'mpi://WORLD', 'mpi://WORLD', keys, 1, .false., data, request, ierror)
  call check(ierror == MPI_SUCCESS, 'request for data')
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS, 'wait for data')
  call MPI_Info_get(data, 'colour', 16, value, flag, ierror)
  call check(flag .and. value == 'blue', 'data of the request')
  call MPI_Info_free(data, ierror)

  flag = .false.
  do while (.not. flag)         ! it runs when rank 1 has begun
    call MPIX_Session_pset_exists(session, 'app://one', flag, info, ierror)
    call check(ierror == MPI_SUCCESS .and. info /= MPI_INFO_NULL, 'exists')
    call MPI_Info_free(info, ierror)
  end do
  call MPIX_Session_pset_included(session, 'app://one', flag, ierror)
  call check(ierror == MPI_SUCCESS .and. (flag .eqv. rank == 1), 'in the set')
  call MPIX_Session_get_psets(session, MPI_INFO_NULL, info, ierror)
  call MPI_Info_get(info, 'app://union', 16, value, flag, ierror)
  call check(flag .and. value == '2', 'list of sets')
  call MPI_Info_free(info, ierror)
  calls = 0
  text = ' '
  do while (text == ' ')
    calls = calls + 1
    if (rank == 0 .and. calls == 3) text = 'a text with blanks'
    call MPIX_Session_bcast_pset_info(session, 'mpi://WORLD', text, len(text), primary, ierror)
    call check(ierror == MPI_SUCCESS, 'broadcast')
  end do
  call check(text == 'a text with blanks' .and. calls > 3, 'text')

  if (rank == 1) then           ! rank 0 has read it
    call MPIX_Session_pset_free(session, 'app://one', ierror)
    call check(ierror == MPI_SUCCESS, 'free')
    call MPIX_Session_pset_free(session, 'app://one', ierror)
    call check(ierror /= MPI_SUCCESS, 'free twice')
  end if
  call MPI_Group_free(world, ierror)
  call MPI_Session_finalize(session, ierror)
  if (rank == 0) print '(a)', 'PASS session_sets'

contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      print '(3a,i0)', 'FAIL ', what, ' on rank ', rank
      stop 1
    end if
  end subroutine check
end program session_sets
