! The Fortran module adapt_data: tiles that move in place, of all types and of one to three
! dimensions, with bounds that number the cells through the domain and with bounds of each tile's
! own.  What does not fit is refused on all processes, and the old tiles have their fields again.
! SPEC-epop D4, V1, F1.  Argument: the number of adaptations.
module plane
  use mpi_f08
  use adapt_data
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  ! tiles of each process, cut along the first axis
  integer, parameter :: nx = 29, ny = 7, nz = 3, each = 2

  type :: tile_type
    integer :: low(3), high(3)
    real(real64), allocatable :: u(:, :)                ! numbered through the domain
    real(real32), allocatable :: p(:, :)
    integer(int32), allocatable :: k(:, :)
    integer(int64), allocatable :: m(:, :)
    complex(real32), allocatable :: c(:, :)
    complex(real64), allocatable :: z(:, :)
    integer(int64), allocatable :: line(:)
    real(real32), allocatable :: own(:, :)              ! from 1 in each tile
    real(real64), allocatable :: block(:, :, :)
    real(real32), allocatable :: fine(:, :, :)
  end type tile_type

  type(tile_type), allocatable :: tiles(:)
  integer :: wrong = 0                                  ! which mistake list_2 makes
contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(2a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 99)
  end subroutine check

  pure integer function value_at(i, j, k, field)
    integer, intent(in) :: i, j, k, field

    value_at = 1 + i + 100 * (j + 10 * (k + 10 * field))
  end function value_at

  pure complex(real32) function c_at(i, j)
    integer, intent(in) :: i, j

    c_at = cmplx(value_at(i, j, 0, 5), 1)
  end function c_at

  pure complex(real64) function z_at(i, j)
    integer, intent(in) :: i, j

    z_at = cmplx(1, value_at(i, j, 0, 6), real64)
  end function z_at

  subroutine cells(tile, rank, size, low, high)
    integer, intent(in) :: tile, rank, size
    integer, intent(out) :: low(:), high(:)
    integer :: number

    number = rank * each + tile - 1
    low = 1
    low(1) = nx * number / (each * size) + 1
    high(1) = nx * (number + 1) / (each * size)
    if (ubound(high, 1) > 1) high(2) = ny
    if (ubound(high, 1) > 2) high(3) = nz
  end subroutine cells

  ! The second tile lies over the first.
  subroutine same_cells(tile, rank, size, low, high)
    integer, intent(in) :: tile, rank, size
    integer, intent(out) :: low(:), high(:)

    integer :: first(ubound(low, 1)), last(ubound(low, 1))

    call cells(tile, rank, size, low, high)
    call cells(1, rank, size, first, last)
    high(1) = high(1) - low(1) + first(1)
    low(1) = first(1)
  end subroutine same_cells

  subroutine build(rank, size)
    integer, intent(in) :: rank, size
    integer :: t, l(3), h(3), n(3)

    if (allocated(tiles)) deallocate (tiles)
    allocate (tiles(each))
    do t = 1, each
      call cells(t, rank, size, tiles(t)%low, tiles(t)%high)
      l = tiles(t)%low
      h = tiles(t)%high
      n = h - l + 1
      allocate (tiles(t)%u(l(1) - 1:h(1) + 2, l(2) - 2:h(2) + 2), source=0.0_real64)
      allocate (tiles(t)%p(l(1):h(1), l(2):h(2)), source=0.0_real32)
      allocate (tiles(t)%k(l(1):h(1), l(2):h(2) + 1), source=0)
      allocate (tiles(t)%m(l(1):h(1), l(2):h(2)), source=0_int64)
      allocate (tiles(t)%c(l(1):h(1), l(2):h(2)), source=(0.0_real32, 0.0_real32))
      allocate (tiles(t)%z(l(1):h(1), l(2):h(2)), source=(0.0_real64, 0.0_real64))
      allocate (tiles(t)%line(l(1) - 3:h(1) + 3), source=0_int64)
      allocate (tiles(t)%own(n(1), n(2)), source=0.0_real32)
      allocate (tiles(t)%block(n(1), n(2), n(3)), source=0.0_real64)
      allocate (tiles(t)%fine(0:n(1) + 2, n(2) + 1, n(3)), source=0.0_real32)
    end do
  end subroutine build

  subroutine list_2(fields, tile)
    type(adapt_fields), intent(inout) :: fields
    integer, intent(in) :: tile

    call adapt_tile_field(fields, 'u', tiles(tile)%u, nodes=[1, 0], &
        ghost=[1, merge(1, 2, wrong == 1)])
    if (wrong == 2) call adapt_field(fields, 'any', tiles(tile)%p)
    if (wrong /= 3 .or. tile == 1) call adapt_tile_field(fields, 'p', tiles(tile)%p)
    if (wrong == 4) call adapt_tile_field(fields, 'own', tiles(tile)%own)
    call adapt_tile_field(fields, 'k', tiles(tile)%k, nodes=[0, 1])
    call adapt_tile_field(fields, 'm', tiles(tile)%m)
    call adapt_tile_field(fields, 'c', tiles(tile)%c)
    call adapt_tile_field(fields, 'z', tiles(tile)%z)
  end subroutine list_2

  subroutine list_1(fields, tile)
    type(adapt_fields), intent(inout) :: fields
    integer, intent(in) :: tile

    call adapt_tile_field(fields, 'line', tiles(tile)%line, ghost=[3])
  end subroutine list_1

  subroutine list_3(fields, tile)
    type(adapt_fields), intent(inout) :: fields
    integer, intent(in) :: tile

    call adapt_tile_field(fields, 'block', tiles(tile)%block)
    call adapt_tile_field(fields, 'fine', tiles(tile)%fine, nodes=[1, 1, 0], ghost=[1, 0, 0])
  end subroutine list_3

  subroutine list_none(fields, tile)
    type(adapt_fields), intent(inout) :: fields
    integer, intent(in) :: tile

    call check(fields%phase >= 0 .and. tile > 0, 'a tile')
  end subroutine list_none

  ! Sets (as .true.) or compares every value that a box has, with those on the sides of cells.
  subroutine go_through(sets)
    logical, intent(in) :: sets
    integer :: t, i, j, k

    do t = 1, each
      associate (tile => tiles(t), l => tiles(t)%low, h => tiles(t)%high)
        do i = l(1), h(1) + 1
          do j = l(2), h(2) + 1
            if (j <= h(2)) call real_value(tile%u(i, j), i, j, 0, 1)
            if (i <= h(1)) call integer_value(tile%k(i, j), i, j, 0, 3)
            do k = l(3), h(3)
              call real32_value(tile%fine(i - l(1) + 1, j, k), i, j, k, 9)
            end do
          end do
        end do
        do i = l(1), h(1)
          call int64_value(tile%line(i), i, 0, 0, 7)
          do j = l(2), h(2)
            call real32_value(tile%p(i, j), i, j, 0, 2)
            call int64_value(tile%m(i, j), i, j, 0, 4)
            if (sets) tile%c(i, j) = c_at(i, j)
            if (sets) tile%z(i, j) = z_at(i, j)
            call check(nint(real(tile%c(i, j))) == nint(real(c_at(i, j))), 'a value of c')
            call check(nint(aimag(tile%c(i, j))) == nint(aimag(c_at(i, j))), 'a value of c')
            call check(nint(real(tile%z(i, j))) == nint(real(z_at(i, j))), 'a value of z')
            call check(nint(aimag(tile%z(i, j))) == nint(aimag(z_at(i, j))), 'a value of z')
            do k = l(3), h(3)
              call real_value(tile%block(i - l(1) + 1, j, k), i, j, k, 8)
            end do
          end do
        end do
      end associate
    end do
  contains
    subroutine real_value(it, i, j, k, field)
      real(real64), intent(inout) :: it
      integer, intent(in) :: i, j, k, field

      if (sets) it = value_at(i, j, k, field)
      call check(int(it) == value_at(i, j, k, field), 'a value of type real64')
    end subroutine real_value
    subroutine real32_value(it, i, j, k, field)
      real(real32), intent(inout) :: it
      integer, intent(in) :: i, j, k, field

      if (sets) it = real(value_at(i, j, k, field), real32)
      call check(int(it) == value_at(i, j, k, field), 'a value of type real32')
    end subroutine real32_value
    subroutine integer_value(it, i, j, k, field)
      integer(int32), intent(inout) :: it
      integer, intent(in) :: i, j, k, field

      if (sets) it = value_at(i, j, k, field)
      call check(it == value_at(i, j, k, field), 'a value of type int32')
    end subroutine integer_value
    subroutine int64_value(it, i, j, k, field)
      integer(int64), intent(inout) :: it
      integer, intent(in) :: i, j, k, field

      if (sets) it = value_at(i, j, k, field)
      call check(it == value_at(i, j, k, field), 'a value of type int64')
    end subroutine int64_value
  end subroutine go_through
