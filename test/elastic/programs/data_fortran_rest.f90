! The Fortran module adapt_data beside arrays: adapt_window_probe, variables of any type and rank
! that joining processes get, sums that stay what they are, a file that goes on where its writer
! left.  What does not fit is refused on all processes.  SPEC-epop D4, F3.  Argument: the number of
! adaptations.
module state
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type :: settings
    integer :: step = 0
    real(real64) :: tolerance = 0
    character(len=5) :: word = '?'
  end type settings
end module state

program elastic
  use mpi_f08
  use adapt_data
  use state
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  ! each process has a number of its own, where it has the file
  integer :: log_unit = -1
  character(len=*), parameter :: log_name = 'rest.log'
  type(settings) :: shared
  integer :: table(2, 3) = 0
  logical :: flag = .false.
  real(real64) :: counted(2)              ! the sums over all ranks: epochs times 1 and 10
  integer :: status, rank, nprocs, epochs
  double precision :: last
  character(len=32) :: word

  call get_command_argument(1, word)
  read (word, *) epochs
  counted = 0
  call MPI_Init_adapt(status)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call try_boxes()
  if (status == MPI_ADAPT_STATUS_JOINING) then
    call adapt_in_window(status, moves, after)
  else
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    shared = settings(0, 0.125_real64, 'words')
    table = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    flag = .true.
    if (rank == 0) open (newunit=log_unit, file=log_name, action='write')
  end if
  last = MPI_Wtime()
  do while (shared%step < epochs)
    call check(MPI_Wtime() - last < 90d0, 'no adaptation')
    call MPI_Barrier(MPI_COMM_WORLD)
    if (.not. adapt_world(moves, after)) cycle
    last = MPI_Wtime()
  end do
  call query_layouts()
  if (rank == 0) close (log_unit)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == nprocs - 1) call check_log()
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(2(a,i0))', 'PASS epoch=', epochs, ' size=', nprocs
  call MPI_Finalize()

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(2a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 99)
  end subroutine check

  subroutine query_layouts()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  end subroutine query_layouts

  subroutine moves(window)
    type(adapt_window), intent(inout) :: window

    call try_errors(window)
    call adapt_share(window, shared)
    call adapt_share(window, table)
    call adapt_share(window, flag)
    call adapt_sums(window, counted)
    call adapt_file(window, 0, log_unit)
    shared%step = shared%step + 1
  end subroutine moves

  subroutine after(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size
    real(real64) :: sums(2)
    logical :: is_open

    call query_layouts()
    call check(rank == new_rank .and. nprocs == new_size, 'after has the new rank and size')
    call check(shared%tolerance == 0.125_real64 .and. shared%word == 'words' &
        .and. flag, 'variables')
    call check(all(table == reshape([1, 2, 3, 4, 5, 6], [2, 3])), 'table')
    if (rank == nprocs - 1) counted = counted + [1, 10]
    call MPI_Allreduce(counted, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check(all(sums == shared%step * [1, 10]), 'sums')
    is_open = .false.
    if (log_unit /= -1) inquire (unit=log_unit, opened=is_open)
    call check(is_open .eqv. rank == 0, 'who has the file')
    call check(rank == 0 .or. log_unit == -1, 'a unit of a process without the file')
    if (rank == 0) write (log_unit, '(a,i0)') 'step ', shared%step
  end subroutine after

  ! As many numbers as there are axes; the others are [0, 1).
  subroutine try_boxes()
    type(adapt_box) :: line, plane, cube

    line = adapt_box([3], [7])
    plane = adapt_box([1, 2], [5, 9])
    cube = adapt_box([1_int64, 2_int64, 3_int64], [5_int64, 9_int64, 4_int64])
    call check(all(line%low == [3, 0, 0]) .and. all(line%high == [7, 1, 1]), 'a box of one axis')
    call check(all(plane%low == [1, 2, 0]) .and. all(plane%high == [5, 9, 1]), 'a box of two axes')
    call check(all(cube%low == [1, 2, 3]) .and. all(cube%high == [5, 9, 4]), 'a box of three axes')
  end subroutine try_boxes

  ! One process has another size, or requests a successor that will not exist.
  subroutine try_errors(window)
    type(adapt_window), intent(in) :: window
    integer :: long(4), code
    character(len=200) :: why
    type(adapt_window) :: closed

    long = 0
    code = 0
    if (window%joining > 0) then
      if (window%old_rank < 0) call adapt_share(window, long(:2), code)
      if (window%old_rank >= 0) call adapt_share(window, long, code)
      call check(code == MPI_ERR_ARG, 'another size is not refused')
      call adapt_message(why)
      call check(index(why, 'differ in the size') > 0, why)
    end if
    call adapt_share(window, long(1:4:2), code)
    call check(code == MPI_ERR_ARG, 'a variable in pieces is not refused')
    call adapt_file(window, window%new_size, log_unit, code)
    call check(code == MPI_ERR_ARG, 'the successor is not refused')
    call adapt_sums(closed, counted, code)
    call check(code == MPI_ERR_ARG, 'a closed window is not refused')
  end subroutine try_errors

  subroutine check_log()
    integer :: k, at, bad, unit

    open (newunit=unit, file=log_name, action='read', status='old')
    do k = 1, epochs
      read (unit, '(5x,i10)', iostat=bad) at
      call check(bad == 0 .and. at == k, 'a line of the file is missing')
    end do
    read (unit, *, iostat=bad)
    call check(bad /= 0, 'the file is too long')
    close (unit)
  end subroutine check_log

end program elastic
