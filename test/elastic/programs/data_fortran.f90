! The Fortran module adapt_data: allocatable arrays of all types and ranks, with ghost slices,
! bounds other than 1 and global bounds, moved in each window at once or started and waited for in
! another order.  Every element encodes its position.  Joining processes have nothing allocated and
! learn the slices' shape; wrong use is refused on all processes and moves nothing.  Items go to the
! process that each is destined for, arrays of them side by side.  SPEC-epop D1 to D4, D6, X1, F3,
! F4.  Arguments: the number of adaptations; "grid" if all sizes are squares.
program elastic
  use mpi_f08
  use adapt_data
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  integer, parameter :: n = 1003, few = 2, items = 211
  ! the last dimension is split; bounds of the others are not 1 everywhere
  real(real64), allocatable, target :: field(:, :)
  real(real32), allocatable, target :: brick(:, :, :)
  integer(int32), allocatable, target :: numbers(:), few_numbers(:)
  integer(int64), allocatable, target :: wide(:, :)
  complex(real32), allocatable, target :: waves(:, :)
  complex(real64), allocatable, target :: spectrum(:), uneven(:)
  integer(int32), allocatable, target :: nothing(:, :)
  real(real64), allocatable, target :: cells(:, :)
  real(real32), allocatable, target :: faces(:, :, :)
  ! items: their numbers, positions from 0, and tags that one process has all of
  integer(int64), allocatable, target :: item(:)
  real(real64), allocatable, target :: position(:, :)
  complex(real32), allocatable, target :: tag(:)
  type(adapt_array) :: of_field, of_brick, of_numbers, of_few, of_wide, of_waves, of_spectrum
  type(adapt_array) :: of_uneven, of_nothing
  integer :: status, pending, rank, nprocs, epoch, epochs
  type(MPI_Info) :: info
  double precision :: last
  character(len=256) :: word
  logical :: with_grid

  call get_command_argument(1, word)
  read (word, *) epochs
  call get_command_argument(2, word)
  with_grid = word == 'grid'
  epoch = 0
  call MPI_Init_adapt(status)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  call create()
  if (status == MPI_ADAPT_STATUS_JOINING) then
    call adapt()
  else
    call fill()
    call check_all()
  end if
  last = MPI_Wtime()
  do while (epoch < epochs)
    call check(MPI_Wtime() - last < 90d0, 'no adaptation')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Probe_adapt(pending, status, info)
    if (pending == MPI_ADAPT_FALSE) cycle
    call MPI_Info_free(info)
    call adapt()
    last = MPI_Wtime()
  end do
  call destroy()
  if (rank == 0) write (*, '(a,i0,a,i0)') 'PASS epoch=', epoch, ' size=', nprocs
  call MPI_Finalize()

