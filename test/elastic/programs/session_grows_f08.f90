! SR2, SR4, SR7, SR8, SR10, SR11, SC6: changes through process sets by "use mpi_f08".  Run by one
! process with --adapt-range 1:3, which requests all of them itself: a preferred size, that is
! declined and then accepted, and operations that are done at once.
program session_grows
  use mpi_f08
  implicit none
  type(MPI_Session) :: session
  type(MPI_Comm) :: comm
  character(len=MPI_MAX_PSET_NAME_LEN) :: set, delta
  integer :: ierror, rank, size
  logical :: joins, stays

  set = 'mpi://WORLD'
  call open_session()
  call MPIX_Session_get_default_pset(session, delta, joins, ierror)
  call check(ierror == MPI_SUCCESS, 'default set')
  if (joins) call read_next(delta)
  call connect()
  stays = .true.
  if (.not. joins) then
     call decline()
     call accept()
     call check(size == 2, 'two processes')
     call grow()
  else if (size == 2) then
     call follow()
  end if
  call check(size == 3, 'three processes')
  if (rank == 0) call shrink()
  call follow()
  if (stays) then
     call check(size == 1, 'one process')
     print '(a)', 'PASS session_grows_f08'
  end if
  call MPI_Comm_free(comm, ierror)
  call MPI_Session_finalize(session, ierror)

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (.not. holds) then
       print *, 'FAIL ', what
       error stop 99
    end if
  end subroutine check

  type(MPI_Info) function pair(key, value)
    character(len=*), intent(in) :: key, value

    call MPI_Info_create(pair, ierror)
    call MPI_Info_set(pair, key, value, ierror)
  end function pair

  subroutine open_session()
    type(MPI_Info) :: info

    info = pair('mpix_dynamic', 'true')
    call MPI_Session_init(info, MPI_ERRORS_RETURN, session, ierror)
    call check(ierror == MPI_SUCCESS, 'init')
    call MPI_Info_free(info, ierror)
  end subroutine open_session

  subroutine connect()
    type(MPI_Group) :: group

    call MPI_Group_from_session_pset(session, set, group, ierror)
    call check(ierror == MPI_SUCCESS, 'group of ' // trim(set))
    call MPI_Comm_create_from_group(group, trim(set), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, &
        ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Comm_rank(comm, rank, ierror)
    call MPI_Comm_size(comm, size, ierror)
  end subroutine connect

  ! until there is one
  subroutine await(tag)
    integer, intent(out) :: tag
    integer :: kind
    logical :: flag
    type(MPI_Info) :: info
    character(len=16) :: value

    flag = .false.
    do while (.not. flag)
       call MPIX_Session_rc_test(session, set, flag, ierror)
       call check(ierror == MPI_SUCCESS, 'test')
    end do
    call MPIX_Session_rc_get(session, set, kind, delta, tag, info, ierror)
    call check(ierror == MPI_SUCCESS .and. kind == MPIX_RC_ADD &
        .and. delta(1:10) == 'mpix://rc/', 'change')
    call MPI_Info_get(info, 'mpix_new_size', len(value), value, flag, ierror)
    call check(flag .and. value == '2', 'new size')
    call MPI_Info_free(info, ierror)
  end subroutine await

  subroutine hint()
    type(MPI_Info) :: hints, answer
    character(len=32) :: value
    logical :: flag

    hints = pair('mpix_size_preferred', '2')
    call MPIX_Session_add_scheduling_hints(session, hints, answer, ierror)
    call check(ierror == MPI_SUCCESS .and. answer /= MPI_INFO_NULL, 'hints')
    call MPI_Info_get(answer, 'mpix_accepted', len(value), value, flag, ierror)
    call check(flag .and. value == 'mpix_size_preferred', 'accepted hints')
    call MPI_Info_free(answer, ierror)
    call MPI_Info_free(hints, ierror)
  end subroutine hint

  subroutine decline()
    integer :: tag

    call hint()
    call await(tag)
    call MPIX_Session_rc_decline(session, tag, ierror)
    call check(ierror == MPI_SUCCESS, 'decline')
    call MPIX_Session_rc_accept(session, tag, MPI_INFO_NULL, ierror)
    call check(ierror /= MPI_SUCCESS, 'accept after decline')
  end subroutine decline

  subroutine accept()
    character(len=MPI_MAX_PSET_NAME_LEN) :: inputs(2), outputs(1)
    integer :: tag, n

    call hint()
    call await(tag)
    inputs(1) = set
    inputs(2) = delta
    n = 1
    call MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, inputs, 2, MPI_INFO_NULL, outputs, n, &
        ierror)
    call check(ierror == MPI_SUCCESS .and. n == 1, 'union')
    call write_next(outputs(1))
    call MPIX_Session_rc_accept(session, tag, MPI_INFO_NULL, ierror)
    call check(ierror == MPI_SUCCESS, 'accept')
    set = outputs(1)
    call MPI_Comm_free(comm, ierror)
    call connect()
  end subroutine accept

  ! for those who read it in the data of delta
  subroutine write_next(next)
    character(len=*), intent(in) :: next
    type(MPI_Info) :: data

    data = pair('app_next', trim(next))
    call MPIX_Session_set_pset_data(session, delta, data, ierror)
    call check(ierror == MPI_SUCCESS, 'set data')
    call MPI_Info_free(data, ierror)
  end subroutine write_next

  subroutine read_next(where)
    character(len=*), intent(in) :: where
    character(len=8) :: keys(1)
    type(MPI_Info) :: data
    logical :: flag

    keys(1) = 'app_next'
    call MPIX_Session_get_pset_data(session, 'mpi://SELF', where, keys, 1, .true., data, ierror)
    call check(ierror == MPI_SUCCESS, 'get data')
    call MPI_Info_get(data, keys(1), len(set), set, flag, ierror)
    call check(flag, 'next set')
    call MPI_Info_free(data, ierror)
  end subroutine read_next

  ! done when the call returns; what is open is found by follow()
  subroutine operate(op, key, number)
    integer, intent(in) :: op
    character(len=*), intent(in) :: key, number
    character(len=MPI_MAX_PSET_NAME_LEN) :: inputs(1), outputs(3)
    type(MPI_Info) :: info
    integer :: n

    info = pair(key, number)
    inputs(1) = set
    n = 3
    call MPIX_Session_pset_op(session, op, inputs, 1, info, outputs, n, ierror)
    call check(ierror == MPI_SUCCESS .and. n == 2, key)
    call MPI_Info_free(info, ierror)
    delta = outputs(1)
    call write_next(outputs(2))
  end subroutine operate

  subroutine grow()
    call operate(MPIX_PSETOP_GROW, 'mpi_num_procs_add', '1')
    call follow()
  end subroutine grow

  subroutine shrink()
    call operate(MPIX_PSETOP_SHRINK, 'mpi_num_procs_sub', '2')
  end subroutine shrink

  ! all processes of the set
  subroutine follow()
    character(len=MPI_MAX_PSET_NAME_LEN) :: outputs(3)
    character(len=MPI_MAX_PSET_NAME_LEN) :: before
    integer :: op, n

    op = MPIX_PSETOP_NULL
    do while (op == MPIX_PSETOP_NULL)
       n = 3
       call MPIX_Session_get_pset_op(session, set, set, op, outputs, n, ierror)
       call check(ierror == MPI_SUCCESS, 'open operation')
    end do
    call check(n == 2 .and. (op == MPIX_PSETOP_GROW .or. op == MPIX_PSETOP_SHRINK), 'operation')
    if (op == MPIX_PSETOP_SHRINK) then
       call MPIX_Session_pset_included(session, outputs(1), stays, ierror)
       stays = .not. stays
    end if
    if (.not. stays) return
    before = set
    set = outputs(2)
    call MPI_Comm_free(comm, ierror)
    call connect()
    if (rank == 0) call MPIX_Session_finish_pset_op(session, before, ierror)
    call check(ierror == MPI_SUCCESS, 'finish')
  end subroutine follow
end program session_grows
