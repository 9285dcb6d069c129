! The Fortran module adapt_data: rows of a graph with an irregular partition, ghosts, and items in
! cells with gaps.  Each process also computes the whole problem alone and compares bit by bit;
! indices are of 4 and of 8 bytes.  What does not fit is refused on all processes.  SPEC-epop D4,
! V1, F1.  Argument: the number of adaptations.
module graph
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  implicit none
  integer, parameter :: vertices = 120, most = 7, slots = 5, atoms = 60
contains

  ! Some number that depends on both.
  pure integer function mixed(a, b)
    integer, intent(in) :: a, b
    integer(int64) :: m

    m = mod(int(a, int64) * 7919 + int(b, int64) * 104729 + 12345, 2147483647_int64)
    m = mod(m * m + a, 2147483647_int64)
    mixed = int(mod(m, 1000003_int64))
  end function mixed

  ! Global numbers are not 1 to n; vertex 5 has no neighbours.
  pure integer(int64) function number_of(vertex)
    integer, intent(in) :: vertex

    number_of = 3_int64 * vertex + 7
  end function number_of

  pure integer function vertex_of(number)
    integer(int64), intent(in) :: number

    vertex_of = int((number - 7) / 3)
  end function vertex_of

  pure integer function degree(vertex)
    integer, intent(in) :: vertex

    degree = merge(0, 1 + mod(mixed(vertex, 1), most), vertex == 5)
  end function degree

  pure integer function neighbour(vertex, k)
    integer, intent(in) :: vertex, k

    neighbour = 1 + mod(mixed(vertex, k + 10), vertices)
  end function neighbour

  pure integer function partition(vertex, processes)
    integer, intent(in) :: vertex, processes

    partition = mod(mixed(vertex, processes), merge(processes - 1, processes, processes > 3))
  end function partition

  pure real(real64) function weight(vertex, k)
    integer, intent(in) :: vertex, k

    weight = 0.25_real64 + 0.001_real64 * vertex + 0.01_real64 * k
  end function weight

  ! The whole problem, one step further.
  subroutine step_whole(whole)
    real(real64), intent(inout) :: whole(vertices)
    real(real64) :: next(vertices)
    integer :: v, k

    do v = 1, vertices
      next(v) = 0.125_real64 * whole(v)
      do k = 1, degree(v)
        next(v) = next(v) + weight(v, k) * 0.1_real64 * whole(neighbour(v, k))
      end do
    end do
    whole = next
  end subroutine step_whole
end module graph

