! Advection and diffusion of a dye in a plane, with tiles: each process has a chunk of the domain,
! cut into several tiles, so that a tile's arrays fit into a cache.  Cells have a layer of ghosts
! around, sides of cells have speeds.
!
!     mpiexec -n P tiles_rigid [STEPS [NX [NY [TILES]]]]      writes tiles.history
!
! Its result has the same bits for any number of processes and tiles.
module types
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none

  type :: tile_type
    ! its cells, numbered through the domain from 1
    integer :: low(2), high(2)
    ! tiles to the west, east, south, north; 0: wall
    integer :: neighbour(4)
    real(real64), allocatable :: dye(:, :), heat(:, :)          ! of cells, with one ghost layer
    real(real64), allocatable :: salt(:, :)
    ! speeds through the west and east sides of cells
    real(real64), allocatable :: u(:, :)
    real(real64), allocatable :: v(:, :)                ! through the south and north sides
    real(real64), allocatable :: age(:, :)              ! of cells, without ghosts
    real(real64), allocatable :: flux_x(:, :), flux_y(:, :)     ! made anew in each step
  end type tile_type

  type :: settings_type
    integer :: steps = 100, nx = 60, ny = 52, tiles = 3, every = 10
    real(real64) :: diffusion = 0.05_real64, width = 6, shear = 0.3_real64
  end type settings_type
end module types

module domain
  use types
  use mpi_f08
  implicit none
  type(settings_type) :: settings
  type(tile_type), allocatable :: tiles(:)              ! of this process
  integer :: rank, size, chunks(2)                      ! chunks along each axis
contains

  ! As near to a square as the number of processes allows.
  pure function chunk_grid(processes) result(grid)
    integer, intent(in) :: processes
    integer :: grid(2), k

    grid = [1, processes]
    do k = 1, processes
      if (k * k <= processes .and. mod(processes, k) == 0) grid = [k, processes / k]
    end do
  end function chunk_grid

  ! The cells of tile number k (from 1) of all; a process has `settings%tiles` of them, one above
  ! the other.
  pure subroutine tile_cells(k, processes, low, high)
    integer, intent(in) :: k, processes
    integer, intent(out) :: low(2), high(2)
    integer :: grid(2), coordinates(2), counts(2)

    grid = chunk_grid(processes)
    counts = [grid(1), grid(2) * settings%tiles]
    coordinates = tile_coordinates(k, grid)
    low = [settings%nx, settings%ny] * coordinates / counts + 1
    high = [settings%nx, settings%ny] * (coordinates + 1) / counts
  end subroutine tile_cells

  ! Its coordinates in the grid of all tiles, from 0.
  pure function tile_coordinates(k, grid) result(coordinates)
    integer, intent(in) :: k, grid(2)
    integer :: coordinates(2), owner

    owner = (k - 1) / settings%tiles
    coordinates = [mod(owner, grid(1)), &
        owner / grid(1) * settings%tiles + mod(k - 1, settings%tiles)]
  end function tile_coordinates

  ! The number of the tile at some coordinates; 0: there is none.
  pure integer function tile_at(at, grid)
    integer, intent(in) :: at(2), grid(2)

    tile_at = 0
    if (any(at < 0) .or. at(1) >= grid(1) .or. at(2) >= grid(2) * settings%tiles) return
    tile_at = (at(2) / settings%tiles * grid(1) + at(1)) * settings%tiles &
        + mod(at(2), settings%tiles) + 1
  end function tile_at

  pure integer function owner_of(k)
    integer, intent(in) :: k

    owner_of = (k - 1) / settings%tiles
  end function owner_of

  ! Bounds, neighbours and arrays of the tiles of a process.
  subroutine build_tiles(of_rank, processes, built)
    integer, intent(in) :: of_rank, processes
    type(tile_type), allocatable, intent(out) :: built(:)
    integer, parameter :: west_east_south_north(2, 4) = reshape([-1, 0, 1, 0, 0, -1, 0, 1], [2, 4])
    integer :: t, k, side, grid(2)

    grid = chunk_grid(processes)
    allocate (built(settings%tiles))
    do t = 1, settings%tiles
      k = of_rank * settings%tiles + t
      call tile_cells(k, processes, built(t)%low, built(t)%high)
      do side = 1, 4
        built(t)%neighbour(side) = tile_at(tile_coordinates(k, grid) &
            + west_east_south_north(:, side), grid)
      end do
      call allocate_fields(built(t))
    end do
  end subroutine build_tiles

  subroutine allocate_fields(tile)
    type(tile_type), intent(inout) :: tile
    integer :: l(2), h(2)

    l = tile%low
    h = tile%high
    allocate (tile%dye(l(1) - 1:h(1) + 1, l(2) - 1:h(2) + 1), source=0.0_real64)
    allocate (tile%heat(l(1) - 1:h(1) + 1, l(2) - 1:h(2) + 1), source=0.0_real64)
    allocate (tile%salt(l(1) - 1:h(1) + 1, l(2) - 1:h(2) + 1), source=0.0_real64)
    allocate (tile%u(l(1):h(1) + 1, l(2):h(2)), source=0.0_real64)
    allocate (tile%v(l(1):h(1), l(2):h(2) + 1), source=0.0_real64)
    allocate (tile%age(l(1):h(1), l(2):h(2)), source=0.0_real64)
    allocate (tile%flux_x(l(1):h(1) + 1, l(2):h(2)), source=0.0_real64)
    allocate (tile%flux_y(l(1):h(1), l(2):h(2) + 1), source=0.0_real64)
  end subroutine allocate_fields

  subroutine set_up(new_rank, new_size)
    integer, intent(in) :: new_rank, new_size

    rank = new_rank
    size = new_size
    chunks = chunk_grid(size)
  end subroutine set_up
