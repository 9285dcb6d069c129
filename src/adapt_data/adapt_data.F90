! Fortran's view of adapt_data.h: allocatable arrays that move to their new owners in the adaptation
! window, and the window in one call.  doc/user/data-fortran.md has the whole of it, with an
! example.
!
! An array is split along its last dimension; one element of its layout is a slice.  It may have
! ghost slices before and after each part, and global bounds in the last dimension.  Communicators
! are integers, as in "use mpi"; with "use mpi_f08" write MPI_Comm(window%all).
!
! Errors: ierror is an MPI error class (0: none), after the error handler of MPI_COMM_WORLD was
! called; call adapt_message(text) describes the error.

#include "adapt_base.inc"
#include "adapt_fields.inc"

#include "adapt_kinds.inc"

#include "adapt_mesh.inc"

module adapt_data
  use adapt_data_base
  use adapt_data_fields, adapt_rank_and_size => adapt_process
  use adapt_data_mesh
  use adapt_data_real4_1
  use adapt_data_real4_2
  use adapt_data_real4_3
  use adapt_data_real8_1
  use adapt_data_real8_2
  use adapt_data_real8_3
  use adapt_data_integer4_1
  use adapt_data_integer4_2
  use adapt_data_integer4_3
  use adapt_data_integer8_1
  use adapt_data_integer8_2
  use adapt_data_integer8_3
  use adapt_data_complex4_1
  use adapt_data_complex4_2
  use adapt_data_complex4_3
  use adapt_data_complex8_1
  use adapt_data_complex8_2
  use adapt_data_complex8_3
  implicit none
  private
  public :: adapt_layout, adapt_window, adapt_array
  public :: adapt_block, adapt_block_free, adapt_block_cyclic, adapt_grid, adapt_same
  public :: adapt_irregular, adapt_user, adapt_split, adapt_pieces
  public :: adapt_box, adapt_boxes, adapt_move_box, adapt_even_box
  public :: adapt_move_items
  public :: adapt_range, adapt_owner
  public :: adapt_create, adapt_free, adapt_move, adapt_start, adapt_test, adapt_wait
  public :: adapt_position, adapt_rank
  public :: adapt_window_probe, adapt_window_open, adapt_window_close, adapt_message
  public :: adapt_share, adapt_sums, adapt_file
  public :: adapt_world, adapt_in_window, adapt_enter, adapt_moves, adapt_after
  public :: adapt_fields, adapt_field, adapt_new_tiles, adapt_move_fields, adapt_share_all
  public :: adapt_tile_field, adapt_tile_list, adapt_tile, adapt_move_tiles
  public :: adapt_rows, adapt_move_rows, adapt_move_row_values, adapt_move_row_entries
  public :: adapt_ghosts, adapt_ghosts_create, adapt_ghosts_update, adapt_ghosts_restore
  public :: adapt_ghosts_free
  public :: adapt_cells, adapt_move_cells, adapt_cells_get, adapt_cells_free

  ! adapt_box(low, high): as many numbers in both as there are axes, one to three.
  interface adapt_box
    module procedure box_4, box_8
  end interface
  ! Layouts of n slices: MPIX_Layout_block and its sisters.
  interface adapt_block
    module procedure block_4, block_8
  end interface
  ! Blocks in the order that moves least.
  interface adapt_block_free
    module procedure block_free_4, block_free_8
  end interface
  ! Blocks of `block` slices that are dealt out cyclically.
  interface adapt_block_cyclic
    module procedure block_cyclic_4, block_cyclic_8
  end interface
  ! Blocks of a matrix on a square of processes.
  interface adapt_grid
    module procedure grid_4, grid_8
  end interface
  ! All processes have all n slices.
  interface adapt_same
    module procedure same_4, same_8
  end interface

  abstract interface
    ! MPIX_Split: the lengths of the new parts from those of the old ones.  0, or an error.
    integer(c_int) function adapt_split(old_size, old_lengths, new_size, new_lengths, state) bind(C)
      import c_int, c_int64_t, c_ptr
      integer(c_int), value :: old_size, new_size
      integer(c_int64_t), intent(in) :: old_lengths(old_size)
      integer(c_int64_t), intent(out) :: new_lengths(new_size)
      type(c_ptr), value :: state
    end function
    ! MPIX_Pieces: the slices of a rank as [low, high), counted from 0; how many intervals there
    ! are.
    integer(c_int64_t) function adapt_pieces(rank, size, most, low, high, state) bind(C)
      import c_int, c_int64_t, c_ptr
      integer(c_int), value :: rank, size
      integer(c_int64_t), value :: most
      integer(c_int64_t) :: low(most), high(most)
      type(c_ptr), value :: state
    end function
  end interface

  abstract interface
    ! Moves the data of a program in a window.
    subroutine adapt_moves(window)
      import adapt_window
      type(adapt_window), intent(inout) :: window
    end subroutine
  end interface

  interface
    type(adapt_layout) function MPIX_Layout_block(n) bind(C, name='MPIX_Layout_block')
      import
      integer(c_int64_t), value :: n
    end function
    type(adapt_layout) function MPIX_Layout_block_free(n) bind(C, name='MPIX_Layout_block_free')
      import
      integer(c_int64_t), value :: n
    end function
    type(adapt_layout) function MPIX_Layout_block_cyclic(n, block) &
        bind(C, name='MPIX_Layout_block_cyclic')
      import
      integer(c_int64_t), value :: n, block
    end function
    type(adapt_layout) function MPIX_Layout_grid(rows, columns) bind(C, name='MPIX_Layout_grid')
      import
      integer(c_int64_t), value :: rows, columns
    end function
    type(adapt_layout) function MPIX_Layout_same(n) bind(C, name='MPIX_Layout_same')
      import
      integer(c_int64_t), value :: n
    end function
    type(adapt_layout) function MPIX_Layout_irregular(mine, split, state) &
        bind(C, name='MPIX_Layout_irregular')
      import
      integer(c_int64_t), value :: mine
      type(c_funptr), value :: split
      type(c_ptr), value :: state
    end function
    type(adapt_layout) function MPIX_Layout_user(pieces, state) bind(C, name='MPIX_Layout_user')
      import
      type(c_funptr), value :: pieces
      type(c_ptr), value :: state
    end function
    integer(c_int64_t) function MPIX_Layout_range(layout, position, size, first) &
        bind(C, name='MPIX_Layout_range')
      import
      type(adapt_layout), intent(in) :: layout
      integer(c_int), value :: position, size
      integer(c_int64_t), intent(out) :: first
    end function
    integer(c_int) function MPIX_Layout_owner(layout, size, i) bind(C, name='MPIX_Layout_owner')
      import
      type(adapt_layout), intent(in) :: layout
      integer(c_int), value :: size
      integer(c_int64_t), value :: i
    end function
    integer(c_int) function MPIX_Boxes_even(rank, size, most, found, domain) &
        bind(C, name='MPIX_Boxes_even')
      import
      integer(c_int), value :: rank, size, most
      type(adapt_box) :: found(*), domain
    end function
    integer(c_int) function MPIX_Adapt_window_probe(status) bind(C, name='MPIX_Adapt_window_probe')
      import
      integer(c_int) :: status
    end function
    type(c_ptr) function MPIX_Adapt_data_message() bind(C, name='MPIX_Adapt_data_message')
      import
    end function
  end interface

