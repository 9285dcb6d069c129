! SC3: libmpidynres' interface by modules mpidynres and mpidynres_sim: a program that grows and
! shrinks, with each of its routines.  As many changes as its argument states; one process at the
! end.
module app
  implicit none
  integer :: last = 0

contains

  subroutine app_main() bind(C)
    use, intrinsic :: iso_c_binding
    use mpi, only: MPI_COMM_WORLD, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, MPI_CHARACTER
    use mpidynres
    type(c_ptr) :: session
    integer :: comm
    character(len=MPI_MAX_PSET_NAME_LEN) :: set
    integer :: rank, size, changes, ierror
    logical :: goes_on

    call begin()
    goes_on = .true.
    do while (goes_on .and. changes < last)
       call change()
    end do
    if (goes_on .and. rank == 0) print '(a, i0)', 'PASS mpidynres size=', size
    call MPI_Comm_free(comm, ierror)
    call MPI_SESSION_FINALIZE(session, ierror)
    call check(ierror == 0 .and. .not. c_associated(session, MPI_SESSION_NULL), 'finalize')
    call MPIDYNRES_EXIT()
    call check(.false., 'exit has returned')

  contains

    subroutine check(holds, what)
      logical, intent(in) :: holds
      character(len=*), intent(in) :: what

      if (.not. holds) then
         print *, 'FAIL ', what
         call MPI_Abort(MPI_COMM_WORLD, 99, ierror)
      end if
    end subroutine check

    ! "" if there is no such key
    subroutine get(info, key, value)
      integer, intent(in) :: info
      character(len=*), intent(in) :: key
      character(len=*), intent(out) :: value
      logical :: flag

      value = ''
      call MPI_Info_get(info, key, len(value), value, flag, ierror)
      if (.not. flag) value = ''
    end subroutine get

    subroutine connect()
      integer :: group

      call MPI_GROUP_FROM_SESSION_PSET(session, set, group, ierror)
      call check(ierror == 0, 'group of ' // trim(set))
      call MPI_COMM_CREATE_FROM_GROUP(group, '', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
      call check(ierror == 0, 'communicator of ' // trim(set))
      call MPI_Group_free(group, ierror)
      call MPI_Comm_rank(comm, rank, ierror)
      call MPI_Comm_size(comm, size, ierror)
    end subroutine connect

    subroutine begin()
      integer :: info, sets
      character(len=16) :: value

      call MPI_SESSION_INIT(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierror)
      call check(ierror == 0 .and. c_associated(session), 'init')
      call MPI_SESSION_GET_PSETS(session, MPI_INFO_NULL, sets, ierror)
      call get(sets, 'mpi://WORLD', value)
      call MPI_Info_free(sets, ierror)
      call MPI_SESSION_GET_INFO(session, info, ierror)
      if (value /= '') then
         set = 'mpi://WORLD'
         changes = 0
      else
         call get(info, 'app_set', set)
         call get(info, 'app_changes', value)
         read (value, *) changes
      end if
      call get(info, 'mpidynres', value)
      call check(value == 'yes', 'session info')
      call MPI_Info_free(info, ierror)
      call connect()
    end subroutine begin

    ! of the first process: the next set, or none
    subroutine query(next)
      character(len=MPI_MAX_PSET_NAME_LEN), intent(out) :: next
      character(len=MPI_MAX_PSET_NAME_LEN) :: delta, spare
      character(len=16) :: value
      integer :: info, answer
      integer :: rc, tag, op

      next = ''
      call MPIDYNRES_RC_GET(session, rc, delta, tag, info, ierror)
      call check(ierror == 0 &
          .and. (rc == MPIDYNRES_RC_NONE .eqv. tag == MPIDYNRES_NO_ORIGIN_RC_TAG), 'rc_get')
      if (rc == MPIDYNRES_RC_NONE) return
      call MPI_Info_free(info, ierror)
      call MPI_SESSION_GET_PSET_INFO(session, delta, info, ierror)
      call get(info, 'mpidynres_rc_type', value)
      call check(value == merge('add', 'sub', rc == MPIDYNRES_RC_ADD), 'pset_info')
      call MPI_Info_free(info, ierror)
      call MPIDYNRES_ADD_SCHEDULING_HINTS(session, MPI_INFO_NULL, answer, ierror)
      call MPIDYNRES_PSET_CREATE_OP(session, MPI_INFO_NULL, set, delta, MPIDYNRES_PSET_INTERSECT, &
          spare, ierror)
      call check(ierror == 0 .and. (spare == '' .eqv. rc == MPIDYNRES_RC_ADD), 'intersection')
      if (spare /= '') call MPIDYNRES_PSET_FREE(session, spare, ierror)
      call check(ierror == 0, 'free')
      op = merge(MPIDYNRES_PSET_UNION, MPIDYNRES_PSET_DIFFERENCE, rc == MPIDYNRES_RC_ADD)
      call MPIDYNRES_PSET_CREATE_OP(session, MPI_INFO_NULL, set, delta, op, next, ierror)
      call check(ierror == 0 .and. next(1:15) == 'mpidynres://op_', 'operation')
      call MPI_Info_create(info, ierror)
      call MPI_Info_set(info, 'app_set', next, ierror)
      write (value, '(i0)') changes + 1
      call MPI_Info_set(info, 'app_changes', value, ierror)
      call MPIDYNRES_RC_ACCEPT(session, tag, info, ierror)
      call check(ierror == 0, 'accept')
      call MPI_Info_free(info, ierror)
    end subroutine query

    subroutine change()
      character(len=MPI_MAX_PSET_NAME_LEN) :: next
      character(len=16) :: value
      integer :: sets

      if (rank == 0) call query(next)
      call MPI_Bcast(next, len(next), MPI_CHARACTER, 0, comm, ierror)
      if (next == '') return
      changes = changes + 1
      call MPI_SESSION_GET_PSETS(session, MPI_INFO_NULL, sets, ierror)
      call get(sets, next, value)
      call MPI_Info_free(sets, ierror)
      goes_on = value /= ''
      if (.not. goes_on) return
      call MPI_Comm_free(comm, ierror)
      set = next
      call connect()
    end subroutine change
  end subroutine app_main
end module app

program dynres
  use mpidynres_sim
  use app
  implicit none
  type(MPIDYNRES_SIM_CONFIG) :: config
  procedure(mpidynres_main_func), pointer :: main_func => app_main
  character(len=16) :: argument
  integer :: ierror

  call get_command_argument(1, argument)
  read (argument, *) last
  call MPI_Init(ierror)
  call MPIDYNRES_SIM_GET_DEFAULT_CONFIG(config)
  call MPIDYNRES_SIM_START(config, main_func)
  call MPI_Finalize(ierror)
end program dynres