end module domain

module halo
  use domain
  implicit none
  integer, parameter :: west = 1, east = 2, south = 3, north = 4
  integer, parameter :: opposite(4) = [east, west, north, south]
contains

  ! The neighbours' outermost cells; at a wall the tile's own.
  subroutine exchange(field)
    integer, intent(in) :: field
    type(MPI_Request) :: requests(8 * settings%tiles)
    real(real64), allocatable, asynchronous :: sent(:, :, :), come(:, :, :)
    integer :: t, side, count, length, longest

    longest = 0
    do t = 1, settings%tiles
      longest = max(longest, maxval(tiles(t)%high - tiles(t)%low) + 1)
    end do
    allocate (sent(longest, 4, settings%tiles), come(longest, 4, settings%tiles))
    count = 0
    do t = 1, settings%tiles
      do side = 1, 4
        associate (tile => tiles(t), other => tiles(t)%neighbour(side))
          if (other == 0) cycle
          call pack_side(tile, field, side, .true., sent(:, side, t), length)
          count = count + 1
          call MPI_Irecv(come(1, side, t), length, MPI_DOUBLE_PRECISION, owner_of(other), &
                         tag_of(other, opposite(side)), MPI_COMM_WORLD, requests(count))
          count = count + 1
          call MPI_Isend(sent(1, side, t), length, MPI_DOUBLE_PRECISION, owner_of(other), &
                         tag_of(rank * settings%tiles + t, side), MPI_COMM_WORLD, requests(count))
        end associate
      end do
    end do
    call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)
    do t = 1, settings%tiles
      do side = 1, 4
        if (tiles(t)%neighbour(side) == 0) then
          call pack_side(tiles(t), field, side, .true., come(:, side, t), length)
        end if
        call unpack_side(tiles(t), field, side, come(:, side, t))
      end do
    end do
  end subroutine exchange

  pure integer function tag_of(k, side)
    integer, intent(in) :: k, side

    tag_of = 4 * k + side
  end function tag_of

  subroutine pack_side(tile, field, side, inner, line, length)
    type(tile_type), intent(in), target :: tile
    integer, intent(in) :: field, side
    logical, intent(in) :: inner
    real(real64), intent(inout) :: line(:)
    integer, intent(out) :: length
    real(real64), pointer :: a(:, :)
    integer :: off

    call field_of(tile, field, a)
    off = merge(0, 1, inner)
    length = merge(tile%high(2) - tile%low(2), tile%high(1) - tile%low(1), side <= east) + 1
    select case (side)
    case (west)
      line(:length) = a(tile%low(1) - off, tile%low(2):tile%high(2))
    case (east)
      line(:length) = a(tile%high(1) + off, tile%low(2):tile%high(2))
    case (south)
      line(:length) = a(tile%low(1):tile%high(1), tile%low(2) - off)
    case (north)
      line(:length) = a(tile%low(1):tile%high(1), tile%high(2) + off)
    end select
  end subroutine pack_side

  subroutine unpack_side(tile, field, side, line)
    type(tile_type), intent(in), target :: tile
    integer, intent(in) :: field, side
    real(real64), intent(in) :: line(:)
    real(real64), pointer :: a(:, :)

    call field_of(tile, field, a)
    select case (side)
    case (west)
      a(tile%low(1) - 1, tile%low(2):tile%high(2)) = line(:tile%high(2) - tile%low(2) + 1)
    case (east)
      a(tile%high(1) + 1, tile%low(2):tile%high(2)) = line(:tile%high(2) - tile%low(2) + 1)
    case (south)
      a(tile%low(1):tile%high(1), tile%low(2) - 1) = line(:tile%high(1) - tile%low(1) + 1)
    case (north)
      a(tile%low(1):tile%high(1), tile%high(2) + 1) = line(:tile%high(1) - tile%low(1) + 1)
    end select
  end subroutine unpack_side

  subroutine field_of(tile, field, a)
    type(tile_type), intent(in), target :: tile
    integer, intent(in) :: field
    real(real64), pointer, intent(out) :: a(:, :)

    select case (field)
    case (1)
      a(tile%low(1) - 1:, tile%low(2) - 1:) => tile%dye
    case (2)
      a(tile%low(1) - 1:, tile%low(2) - 1:) => tile%heat
    case default
      a(tile%low(1) - 1:, tile%low(2) - 1:) => tile%salt
    end select
  end subroutine field_of
