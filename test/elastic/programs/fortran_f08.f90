! The operations by "use mpi_f08": initialisation (with a thread level if the second argument is
! "thread"), probe, begin and commit.  Argument: the number of adaptations.
program elastic
  use mpi_f08
  implicit none
  integer :: ierror, status, pending, rank, nprocs, epoch, epochs
  integer :: staying, leaving, joining, total, state(1), root, expected, provided, size_info
  type(MPI_Info) :: info
  type(MPI_Comm) :: inter, next
  logical :: is_joining
  double precision :: last
  character(len=32) :: word

  call get_command_argument(1, word)
  read (word, *) epochs
  call get_command_argument(2, word)
  epoch = 0
  if (word == 'thread') then
    call MPI_Init_thread_adapt(MPI_THREAD_MULTIPLE, provided, status, ierror)
    call check(provided == MPI_THREAD_MULTIPLE, 'thread level')
  else
    call MPI_Init_adapt(status, ierror)
  end if
  call check(ierror == MPI_SUCCESS, 'init')
  call check(status == MPI_ADAPT_STATUS_NEW .or. status == MPI_ADAPT_STATUS_JOINING, 'status')
  is_joining = status == MPI_ADAPT_STATUS_JOINING
  word = '1-99, 200'
  call MPIX_Adapt_sizes(word, ierror)
  call check(ierror == MPI_SUCCESS, 'sizes')
  call MPI_Info_create(info, ierror)
  word = '3'
  call MPI_Info_set(info, 'size', word, ierror)
  call MPIX_Adapt_request(info, size_info, ierror)
  call check(ierror == MPI_SUCCESS .and. size_info == 1, 'request')
  call MPI_Info_free(info, ierror)
  pending = MPIX_ADAPT_REQUEST_OPEN
  do while (pending == MPIX_ADAPT_REQUEST_OPEN)
    call MPIX_Adapt_request_state(size_info, pending, info, ierror)
    call check(ierror == MPI_SUCCESS, 'state of the request')
    call check((pending == MPIX_ADAPT_REQUEST_OPEN) .eqv. (info == MPI_INFO_NULL), 'info of the request')
  end do
  call check(pending == MPIX_ADAPT_REQUEST_REFUSED .or. pending == MPIX_ADAPT_REQUEST_WITHDRAWN, 'a schedule decides')
  call MPI_Info_free(info, ierror)
  call MPIX_Adapt_request_withdraw(size_info, ierror)
  call check(ierror == MPI_SUCCESS, 'withdraw')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierror)
  last = MPI_Wtime()
  do while (epoch < epochs)
    call check(MPI_Wtime() - last < 90d0, 'no adaptation')
    if (.not. is_joining) then
      call MPI_Probe_adapt(pending, status, info, ierror)
      call check(ierror == MPI_SUCCESS, 'probe')
      if (pending == MPI_ADAPT_FALSE) then
        call check(status == MPI_ADAPT_STATUS_STAYING, 'staying')
        call check(info == MPI_INFO_NULL, 'info')
        call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        call check(total == nprocs, 'compute')
        cycle
      end if
      call check(pending == MPI_ADAPT_TRUE, 'pending')
      call MPI_Info_free(info, ierror)
    end if
    call MPI_Comm_adapt_begin(inter, next, staying, leaving, joining, ierror)
    call check(ierror == MPI_SUCCESS, 'begin')
    call check((next == MPI_COMM_NULL) .eqv. (status == MPI_ADAPT_STATUS_LEAVING), 'new world')
    call check((inter == MPI_COMM_NULL) .eqv. (joining == 0), 'intercomm')
    if (next /= MPI_COMM_NULL) then
      call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, next, ierror)
      call check(total == staying + joining, 'size of the new world')
    end if
    if (joining > 0) then
      root = MPI_PROC_NULL
      if (rank == 0) root = MPI_ROOT
      if (is_joining) root = 0
      state(1) = epoch
      call MPI_Bcast(state, 1, MPI_INTEGER, root, inter, ierror)
      epoch = state(1)
    end if
    expected = staying + joining
    call MPI_Comm_adapt_commit(ierror)
    call check(ierror == MPI_SUCCESS, 'commit')
    is_joining = .false.
    epoch = epoch + 1
    last = MPI_Wtime()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierror)
    call check(nprocs == expected, 'size after commit')
  end do
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(total == nprocs, 'the last world')
  if (rank == 0) write (*, '(a,i0,a,i0)') 'PASS epoch=', epoch, ' size=', nprocs
  call MPI_Finalize(ierror)

contains

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    integer :: abort_error

    if (.not. ok) then
      write (0, *) 'FAIL fortran_f08.f90: ', what
      call MPI_Abort(MPI_COMM_WORLD, 99, abort_error)
    end if
  end subroutine check

end program elastic
