! A program without #ifdef for every MPI: with one that has no adaptations the world never changes
! (adapt_stub.h).  SPEC-epop D4.  Arguments: steps, and windows that it waits for (0).
module work
  use mpi_f08
  use adapt_stub
  use adapt_data
  implicit none
  real(8), allocatable :: u(:)
  type(adapt_array) :: of_u
  integer :: step = 0, rank, nprocs, windows = 0

contains

  subroutine moves(window)
    type(adapt_window), intent(inout) :: window

    call adapt_move(of_u, window, u)
    call adapt_share(window, step)
    call adapt_share(window, windows)
  end subroutine moves

  subroutine after(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size

    rank = new_rank
    nprocs = new_size
    windows = windows + 1
  end subroutine after
end module work

program stub
  use work
  implicit none
  integer, parameter :: n = 100
  integer :: status, first, last, k, steps, wanted = 0
  real(8) :: sum
  character(len=16) :: word = '10'

  if (command_argument_count() > 0) call get_command_argument(1, word)
  read (word, *) steps
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    read (word, *) wanted
  end if
  call MPI_Init_adapt(status)
  call MPIX_Adapt_sizes('1-8')
  call adapt_create(of_u, 'u', adapt_block(n))
  if (status == MPI_ADAPT_STATUS_JOINING) then
    call adapt_in_window(status, moves, after)
  else
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
    call adapt_range(adapt_block(n), rank, nprocs, first, last)
    allocate (u(last - first + 1))
    u = [(real(k, 8), k = first, last)]
  end if
  do while (step < steps .or. windows < wanted)
    u = u + 1
    step = step + 1
    call MPI_Barrier(MPI_COMM_WORLD)
    if (adapt_world(moves, after)) continue
  end do
  sum = 0
  do k = 1, size(u)
    sum = sum + u(k)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a,i0,a,f0.1)', 'PASS ', windows, ' sum ', sum - n * real(step, 8)
  call adapt_free(of_u)
  call MPI_Finalize()
end program stub