contains

  subroutine create()
    call adapt_create(of_field, 'field', adapt_block(n), ghost=1, global=.true.)
    call adapt_create(of_brick, 'brick', adapt_block_cyclic(n, 3))
    call adapt_create(of_numbers, 'numbers', adapt_block_free(int(n, int64)))
    call adapt_create(of_few, 'few', adapt_block(few))
    call adapt_create(of_wide, 'wide', adapt_same(5))
    call adapt_create(of_waves, 'waves', adapt_user(pieces), ghost=2)
    if (with_grid) call adapt_create(of_spectrum, 'spectrum', adapt_grid(1, n))
    call adapt_create(of_uneven, 'uneven', adapt_irregular(uneven_split), global=.true.)
    call adapt_create(of_nothing, 'nothing', adapt_block(n))
  end subroutine create

  subroutine destroy()
    call adapt_free(of_field)
    call adapt_free(of_brick)
    call adapt_free(of_numbers)
    call adapt_free(of_few)
    call adapt_free(of_wide)
    call adapt_free(of_waves)
    if (with_grid) call adapt_free(of_spectrum)
    call adapt_free(of_uneven)
    call adapt_free(of_nothing)
  end subroutine destroy

  ! Rank r has a share that grows with r.
  integer(c_int) function uneven_split(old_size, old_lengths, new_size, new_lengths, state) bind(C)
    integer(c_int), value :: old_size, new_size
    integer(c_int64_t), intent(in) :: old_lengths(old_size)
    integer(c_int64_t), intent(out) :: new_lengths(new_size)
    type(c_ptr), value :: state
    integer :: r

    call check(sum(old_lengths) == n, 'sum of the lengths')
    do r = 0, new_size - 1
      new_lengths(r + 1) = share(r + 1, new_size) - share(r, new_size)
    end do
    uneven_split = 0
  end function uneven_split

  integer function share(r, size)
    integer, intent(in) :: r, size

    share = n * r * (r + 1) / (size * (size + 1))
  end function share

  ! Two dimensions: 1 to 23, -3 to 13.
  integer(c_int) function boxes_2(r, size, most, found, state) bind(C)
    integer(c_int), value :: r, size, most
    type(adapt_box) :: found(most)
    type(c_ptr), value :: state

    if (most > 0) found(1) = adapt_even_box([1, -3], [23, 13], r, size)
    boxes_2 = 1
  end function boxes_2

  integer(c_int) function boxes_3(r, size, most, found, state) bind(C)
    integer(c_int), value :: r, size, most
    type(adapt_box) :: found(most)
    type(c_ptr), value :: state

    if (most > 0) found(1) = adapt_even_box([0, 1, 1], [5, 9, 4], r, size)
    boxes_3 = 1
  end function boxes_3

  subroutine fill_boxes()
    type(adapt_box) :: b
    integer :: i, j, k

    b = adapt_even_box([1, -3], [23, 13], rank, nprocs)
    allocate (cells(b%low(1) - 2:b%high(1) + 1, b%low(2) - 2:b%high(2) + 1))
    cells = -1
    do j = int(b%low(2)), int(b%high(2)) - 1
      do i = int(b%low(1)), int(b%high(1)) - 1
        cells(i, j) = value(i, j)
      end do
    end do
    b = adapt_even_box([0, 1, 1], [5, 9, 4], rank, nprocs)
    allocate (faces(b%low(1):b%high(1) - 1, b%low(2) - 1:b%high(2) + 1, b%low(3):b%high(3) - 1))
    faces = -1
    do k = int(b%low(3)), int(b%high(3)) - 1
      do j = int(b%low(2)), int(b%high(2))
        do i = int(b%low(1)), int(b%high(1)) - 1
          faces(i, j, k) = real(value(i, j) + 0.25d0 * k, real32)
        end do
      end do
    end do
  end subroutine fill_boxes

  subroutine check_boxes()
    type(adapt_box) :: b
    integer :: i, j, k

    b = adapt_even_box([1, -3], [23, 13], rank, nprocs)
    call check(all(lbound(cells) == b%low(1:2) - 2) .and. all(ubound(cells) == b%high(1:2) + 1), &
               'bounds of cells')
    do j = int(b%low(2)), int(b%high(2)) - 1
      do i = int(b%low(1)), int(b%high(1)) - 1
        call check(cells(i, j) == value(i, j), 'cells')
      end do
    end do
    b = adapt_even_box([0, 1, 1], [5, 9, 4], rank, nprocs)
    call check(all(lbound(faces) == b%low - [0, 1, 0]) .and. &
               all(ubound(faces) == b%high - 1 + [0, 2, 0]), 'bounds of faces')
    do k = int(b%low(3)), int(b%high(3)) - 1
      do j = int(b%low(2)), int(b%high(2))
        do i = int(b%low(1)), int(b%high(1)) - 1
          call check(faces(i, j, k) == real(value(i, j) + 0.25d0 * k, real32), 'faces')
        end do
      end do
    end do
  end subroutine check_boxes

  ! ---- items -----------------------------------------------------------------------------------

  integer elemental function home(i, size)
    integer(int64), intent(in) :: i
    integer, intent(in) :: size

    home = int(mod(i * 7919_int64 / 5, int(size, int64)))
  end function home

  subroutine fill_items()
    integer(int64) :: i

    item = pack([(i, i = 1, items)], home([(i, i = 1, items)], nprocs) == rank)
    allocate (position(0:2, 0:size(item) - 1))
    do i = 1, size(item)
      position(:, i - 1) = real(item(i) * [1, 2, 3], real64)
    end do
    allocate (tag(5:4 + merge(items, 0, rank == nprocs - 1)))
    tag = [(cmplx(i, -i, real32), i = 1, size(tag))]
  end subroutine fill_items

  subroutine check_items()
    integer(int64) :: i
    logical :: seen(items)

    seen = .false.
    call check(all(home(item, nprocs) == rank) &
        .and. all(item > 0 .and. item <= items), 'whose items')
    do i = 1, size(item)
      call check(.not. seen(item(i)), 'an item twice')
      seen(item(i)) = .true.
      call check(all(position(:, i - 1) == item(i) * [1, 2, 3]), 'place')
    end do
    call check(size(item) == count(home([(i, i = 1, items)], nprocs) == rank), 'an item is missing')
    call check(lbound(item, 1) == 1 .and. lbound(position, 1) == 0 &
               .and. size(position, 2) == size(item) .and. &
               (size(item) == 0 .or. lbound(position, 2) == 0), 'bounds of items')
    call check(size(tag) == merge(items, 0, rank == nprocs - 1), 'who has the tags')
    if (size(tag) > 0) call check(lbound(tag, 1) == 5, 'bounds of tags')
    call check(all(tag == [(cmplx(i, -i, real32), i = 1, size(tag))]), 'tags')
  end subroutine check_items

  subroutine move_items(window)
    type(adapt_window), intent(in) :: window
    integer, allocatable :: to(:), tags_to(:)
    integer :: ierror, many

    allocate (to(0), tags_to(0))
    if (allocated(item)) to = home(item, window%new_size)
    many = size(to)
    if (window%old_rank == 0) then
      call adapt_move_items(window, 'item', item, [to, 0], ierror)
    else
      call adapt_move_items(window, 'item', item, to, ierror)
    end if
    if (window%old_rank == 0) call expect(ierror, 'destinations for')
    call expect(ierror, 'nothing has moved')
    call adapt_move_items(window, 'item', item, [to + window%new_size], ierror)
    call expect(ierror, 'nothing has moved')
    block
      real(real64), allocatable, target :: shapes(:, :)
      if (window%status /= MPI_ADAPT_STATUS_JOINING) &
        allocate (shapes(merge(2, 3, window%old_rank == 0), many))
      call adapt_move_items(window, 'shapes', shapes, to, ierror)
      if (window%old_size > 1) call expect(ierror, 'differ')
    end block
    if (allocated(item)) call check(size(item) == many, 'items are missing')
    call adapt_move_items(window, 'item', item, to)
    call adapt_move_items(window, 'place', position, to)
    if (allocated(tag)) tags_to = spread(window%new_size - 1, 1, size(tag))
    call adapt_move_items(window, 'tag', tag, tags_to)
    if (window%status == MPI_ADAPT_STATUS_LEAVING) &
      call check(.not. (allocated(item) .or. allocated(position) .or. allocated(tag)), &
      'a leaving process has items')
  end subroutine move_items

  ! Every third slice is another rank's.
  integer(c_int64_t) function pieces(r, size, most, low, high, state) bind(C)
    integer(c_int), value :: r, size
    integer(c_int64_t), value :: most
    integer(c_int64_t) :: low(most), high(most)
    type(c_ptr), value :: state
    integer(c_int64_t) :: first

    pieces = 0
    do first = 3 * int(r, c_int64_t), n - 1, 3 * int(size, c_int64_t)
      if (pieces < most) then
        low(pieces + 1) = first
        high(pieces + 1) = min(first + 3, int(n, c_int64_t))
      end if
      pieces = pieces + 1
    end do
  end function pieces

  ! The global numbers, from 1, of this process' slices of brick and waves.
  function mine_of(block) result(mine)
    integer, intent(in) :: block
    integer, allocatable :: mine(:)
    integer :: i

    mine = pack([(i, i = 1, n)], [(mod((i - 1) / block, nprocs) == rank, i = 1, n)])
  end function mine_of

  subroutine fill()
    integer :: first, end, i, j, k
    integer, allocatable :: mine(:)

    call adapt_range(adapt_block(n), rank, nprocs, first, end)
    allocate (field(0:4, first - 1:end + 1), numbers(7:7 + end - first), &
        nothing(0, end - first + 1))
    field = -1
    do i = first, end
      field(:, i) = [(value(i, j), j = 0, 4)]
      numbers(7 + i - first) = i
    end do
    call adapt_range(adapt_block(few), rank, nprocs, first, end)
    few_numbers = [(i, i = first, end)]
    mine = mine_of(3)
    allocate (brick(2, -1:1, size(mine)), waves(3, -1:size(mine) + 2))
    waves = -1
    do i = 1, size(mine)
      do k = -1, 1
        brick(:, k, i) = real([value(mine(i), k), value(mine(i), k + 10)], real32)
      end do
      waves(:, i) = cmplx(mine(i), [1, 2, 3], real32)
    end do
    wide = reshape([(int(i, int64) * 10000000000_int64, i = 1, 10)], [2, 5])
    if (with_grid) call grid_range(first, end)
    if (with_grid) spectrum = [(cmplx(i, -i, real64), i = first, end)]
    first = share(rank, nprocs) + 1
    end = share(rank + 1, nprocs)
    allocate (uneven(first:end))
    uneven = [(cmplx(i, i, real64), i = first, end)]
    call fill_boxes()
    call fill_items()
  end subroutine fill

  ! A grid of 1 x n on q x q processes: all elements are in the last row of positions.
  subroutine grid_range(first, end)
    integer, intent(out) :: first, end

    call adapt_range(adapt_grid(1, n), adapt_position(of_spectrum, rank), nprocs, first, end)
    if (end < first) first = end + 1
  end subroutine grid_range

  real(real64) function value(i, j)
    integer, intent(in) :: i, j

    value = 100 * i + j
  end function value

  subroutine check_all()
    integer :: first, end, i, k
    integer, allocatable :: mine(:)

    call adapt_range(adapt_block(n), rank, nprocs, first, end)
    call check(all(lbound(field) == [0, first - 1]) .and. all(ubound(field) == [4, end + 1]), &
               'bounds of field')
    do i = first, end
      call check(all(field(:, i) == [(value(i, k), k = 0, 4)]), 'field')
    end do
    call check(size(nothing, 1) == 0 .and. size(nothing, 2) == end - first + 1, 'nothing')
    call adapt_range(adapt_block_free(n), adapt_position(of_numbers, rank), nprocs, first, end)
    call check(lbound(numbers, 1) == 7 .and. size(numbers) == end - first + 1, 'bounds of numbers')
    call check(all(numbers == [(i, i = first, end)]), 'numbers')
    call check(adapt_rank(of_numbers, adapt_position(of_numbers, rank)) == rank, 'place')
    call adapt_range(adapt_block(few), rank, nprocs, first, end)
    call check(allocated(few_numbers), 'few, allocated')
    call check(size(few_numbers) == end - first + 1 &
               .and. all(few_numbers == [(i, i = first, end)]), 'few')
    mine = mine_of(3)
    call check(all(lbound(brick) == [1, -1, 1]) .and. all(shape(brick) == [2, 3, size(mine)]), &
               'bounds of brick')
    call check(all(lbound(waves) == [1, -1]) .and. all(shape(waves) == [3, size(mine) + 4]), &
               'bounds of waves')
    do i = 1, size(mine)
      do k = -1, 1
        call check(all(brick(:, k, i) == real([value(mine(i), k), value(mine(i), k + 10)], &
                   real32)), 'brick')
      end do
      call check(all(waves(:, i) == cmplx(mine(i), [1, 2, 3], real32)), 'waves')
    end do
    call check(all(shape(wide) == [2, 5]), 'shape of wide')
    call check(all(reshape(wide, [10]) == [(int(i, int64) * 10000000000_int64, i = 1, 10)]), 'wide')
    if (with_grid) then
      call grid_range(first, end)
      call check(size(spectrum) == end - first + 1, 'size of spectrum')
      call check(all(spectrum == [(cmplx(i, -i, real64), i = first, end)]), 'spectrum')
    end if
    first = share(rank, nprocs) + 1
    end = share(rank + 1, nprocs)
    call check(lbound(uneven, 1) == first .or. size(uneven) == 0, 'lower bound of uneven')
    call check(size(uneven) == end - first + 1, 'size of uneven')
    call check(all(uneven == [(cmplx(i, i, real64), i = first, end)]), 'uneven')
    call check_boxes()
    call check_items()
  end subroutine check_all

  ! Refused on all processes alike, whoever is wrong.
  subroutine try_errors(window)
    type(adapt_window), intent(in) :: window
    type(adapt_array) :: wrong
    real(real64), allocatable, target :: small(:)
    integer :: ierror

    call adapt_create(wrong, 'too small', adapt_block(n))
    if (status /= MPI_ADAPT_STATUS_JOINING) allocate (small(3))
    call adapt_move(wrong, window, small, ierror)
    call expect(ierror, "adapt_move: array 'too small'")
    call expect(ierror, 'it has 3 slices without ghosts, its layout')
    call adapt_free(wrong)
    call adapt_create(wrong, 'shape', adapt_block(n))
    call adapt_wait(wrong, small, ierror)
    call expect(ierror, 'not been started')
    call adapt_free(wrong)
    call adapt_create(wrong, 'no bounds', adapt_block_cyclic(n, 2), global=.true.)
    call adapt_start(wrong, window, small, ierror)
    call expect(ierror, 'consecutive')
    call adapt_free(wrong)
    call adapt_create(wrong, 'local', adapt_block(n), global=.true.)
    block       ! counted from 1 on all processes
      integer :: first, last
      integer, allocatable, target :: part(:)
      if (status /= MPI_ADAPT_STATUS_JOINING) then
        call adapt_range(adapt_block(n), rank, window%old_size, first, last)
        allocate (part(last - first + 1))
        part = 7
      end if
      call adapt_move(wrong, window, part, ierror)
      if (window%old_size > 1) then
        call expect(ierror, 'its last dimension begins at 1, but with global=.true. at ')
        call adapt_free(wrong)
        call adapt_create(wrong, 'local', adapt_block(n))
        call adapt_move(wrong, window, part)
      end if
      call adapt_move(wrong, window, part, ierror)
      call expect(ierror, "array 'local' cannot be moved: it has moved in this window already")
    end block
    call adapt_free(wrong)
    call adapt_create(wrong, 'differs', adapt_block(n))
    block
      real(real64), allocatable, target :: rows(:, :)
      if (status /= MPI_ADAPT_STATUS_JOINING) then
        allocate (rows(merge(2, 3, rank == window%old_size - 1), size(field, 2) - 2))
        rows = 5
      end if
      call adapt_move(wrong, window, rows, ierror)
      if (window%old_size > 1) then
        call expect(ierror, 'differ')
        call check(status == MPI_ADAPT_STATUS_JOINING .or. allocated(rows), 'rows are missing')
      else
        call check(ierror == MPI_SUCCESS, 'one process alone')
      end if
    end block
    call adapt_free(wrong)
  end subroutine try_errors

  subroutine expect(ierror, what)
    integer, intent(in) :: ierror
    character(len=*), intent(in) :: what
    character(len=400) :: text

    call adapt_message(text)
    call check(ierror /= MPI_SUCCESS, 'must fail: '//what)
    call check(index(text, what) > 0, what//' is not in: '//trim(text))
  end subroutine expect

  subroutine adapt()
    type(adapt_window) :: window
    logical :: done
    integer :: total, ierror

    call adapt_window_open(status, window)
    call check(window%status == status &
               .and. window%new_size == window%staying + window%joining .and. &
               size(window%new_rank_of) == window%old_size, 'window')
    call check(count(window%new_rank_of == -1) == window%leaving, 'new ranks')
    call MPI_Bcast(epoch, 1, MPI_INTEGER, 0, MPI_Comm(window%all))
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_Comm(window%all))
    call check(total == window%old_size + window%joining, 'all')
    call try_errors(window)

    call adapt_start(of_field, window, field)
    call adapt_start(of_brick, window, brick)
    call adapt_start(of_waves, window, waves)
    call adapt_test(of_field, done)
    call adapt_window_close(window, ierror)
    call check(ierror /= MPI_SUCCESS, 'closed while arrays are moved')
    call adapt_move(of_few, window, few_numbers)
    call adapt_wait(of_waves, waves)
    call adapt_wait(of_field, field)
    call adapt_wait(of_brick, brick)
    call adapt_move(of_numbers, window, numbers)
    call adapt_move(of_wide, window, wide)
    call adapt_move(of_uneven, window, uneven)
    call adapt_move(of_nothing, window, nothing)
    if (with_grid) call adapt_move(of_spectrum, window, spectrum)
    call adapt_move_box(window, 'cells', cells, boxes_2, ghost=[1, 2], ierror=ierror)
    call expect(ierror, "adapt_move_box: field 'cells': part 0, of box [")
    call expect(ierror, 'needed with nodes and ghost layers are (')
    call adapt_move_box(window, 'cells', cells, boxes_2, ghost=[2, 2])
    call adapt_move_box(window, 'faces', faces, boxes_3, nodes=[0, 1, 0], ghost=[0, 1, 0])
    call move_items(window)
    if (window%status == MPI_ADAPT_STATUS_LEAVING) then
      call check(.not. (allocated(field) .or. allocated(wide) .or. allocated(cells)), &
          'a leaving process has parts')
      call destroy()
    end if
    call adapt_window_close(window)
    epoch = epoch + 1
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
    call check_all()
  end subroutine adapt

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    if (.not. ok) then
      write (0, *) 'FAIL data_fortran.f90: ', what, ' on rank ', rank
      call MPI_Abort(MPI_COMM_WORLD, 99)
    end if
  end subroutine check

end program elastic
