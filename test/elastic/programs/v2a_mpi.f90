! SC3, SC6: v2a by the module mpi_session_dyn: one process grows to two and shrinks again, with each
! of its routines.
program v2a
  use mpi, only: MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, MPI_CHARACTER, MPI_COMM_WORLD, &
      MPI_MAX_PSET_NAME_LEN
  use mpi_session_dyn
  implicit none
  integer :: session, comm, rank, size, ierror, step
  character(len=MPI_MAX_PSET_NAME_LEN) :: set
  character(len=MPI_MAX_PSET_NAME_LEN) :: inputs(1), outputs(3)
  character(len=8), parameter :: keys(1) = ['app_next']
  logical :: goes_on

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierror)
  set = 'mpi://WORLD'
  step = 0
  if (describes(set, 'mpi_dyn')) then
     call read_next('mpi://WORLD', 'mpi://WORLD')
     step = 1
  end if
  call connect()
  if (step == 0) call split()
  goes_on = .true.
  if (step == 0) call change(MPI_PSETOP_GROW)
  call check(size == 2, 'two processes')
  call change(MPI_PSETOP_SHRINK)
  if (goes_on) then
     call check(size == 1, 'one process')
     print '(a)', 'PASS v2a_mpi'
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

  logical function describes(name, key)
    character(len=*), intent(in) :: name, key
    character(len=8) :: value
    integer :: info
    logical :: flag

    call MPI_Session_get_pset_info(session, name, info, ierror)
    call MPI_Info_get(info, key, len(value), value, flag, ierror)
    call MPI_Info_free(info, ierror)
    describes = flag .and. value == 'True'
  end function describes

  subroutine read_next(readers, delta)
    character(len=*), intent(in) :: readers, delta
    integer :: data
    logical :: flag

    call MPI_Session_get_pset_data(session, readers, delta, keys, 1, 1, data, ierror)
    call check(ierror == 0, 'data')
    call MPI_Info_get(data, keys(1), len(set), set, flag, ierror)
    call MPI_Info_free(data, ierror)
  end subroutine read_next

  subroutine connect()
    integer :: group

    call MPI_Group_from_session_pset(session, set, group, ierror)
    call MPI_Comm_create_from_group(group, 'v2a', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Comm_rank(comm, rank, ierror)
    call MPI_Comm_size(comm, size, ierror)
  end subroutine connect

  ! into one part with all, and one with nobody
  subroutine split()
    integer :: info, op, n

    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'mpi_part_sizes', '1,0', ierror)
    inputs(1) = set
    op = MPI_PSETOP_SPLIT
    n = 3
    call MPI_Session_dyn_v2a_psetop(session, op, inputs, 1, outputs, n, info, ierror)
    call check(ierror == 0 .and. op == MPI_PSETOP_SPLIT .and. n == 2, 'split')
    call check(outputs(1)(1:10) == 'mpix://op/' .and. outputs(2) == '', 'names of parts')
    call MPI_Info_set(info, 'mpi_num_procs_add', '7', ierror)
    op = MPI_PSETOP_ADD
    n = 3
    call MPI_Session_dyn_v2a_psetop(session, op, inputs, 1, outputs, n, info, ierror)
    call check(ierror == 0 .and. op == MPI_PSETOP_NULL .and. n == 0, 'too many')
    call MPI_Info_free(info, ierror)
  end subroutine split

  subroutine change(wanted)
    integer, intent(in) :: wanted
    integer :: info, op, n

    if (rank == 0) then
       call MPI_Info_create(info, ierror)
       call MPI_Info_set(info, merge('mpi_num_procs_add', 'mpi_num_procs_sub', &
           wanted == MPI_PSETOP_GROW), '1', ierror)
       inputs(1) = set
       op = wanted
       n = 3
       call MPI_Session_dyn_v2a_psetop(session, op, inputs, 1, outputs, n, info, ierror)
       call check(ierror == 0 .and. op == wanted .and. n == 2, 'change')
       call MPI_Info_free(info, ierror)
       call MPI_Info_create(info, ierror)
       call MPI_Info_set(info, keys(1), outputs(2), ierror)
       call MPI_Session_set_pset_data(session, outputs(1), info, ierror)
       call MPI_Info_free(info, ierror)
    end if
    n = 2
    call MPI_Session_dyn_v2a_query_psetop(session, set, set, op, outputs, n, ierror)
    call check(ierror == 0 .and. op == wanted .and. n == 2, 'query')
    goes_on = op == MPI_PSETOP_GROW .or. .not. describes(outputs(1), 'mpi_included')
    call read_next(set, outputs(1))
    if (.not. goes_on) return
    call MPI_Comm_free(comm, ierror)
    call connect()
    if (rank == 0) call MPI_Session_dyn_finalize_psetop(session, set, ierror)
  end subroutine change
end program v2a