end module halo

module physics
  use halo
  implicit none
  integer, parameter :: fields = 3
contains

  subroutine first_values()
    integer :: t, i, j
    real(real64) :: x, y

    do t = 1, settings%tiles
      associate (tile => tiles(t))
        do j = tile%low(2), tile%high(2)
          do i = tile%low(1), tile%high(1)
            x = (i - 0.4_real64 * settings%nx) / settings%width
            y = (j - 0.6_real64 * settings%ny) / settings%width
            tile%dye(i, j) = 1 / (1 + x * x + y * y)
            tile%heat(i, j) = 1 + 0.01_real64 * mod(7 * i + 3 * j, 11)
            tile%salt(i, j) = 0.1_real64 * mod(i + 2 * j, 5)
          end do
        end do
      end associate
    end do
    call first_speeds()
  end subroutine first_values

  ! No flow through walls.
  subroutine first_speeds()
    integer :: t, i, j

    do t = 1, settings%tiles
      associate (tile => tiles(t))
        do j = tile%low(2), tile%high(2)
          do i = tile%low(1), tile%high(1) + 1
            if (i > 1 .and. i <= settings%nx) tile%u(i, j) = &
              settings%shear * (j - 0.5_real64 * settings%ny) / settings%ny
          end do
        end do
        do j = tile%low(2), tile%high(2) + 1
          do i = tile%low(1), tile%high(1)
            if (j > 1 .and. j <= settings%ny) tile%v(i, j) = &
              -settings%shear * (i - 0.5_real64 * settings%nx) / settings%nx
          end do
        end do
      end associate
    end do
  end subroutine first_speeds

  ! What flows through the sides of cells, upwind, and by diffusion.
  subroutine fluxes(tile, a)
    type(tile_type), intent(inout) :: tile
    real(real64), intent(in) :: a(tile%low(1) - 1:, tile%low(2) - 1:)
    integer :: i, j

    do j = tile%low(2), tile%high(2)
      do i = tile%low(1), tile%high(1) + 1
        tile%flux_x(i, j) = tile%u(i, j) * merge(a(i - 1, j), a(i, j), tile%u(i, j) > 0) + &
                            settings%diffusion * (a(i - 1, j) - a(i, j))
      end do
    end do
    do j = tile%low(2), tile%high(2) + 1
      do i = tile%low(1), tile%high(1)
        tile%flux_y(i, j) = tile%v(i, j) * merge(a(i, j - 1), a(i, j), tile%v(i, j) > 0) + &
                            settings%diffusion * (a(i, j - 1) - a(i, j))
      end do
    end do
  end subroutine fluxes

  subroutine advance_field(tile, a)
    type(tile_type), intent(inout) :: tile
    real(real64), intent(inout) :: a(tile%low(1) - 1:, tile%low(2) - 1:)
    integer :: i, j

    call fluxes(tile, a)
    do j = tile%low(2), tile%high(2)
      do i = tile%low(1), tile%high(1)
        a(i, j) = a(i, j) + ((tile%flux_x(i, j) - tile%flux_x(i + 1, j)) &
                             + (tile%flux_y(i, j) - tile%flux_y(i, j + 1)))
      end do
    end do
  end subroutine advance_field

  ! Speeds slow down, most where the heat is large; both tiles at a side compute the same.
  subroutine slow_down()
    integer :: t, i, j

    do t = 1, settings%tiles
      associate (tile => tiles(t))
        do j = tile%low(2), tile%high(2)
          do i = tile%low(1), tile%high(1) + 1
            tile%u(i, j) = tile%u(i, j) &
                * (1 - 0.001_real64 * (tile%heat(i - 1, j) + tile%heat(i, j)))
          end do
        end do
        do j = tile%low(2), tile%high(2) + 1
          do i = tile%low(1), tile%high(1)
            tile%v(i, j) = tile%v(i, j) &
                * (1 - 0.001_real64 * (tile%heat(i, j - 1) + tile%heat(i, j)))
          end do
        end do
        tile%age = tile%age + tile%dye(tile%low(1):tile%high(1), tile%low(2):tile%high(2))
      end associate
    end do
  end subroutine slow_down

  subroutine advance()
    integer :: t, field

    do field = 1, fields
      call exchange(field)
    end do
    call slow_down()
    do t = 1, settings%tiles
      call advance_field(tiles(t), tiles(t)%dye)
      call advance_field(tiles(t), tiles(t)%heat)
      call advance_field(tiles(t), tiles(t)%salt)
    end do
  end subroutine advance