contains

  ! ---- layouts ---------------------------------------------------------------------------------

  type(adapt_layout) function block_4(n) result(layout)
    integer(c_int32_t), intent(in) :: n

    layout = MPIX_Layout_block(int(n, c_int64_t))
  end function block_4

  type(adapt_layout) function block_8(n) result(layout)
    integer(c_int64_t), intent(in) :: n

    layout = MPIX_Layout_block(int(n, c_int64_t))
  end function block_8

  type(adapt_layout) function block_free_4(n) result(layout)
    integer(c_int32_t), intent(in) :: n

    layout = MPIX_Layout_block_free(int(n, c_int64_t))
  end function block_free_4

  type(adapt_layout) function block_free_8(n) result(layout)
    integer(c_int64_t), intent(in) :: n

    layout = MPIX_Layout_block_free(int(n, c_int64_t))
  end function block_free_8

  type(adapt_layout) function block_cyclic_4(n, block) result(layout)
    integer(c_int32_t), intent(in) :: n, block

    layout = MPIX_Layout_block_cyclic(int(n, c_int64_t), int(block, c_int64_t))
  end function block_cyclic_4

  type(adapt_layout) function block_cyclic_8(n, block) result(layout)
    integer(c_int64_t), intent(in) :: n, block

    layout = MPIX_Layout_block_cyclic(int(n, c_int64_t), int(block, c_int64_t))
  end function block_cyclic_8

  type(adapt_layout) function grid_4(rows, columns) result(layout)
    integer(c_int32_t), intent(in) :: rows, columns

    layout = MPIX_Layout_grid(int(rows, c_int64_t), int(columns, c_int64_t))
  end function grid_4

  type(adapt_layout) function grid_8(rows, columns) result(layout)
    integer(c_int64_t), intent(in) :: rows, columns

    layout = MPIX_Layout_grid(int(rows, c_int64_t), int(columns, c_int64_t))
  end function grid_8

  type(adapt_layout) function same_4(n) result(layout)
    integer(c_int32_t), intent(in) :: n

    layout = MPIX_Layout_same(int(n, c_int64_t))
  end function same_4

  type(adapt_layout) function same_8(n) result(layout)
    integer(c_int64_t), intent(in) :: n

    layout = MPIX_Layout_same(int(n, c_int64_t))
  end function same_8

  ! Consecutive parts of any length: that of the allocated array.
  type(adapt_layout) function adapt_irregular(split, state) result(layout)
    procedure(adapt_split) :: split
    type(c_ptr), optional, intent(in) :: state

    layout = MPIX_Layout_irregular(0_c_int64_t, c_funloc(split), c_null_ptr)
    if (present(state)) layout%state = state
  end function adapt_irregular

  ! The intervals of slices that the function `pieces` returns for each rank.
  type(adapt_layout) function adapt_user(pieces, state) result(layout)
    procedure(adapt_pieces) :: pieces
    type(c_ptr), optional, intent(in) :: state

    layout = MPIX_Layout_user(c_funloc(pieces), c_null_ptr)
    if (present(state)) layout%state = state
  end function adapt_user

  ! The slices of a position (of block layouts: first to last), counted from 1.
  subroutine adapt_range(layout, position, size, first, last)
    type(adapt_layout), intent(in) :: layout
    integer, intent(in) :: position, size
    integer, intent(out) :: first, last
    integer(c_int64_t) :: low, count

    count = MPIX_Layout_range(layout, position, size, low)
    first = int(low) + 1
    last = int(low + count)
  end subroutine adapt_range

  ! The position of slice i, counted from 1.
  integer function adapt_owner(layout, size, i)
    type(adapt_layout), intent(in) :: layout
    integer, intent(in) :: size, i

    adapt_owner = MPIX_Layout_owner(layout, size, int(i, c_int64_t) - 1)
  end function adapt_owner

  ! ---- arrays ----------------------------------------------------------------------------------

  ! ghost: slices before and after each part (0).  global: the last dimension is counted through all
  ! parts, from 1 (.false.: its lower bound is the same in all).
  subroutine adapt_create(array, name, layout, ghost, global, ierror)
    type(adapt_array), intent(out) :: array
    character(len=*), intent(in) :: name
    type(adapt_layout), intent(in) :: layout
    integer, optional, intent(in) :: ghost
    logical, optional, intent(in) :: global
    integer, optional, intent(out) :: ierror
    integer(c_int) :: ghost_slices, is_global
    type(adapt_layout) :: copy
    character(kind=c_char) :: letters(len_trim(name) + 1)
    integer :: k

    ghost_slices = 0
    is_global = 0
    if (present(ghost)) ghost_slices = ghost
    if (present(global)) is_global = merge(1, 0, global)
    do k = 1, len_trim(name)
      letters(k) = name(k:k)
    end do
    letters(size(letters)) = c_null_char
    copy = layout
    array%handle = adapt_fortran_create(letters, copy, ghost_slices, is_global)
    if (present(ierror)) ierror = merge(0, 1, c_associated(array%handle))
  end subroutine adapt_create

  ! Frees what adapt_create has made; the allocatable array remains.
  subroutine adapt_free(array, ierror)
    type(adapt_array), intent(inout) :: array
    integer, optional, intent(out) :: ierror
    integer :: code

    code = 0
    if (c_associated(array%handle)) code = adapt_fortran_free(array%handle)
    if (code == 0) array%handle = c_null_ptr
    if (present(ierror)) ierror = code
  end subroutine adapt_free

  ! After adapt_start(array, window, a); makes progress.  Until adapt_wait(array, a) `a` is not
  ! touched; it has the attribute target.
  subroutine adapt_test(array, done, ierror)
    type(adapt_array), intent(inout) :: array
    logical, intent(out) :: done
    integer, optional, intent(out) :: ierror
    integer(c_int) :: is_done
    integer :: code

    code = adapt_fortran_test(array%handle, is_done)
    done = is_done /= 0
    if (present(ierror)) ierror = code
  end subroutine adapt_test

  ! In the present world.  The same number, but for block_free and grid.
  integer function adapt_position(array, rank)
    type(adapt_array), intent(in) :: array
    integer, intent(in) :: rank
    integer(c_int) :: position

    if (adapt_fortran_position(array%handle, rank, 1, position) /= 0) position = -1
    adapt_position = position
  end function adapt_position

  ! The rank of a position.
  integer function adapt_rank(array, position)
    type(adapt_array), intent(in) :: array
    integer, intent(in) :: position
    integer(c_int) :: rank

    if (adapt_fortran_position(array%handle, position, 0, rank) /= 0) rank = -1
    adapt_rank = rank
  end function adapt_rank

  ! ---- boxes -----------------------------------------------------------------------------------

  ! adapt_move_box(window, name, a, boxes [, nodes] [, ghost] [, ierror]): moves a field with one
  ! box for each rank.  a(low - ghost : high - 1 + nodes + ghost) along each axis; nodes(:) is 1
  ! where a field has values on the sides of cells, too.  MPIX_Adapt_boxes_move.

  type(adapt_box) function box_8(low, high) result(box)
    integer(c_int64_t), intent(in) :: low(:), high(:)

    if (size(low) /= size(high) .or. size(low) < 1 .or. size(low) > 3) &
      error stop 'adapt_box: low and high have one to three numbers, as many as there are axes'
    box%low(1:size(low)) = low
    box%high(1:size(high)) = high
  end function box_8

  type(adapt_box) function box_4(low, high) result(box)
    integer(c_int32_t), intent(in) :: low(:), high(:)

    box = box_8(int(low, c_int64_t), int(high, c_int64_t))
  end function box_4

  ! The box of a rank in an even cut of the domain with the closed bounds lower(:) and upper(:).
  type(adapt_box) function adapt_even_box(lower, upper, rank, size) result(box)
    integer, intent(in) :: lower(:), upper(:), rank, size
    type(adapt_box) :: domain, found(1)
    integer :: ignored

    domain = box_8(int(lower, c_int64_t), int(upper, c_int64_t) + 1)
    ignored = MPIX_Boxes_even(rank, size, 1, found, domain)
    box = found(1)
  end function adapt_even_box

  ! ---- items -----------------------------------------------------------------------------------

  ! adapt_move_items(window, name, a, destination [, ierror]): slice i of a goes to the process with
  ! the new rank destination(i).  What stays comes first, in its order, then what has come, in an
  ! order that depends on nothing but who sends what: arrays with the same destinations stay side by
  ! side.  The last dimension begins where it began; joining processes have nothing allocated.
  ! MPIX_Adapt_items_move.

  ! ---- the rest --------------------------------------------------------------------------------

  ! Joining processes get what rank 0 of the old world has; the size is the same everywhere.
  subroutine adapt_share(window, variable, ierror)
    type(adapt_window), intent(in) :: window
    type(*), dimension(..) :: variable
    integer, optional, intent(out) :: ierror
    integer :: code

    code = adapt_fortran_share(window%handle, variable)
    if (present(ierror)) ierror = code
  end subroutine adapt_share

  ! The values of leaving processes are added to those of new rank 0: sums over all ranks are
  ! preserved.
  subroutine adapt_sums(window, values, ierror)
    type(adapt_window), intent(in) :: window
    real(c_double), contiguous, intent(inout) :: values(:)
    integer, optional, intent(out) :: ierror
    integer :: code

    code = adapt_fortran_sums(window%handle, size(values), values)
    if (present(ierror)) ierror = code
  end subroutine adapt_sums

  ! If the process that has a file open on `unit`, for writing one record after the other, leaves,
  ! new rank `successor` continues after the written data.  Each process has a unit of its own: one
  ! that is not connected, or any negative number, where the file is not.  Afterwards the unit of
  ! the successor is connected (to a number of open(newunit=) if it was negative), and the leaving
  ! process' is -1.  No effect if nobody has it.
  subroutine adapt_file(window, successor, unit, ierror)
    type(adapt_window), intent(in) :: window
    integer, intent(in) :: successor
    integer, intent(inout) :: unit
    integer, optional, intent(out) :: ierror
    integer, parameter :: word_length = 11, path_length = 4096
    character(len=2 * word_length + path_length) :: text
    integer(c_int) :: owner, rank
    integer :: code, status
    logical :: is_open

    text = ''
    is_open = .false.
    inquire (unit=unit, opened=is_open, iostat=status)
    is_open = status == 0 .and. is_open
    if (is_open) inquire (unit=unit, form=text(:word_length), &
                          access=text(word_length + 1:2 * word_length), &
                          name=text(2 * word_length + 1:))
    code = adapt_fortran_file_owner(window%handle, merge(1, 0, is_open), successor, owner, rank)
    if (present(ierror)) ierror = code
    if (code /= 0 .or. owner < 0) return
    status = 0
    if (rank == owner) then
      close (unit, iostat=status)
      unit = -1
    end if
    code = adapt_fortran_file_tell(window%handle, owner, text, len(text))
    if (code == 0 .and. window%new_rank == successor) &
      call open_as_successor(unit, trim(text(2 * word_length + 1:)), trim(text(:word_length)), &
                        trim(text(word_length + 1:2 * word_length)), status)
    if (code == 0) code = adapt_fortran_file_end(window%handle, status)
    if (present(ierror)) ierror = code
  end subroutine adapt_file

  subroutine open_as_successor(unit, path, form, access, status)
    integer, intent(inout) :: unit
    character(len=*), intent(in) :: path, form, access
    integer, intent(out) :: status

    if (unit >= 0) then
      open (unit, file=path, form=form, access=access, status='old', position='append', &
            action='write', iostat=status)
    else
      open (newunit=unit, file=path, form=form, access=access, status='old', position='append', &
            action='write', iostat=status)
    end if
  end subroutine open_as_successor

#include "adapt_window.inc"

end module adapt_data