program elastic
  use mpi_f08
  use adapt_data
  use graph
  implicit none
  integer(int64), allocatable :: global(:), first(:), column(:)
  integer(int32), allocatable :: global_4(:), first_4(:)
  real(real64), allocatable :: x(:), value(:)
  real(real64), allocatable :: label(:, :)              ! of a row: (2, rows)
  complex(real64), allocatable :: pairs(:, :, :)        ! of an entry: (1, 2, entries)
  integer, allocatable :: in_cell(:)
  integer(int64), allocatable :: atom(:, :)
  real(real64), allocatable :: position(:, :, :)
  type(adapt_ghosts) :: halo
  type(adapt_cells) :: moved
  real(real64) :: whole(vertices)
  integer :: status, rank, nprocs, epochs, v, windows = 0
  double precision :: last
  character(len=32) :: word

  call get_command_argument(1, word)
  read (word, *) epochs
  whole = [(1 + 0.01_real64 * v, v=1, vertices)]
  call MPI_Init_adapt(status)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  if (.not. adapt_enter(status, moves, after)) then
    call make_rows()
    call make_atoms()
    call begin_world()
  end if
  last = MPI_Wtime()
  do while (windows < epochs)
    call check(MPI_Wtime() - last < 90d0, 'no adaptation')
    call MPI_Barrier(MPI_COMM_WORLD)
    if (adapt_world(moves, after)) last = MPI_Wtime()
  end do
  call adapt_ghosts_free(halo)
  call adapt_cells_free(moved)
  if (rank == 0) print '(2(a,i0))', 'PASS epoch=', epochs, ' size=', nprocs
  call MPI_Finalize()

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(a,i0,2a)', 'FAIL rank ', rank, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 99)
  end subroutine check

  ! ---- rows ------------------------------------------------------------------------------------

  ! Not in the order of numbers.
  subroutine make_rows()
    integer :: i, k

    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
    allocate (global(0), first(1), column(0), x(0), value(0), label(2, 0), pairs(1, 2, 0))
    first = 1
    do v = vertices, 1, -1
      if (partition(v, nprocs) /= rank) cycle
      global = [global, number_of(v)]
      first = [first, first(size(first)) + degree(v)]
      x = [x, whole(v)]
      column = [column, [(number_of(neighbour(v, k)), k=1, degree(v))]]
      value = [value, [(weight(v, k), k=1, degree(v))]]
    end do
    global_4 = int(global, int32)
    first_4 = int(first, int32)
    label = reshape([(real(global(i), real64), -real(global(i), real64), i=1, size(global))], &
        [2, size(global)])
    pairs = reshape([(cmplx(value(i), 0, real64), cmplx(0, value(i), real64), i=1, size(value))], &
        [1, 2, size(value)])
  end subroutine make_rows

  subroutine check_rows()
    integer(int64) :: i, k
    integer :: total

    do i = 1, size(global)
      v = vertex_of(global(i))
      call check(partition(v, nprocs) == rank, 'a row is elsewhere')
      if (windows > 0 .and. i > 1) call check(global(i - 1) < global(i), 'rows are not in order')
      call check(x(i) == whole(v), 'x')
      call check(all(label(:, i) == [1, -1] * real(global(i), real64)), 'label')
      call check(first(i + 1) - first(i) == degree(v), 'the number of entries')
      do k = 1, degree(v)
        call check(number_at(column(first(i) + k - 1)) == number_of(neighbour(v, int(k))), 'column')
        call check(value(first(i) + k - 1) == weight(v, int(k)), 'value')
        call check(aimag(pairs(1, 2, first(i) + k - 1)) == weight(v, int(k)), 'pairs')
      end do
    end do
    call check(all(global_4 == global) .and. all(first_4 == first), 'indices of 4 bytes')
    total = size(global)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(total == vertices, 'the number of rows')
  end subroutine check_rows

  integer(int64) function number_at(local)
    integer(int64), intent(in) :: local

    call check(local >= 1 .and. local <= size(global) + halo%count, 'a local number')
    if (local <= size(global)) then
      number_at = global(local)
    else
      number_at = halo%global(local - size(global))
      call check(halo%owner(local - size(global)) == partition(vertex_of(number_at), nprocs), &
          'the owner of a ghost')
    end if
  end function number_at

  subroutine step()
    real(real64) :: next(size(global))
    integer(int64) :: i, k

    call adapt_ghosts_update(halo, x)
    do i = 1, size(global)
      next(i) = 0.125_real64 * x(i)
      do k = first(i), first(i + 1) - 1
        next(i) = next(i) + value(k) * 0.1_real64 * x(column(k))
      end do
    end do
    x(:size(next)) = next
    call step_whole(whole)
  end subroutine step

  ! ---- items in cells --------------------------------------------------------------------------

  subroutine make_cells()
    if (allocated(in_cell)) deallocate (in_cell, atom, position)
    allocate (in_cell(30 + rank), atom(slots, 30 + rank), position(3, slots, 30 + rank))
    in_cell = 0
    atom = -1
    position = -1
  end subroutine make_cells

  subroutine put(number, there)
    integer(int64), intent(in) :: number
    real(real64), intent(in) :: there(3)
    integer :: cell

    cell = 1 + int(mod(number, size(in_cell, kind=int64)))
    do while (in_cell(cell) == slots)
      cell = 1 + mod(cell, size(in_cell))
    end do
    in_cell(cell) = in_cell(cell) + 1
    atom(in_cell(cell), cell) = number
    position(:, in_cell(cell), cell) = there
  end subroutine put

  pure integer function owner_of(number, processes)
    integer(int64), intent(in) :: number
    integer, intent(in) :: processes

    owner_of = int(mod(number * 5, int(processes, int64)))
  end function owner_of

  subroutine make_atoms()
    integer(int64) :: number

    call make_cells()
    do number = 1, atoms
      if (owner_of(number, nprocs) == rank) &
          call put(number, real([number, -number, 0_int64], real64))
    end do
  end subroutine make_atoms

  subroutine check_atoms()
    integer :: cell, j, total

    do cell = 1, size(in_cell)
      do j = 1, in_cell(cell)
        call check(owner_of(atom(j, cell), nprocs) == rank, 'an atom is elsewhere')
        call check(all(position(:, j, cell) == [1, -1, 0] * real(atom(j, cell), real64)), &
            'position')
      end do
    end do
    total = sum(in_cell)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(total == atoms, 'the number of atoms')
  end subroutine check_atoms

  subroutine move_atoms(window)
    type(adapt_window), intent(in) :: window
    integer, allocatable :: destination(:, :)
    integer :: cell, j, copies

    if (window%old_rank >= 0) then
      do copies = 1, 4                                  ! of other processes' atoms
        call put(int(copies, int64), [0._real64, 0._real64, -2._real64])
      end do
      allocate (destination(slots, size(in_cell)))
      destination = -7
      do cell = 1, size(in_cell)
        do j = 1, in_cell(cell)
          if (position(3, j, cell) /= -2) destination(j, cell) &
              = owner_of(atom(j, cell), window%new_size)
        end do
      end do
    end if
    call adapt_move_cells(moved, window, in_cell, destination, atom, position)
  end subroutine move_atoms

  ! ---- windows ---------------------------------------------------------------------------------

  subroutine refuse(code, expected)
    integer, intent(in) :: code
    character(len=*), intent(in) :: expected
    character(len=400) :: text

    call adapt_message(text)
    call check(code == MPI_ERR_ARG .and. index(text, expected) > 0, 'not refused: '//trim(text))
  end subroutine refuse

  ! Wrong on one process, refused on all; nothing has moved.
  subroutine refuse_wrong(window, destination)
    type(adapt_window), intent(in) :: window
    integer, intent(in) :: destination(:)
    type(adapt_rows) :: rows
    integer :: code

    call adapt_move_rows(rows, window, &
        destination + merge(window%new_size, 0, window%old_rank == 0), global, first, &
                         ierror=code)
    call refuse(code, 'adapt_move_rows: the destination of a row is no rank')
    if (window%old_rank == 0) first(1) = 2
    call adapt_move_rows(rows, window, destination, global, first, ierror=code)
    if (window%old_rank == 0) first(1) = 1
    call refuse(code, 'does not begin with 1')
    if (window%old_rank == 0) then
      call adapt_move_rows(rows, window, destination, global, ierror=code)
    else
      call adapt_move_rows(rows, window, destination, global, first, ierror=code)
    end if
    call refuse(code, &
        'processes differ in their rows: integers of 8 bytes, first is absent on old rank 0')
    if (window%old_rank == 0) then
      call adapt_move_cells(moved, window, in_cell, reshape([0], [1, 1]), atom, ierror=code)
    else
      call adapt_move_cells(moved, window, ierror=code)
    end if
    call refuse(code, 'adapt_move_cells: ')
  end subroutine refuse_wrong

  subroutine moves(window)
    type(adapt_window), intent(inout) :: window
    type(adapt_rows) :: rows, rows_4
    integer, allocatable :: destination(:)
    integer :: i

    allocate (destination(0))
    if (window%old_rank >= 0) then
      x = x(:size(global))
      call adapt_ghosts_restore(halo, column)
      call adapt_ghosts_free(halo)
      destination = [(partition(vertex_of(global(i)), window%new_size), i=1, size(global))]
    end if
    call refuse_wrong(window, destination)
    call adapt_move_rows(rows, window, destination, global, first)
    call adapt_move_row_values(rows, window, 'x', x)
    call adapt_move_row_values(rows, window, 'label', label)
    call adapt_move_row_entries(rows, window, 'column', column)
    call adapt_move_row_entries(rows, window, 'value', value)
    call adapt_move_row_entries(rows, window, 'pairs', pairs)
    call adapt_move_rows(rows_4, window, destination, global_4, first_4)
    call move_atoms(window)
    call adapt_share_all(window, windows, whole)
    windows = windows + 1
  end subroutine moves

  ! Local numbers, a step, and numbers that have the same bits.
  subroutine begin_world()
    call adapt_ghosts_create(halo, global, column)
    x = [x, spread(0._real64, 1, halo%count)]
    call check_rows()
    call check_atoms()
    call step()
    call step()
    call check_rows()
  end subroutine begin_world

  subroutine after(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size
    integer(int64) :: i, number
    real(real64) :: there(3)

    rank = new_rank
    nprocs = new_size
    if (.not. allocated(global)) return                 ! the launch
    call make_cells()
    do i = 1, moved%count
      call adapt_cells_get(moved, i, number, there)
      call put(number, there)
    end do
    call begin_world()
  end subroutine after
end program elastic