end module plane

program elastic
  use plane
  implicit none
  integer :: status, epochs, epoch = 0, rank = 0, size = 0
  double precision :: last
  character(len=16) :: word

  call get_command_argument(1, word)
  read (word, *) epochs
  call MPI_Init_adapt(status)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  if (.not. adapt_enter(status, moves, after)) then
    call build(rank, size)
    call go_through(.true.)
  end if
  last = MPI_Wtime()
  do while (epoch < epochs)
    call check(MPI_Wtime() - last < 90d0, 'no adaptation')
    call MPI_Barrier(MPI_COMM_WORLD)
    if (.not. adapt_world(moves, after)) cycle
    last = MPI_Wtime()
  end do
  if (rank == 0) print '(2(a,i0))', 'PASS epoch=', epochs, ' size=', size
  call MPI_Finalize()

contains

  subroutine after(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size

    if (epoch > 0) call go_through(.false.)
    rank = new_rank
    size = new_size
  end subroutine after

  subroutine moves(window)
    type(adapt_window), intent(inout) :: window
    integer :: t

    epoch = epoch + 1
    call adapt_share(window, epoch)
    call try_errors(window)
    call adapt_move_tiles(window, each, list_2, keep_others)
    call check(window%new_rank >= 0 &
        .or. .not. allocated(tiles(1)%u), 'a leaving process has a field')
    call adapt_move_tiles(window, each, list_1, keep_others)
    call adapt_move_tiles(window, each, list_3, keep_others, tile=cells)
    if (window%new_rank >= 0) return
    do t = 1, each
      call check(.not. allocated(tiles(t)%line) &
          .and. .not. allocated(tiles(t)%fine), 'a leaving process has fields')
    end do
  end subroutine moves

  ! Three moves of the fields of one tile, so `build` must not touch those of the other moves.
  subroutine keep_others(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size
    type(tile_type), allocatable :: former(:)
    integer :: t

    call move_alloc(tiles, former)
    call build(new_rank, new_size)
    if (.not. allocated(former)) return
    do t = 1, each
      if (allocated(former(t)%u)) call move_alloc(former(t)%u, tiles(t)%u)
      if (allocated(former(t)%p)) call move_alloc(former(t)%p, tiles(t)%p)
      if (allocated(former(t)%k)) call move_alloc(former(t)%k, tiles(t)%k)
      if (allocated(former(t)%m)) call move_alloc(former(t)%m, tiles(t)%m)
      if (allocated(former(t)%c)) call move_alloc(former(t)%c, tiles(t)%c)
      if (allocated(former(t)%z)) call move_alloc(former(t)%z, tiles(t)%z)
      if (allocated(former(t)%line)) call move_alloc(former(t)%line, tiles(t)%line)
      if (allocated(former(t)%block)) call move_alloc(former(t)%block, tiles(t)%block)
      if (allocated(former(t)%fine)) call move_alloc(former(t)%fine, tiles(t)%fine)
    end do
  end subroutine keep_others

  subroutine refused(code, part, window)
    integer, intent(in) :: code
    character(len=*), intent(in) :: part
    type(adapt_window), intent(in) :: window
    character(len=400) :: why

    call adapt_message(why)
    call check(code == MPI_ERR_ARG, 'not refused: '//part)
    call check(index(why, 'adapt_move_tiles: ') == 1 .and. index(why, part) > 0, part//': '//why)
    if (window%old_rank >= 0) call go_through(.false.)
  end subroutine refused

  subroutine try_errors(window)
    type(adapt_window), intent(in) :: window
    type(adapt_window) :: closed
    real(real64), allocatable :: saved(:, :)
    integer :: code

    wrong = 1
    call adapt_move_tiles(window, each, list_2, keep_others, ierror=code)
    call refused(code, 'needed with nodes and ghost layers are', window)
    call adapt_move_tiles(window, each, list_2, keep_others, cells, code)
    call refused(code, 'needed with nodes and ghost layers are', window)
    wrong = 2
    call adapt_move_tiles(window, each, list_2, keep_others, ierror=code)
    call refused(code, 'needs adapt_tile_field', window)
    wrong = 3
    call adapt_move_tiles(window, each, list_2, keep_others, ierror=code)
    call refused(code, "field 'p' has 1", window)
    wrong = 4
    call adapt_move_tiles(window, each, list_2, keep_others, ierror=code)
    call refused(code, "field 'own' begins at 1 along axis 1", window)
    wrong = 0
    ! numbered from 1 in each
    call adapt_move_tiles(window, each, list_3, keep_others, ierror=code)
    call refused(code, 'overlap', window)
    call adapt_move_tiles(window, each, list_3, keep_others, same_cells, code)
    call refused(code, 'overlap', window)
    call adapt_move_tiles(window, 0, list_2, keep_others, ierror=code)
    call refused(code, 'less than 1', window)
    call adapt_move_tiles(window, each, list_none, keep_others, ierror=code)
    call refused(code, 'listed no field', window)
    if (window%old_rank == 0) call move_alloc(tiles(2)%u, saved)
    call adapt_move_tiles(window, each, list_2, keep_others, ierror=code)
    if (window%old_rank == 0) call move_alloc(saved, tiles(2)%u)
    call refused(code, 'is not allocated (old rank 0)', window)
    if (window%old_rank == 0) call adapt_move_tiles(window, each, list_1, keep_others, ierror=code)
    if (window%old_rank /= 0) call adapt_move_tiles(window, each, list_1, keep_others, cells, code)
    call refused(code, 'processes differ in the tiles', window)
    call adapt_move_tiles(closed, each, list_2, keep_others, ierror=code)
    call check(code == MPI_ERR_ARG, 'a closed window is not refused')
    if (window%old_rank < 0 .and. allocated(tiles)) deallocate (tiles)
  end subroutine try_errors

end program elastic