end module physics

module output
  use domain
  implicit none
  integer :: history = -1                               ! unit of rank 0
contains

  subroutine open_history()
    if (rank == 0) open (newunit=history, file='tiles.history', status='replace', action='write')
  end subroutine open_history

  ! The largest dye; maxima are the same in any order.
  subroutine write_history(step)
    integer, intent(in) :: step
    real(real64) :: largest
    integer :: t

    largest = 0
    do t = 1, settings%tiles
      associate (tile => tiles(t))
        largest = max(largest, maxval(tile%dye(tile%low(1):tile%high(1), tile%low(2):tile%high(2))))
      end associate
    end do
    call MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    if (rank == 0) write (history, '(i6,es24.16)') step, largest
  end subroutine write_history

  ! A sum of all bits of all fields: no rounding.
  subroutine report(step, cells)
    integer, intent(in) :: step
    real(real64), intent(in) :: cells(1)
    integer(int64) :: bits, all
    real(real64) :: computed(1)
    integer :: t, i, j

    bits = 0
    do t = 1, settings%tiles
      associate (tile => tiles(t))
        do j = tile%low(2), tile%high(2)
          do i = tile%low(1), tile%high(1)
            bits = ieor(bits, ishftc(transfer(tile%dye(i, j), bits), mod(i + 7 * j, 64)))
            bits = ieor(bits, ishftc(transfer(tile%heat(i, j), bits), mod(3 * i + j, 64)))
            bits = ieor(bits, ishftc(transfer(tile%salt(i, j), bits), mod(5 * i + 3 * j, 64)))
            bits = ieor(bits, ishftc(transfer(tile%u(i, j), bits), mod(i + j, 64)))
            bits = ieor(bits, ishftc(transfer(tile%v(i, j), bits), mod(i + 2 * j, 64)))
            bits = ieor(bits, ishftc(transfer(tile%age(i, j), bits), mod(11 * i + j, 64)))
          end do
        end do
      end associate
    end do
    call MPI_Reduce(bits, all, 1, MPI_INTEGER8, MPI_BXOR, 0, MPI_COMM_WORLD)
    call MPI_Reduce(cells, computed, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a,i0,a,z16.16,a,f0.0)', 'result ', step, ' ', all, ' ', computed(1)
    if (history >= 0) close (history)
  end subroutine report

  subroutine read_settings()
    character(len=16) :: word
    integer :: k, values(4)

    values = [settings%steps, settings%nx, settings%ny, settings%tiles]
    do k = 1, min(command_argument_count(), 4)
      call get_command_argument(k, word)
      read (word, *) values(k)
    end do
    settings%steps = values(1)
    settings%nx = values(2)
    settings%ny = values(3)
    settings%tiles = values(4)
  end subroutine read_settings
end module output

program main
  use physics
  use output
  implicit none
  integer :: step = 0, my_rank, processes
  real(real64) :: cells(1) = 0                          ! computed by this process

  call MPI_Init()
  call read_settings()
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank)
  call MPI_Comm_size(MPI_COMM_WORLD, processes)
  call set_up(my_rank, processes)
  call build_tiles(rank, size, tiles)
  call first_values()
  call open_history()
  do while (step < settings%steps)
    call advance()
    step = step + 1
    cells = cells + count_cells()
    if (mod(step, settings%every) == 0) call write_history(step)
  end do
  call report(step, cells)
  call MPI_Finalize()

contains

  integer function count_cells()
    integer :: t

    count_cells = 0
    do t = 1, settings%tiles
      count_cells = count_cells + product(tiles(t)%high - tiles(t)%low + 1)
    end do
  end function count_cells
end program main
