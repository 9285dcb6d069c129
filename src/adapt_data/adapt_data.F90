! Fortran's view of adapt_data.h: allocatable arrays that move to their new owners in the adaptation
! window, and the window in one call.  doc/user/data-fortran.md has the whole of it, with an example.
!
! An array is split along its last dimension; one element of its layout is a slice.  It may have ghost
! slices before and after each part, and global bounds in the last dimension.  Communicators are
! integers, as in "use mpi"; with "use mpi_f08" say MPI_Comm(window%all).
!
! Errors: ierror is an MPI error class (0: none), after the error handler of MPI_COMM_WORLD was called;
! call adapt_message(text) describes the error.

module adapt_data_base
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! Made by adapt_block and its sisters.  The same as MPIX_Adapt_layout.
  type, bind(C) :: adapt_layout
    integer(c_int) :: kind
    integer(c_int64_t) :: n, block, rows, columns, mine
    type(c_funptr) :: split, pieces
    type(c_ptr) :: state
  end type adapt_layout

  ! The numbers of adapt_window, in the order of struct fortran_window.
  type, bind(C) :: adapt_window_numbers
    integer(c_int) :: status, staying, leaving, joining, old_size, new_size, old_rank, new_rank
    integer(c_int) :: old_world, intercomm, new_world, all
  end type adapt_window_numbers

  ! An open window: roles, sizes, ranks, and communicators as integers.
  type :: adapt_window
    integer :: status                   ! MPI_ADAPT_STATUS_STAYING, _LEAVING or _JOINING
    integer :: staying, leaving, joining        ! how many processes
    integer :: old_size, new_size
    integer :: old_rank, new_rank       ! -1: joining; leaving
    integer :: old_world, intercomm, new_world
    integer :: all                      ! old processes by old rank, then the joining ones
    integer, allocatable :: new_rank_of(:)      ! (0:old_size - 1), -1: leaving
    type(c_ptr) :: handle = c_null_ptr  ! private
  end type adapt_window

  ! The owners of the slices of one allocatable array.
  type :: adapt_array
    type(c_ptr) :: handle = c_null_ptr  ! private
  end type adapt_array

  ! MPIX_Box: cells low(k) <= i < high(k) along each axis, [0, 1) along those that are not used.
  type, bind(C) :: adapt_box
    integer(c_int64_t) :: low(3) = 0, high(3) = 1
  end type adapt_box

  ! Where rows and their entries go, and the order that they have then: adapt_move_rows.  All private.
  type :: adapt_rows
    integer, allocatable :: destination(:), entry_destination(:)
    integer(c_int64_t), allocatable :: length(:)        ! entries of each row
    integer(c_int64_t), allocatable :: order(:), entry_order(:)
  end type adapt_rows

  abstract interface
    ! MPIX_Boxes: found(1) is the box of a rank (if most > 0); the result is 1.
    integer(c_int) function adapt_boxes(rank, size, most, found, state) bind(C)
      import c_int, c_ptr, adapt_box
      integer(c_int), value :: rank, size, most
      type(adapt_box) :: found(most)
      type(c_ptr), value :: state
    end function
  end interface

  ! struct fortran_part and enum outcome
  type, bind(C) :: adapt_part
    integer(c_int) :: kind, rank, is_allocated
    integer(c_int64_t) :: lower(3), extent(3)
    type(c_ptr) :: first
  end type adapt_part
  enum, bind(C)
    enumerator :: outcome_keep, outcome_replace, outcome_empty, outcome_leave
  end enum

  interface
    integer(c_int) function adapt_fortran_open(status, shown, window) bind(C)
      import
      integer(c_int), value :: status
      type(adapt_window_numbers) :: shown
      type(c_ptr) :: window
    end function
    subroutine adapt_fortran_new_ranks(window, new_rank_of) bind(C)
      import
      type(c_ptr), value :: window
      integer(c_int) :: new_rank_of(*)
    end subroutine
    integer(c_int) function adapt_fortran_close(shown, window) bind(C)
      import
      type(adapt_window_numbers) :: shown
      type(c_ptr) :: window
    end function
    type(c_ptr) function adapt_fortran_create(name, layout, ghost, is_global) bind(C)
      import
      character(kind=c_char) :: name(*)
      type(adapt_layout) :: layout
      integer(c_int), value :: ghost, is_global
    end function
    integer(c_int) function adapt_fortran_free(array) bind(C)
      import
      type(c_ptr), value :: array
    end function
    integer(c_int) function adapt_fortran_start(array, window, part, grow, release, slot) bind(C)
      import
      type(c_ptr), value :: array, window, slot
      type(adapt_part) :: part
      type(c_funptr), value :: grow, release
    end function
    type(c_ptr) function adapt_fortran_slot(array) bind(C)
      import
      type(c_ptr), value :: array
    end function
    subroutine adapt_fortran_bounds(array, count, lower, upper) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: count
      integer(c_int64_t) :: lower(*), upper(*)
    end subroutine
    integer(c_int) function adapt_fortran_ghost(array) bind(C)
      import
      type(c_ptr), value :: array
    end function
    integer(c_int) function adapt_fortran_test(array, done) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int) :: done
    end function
    integer(c_int) function adapt_fortran_wait(array, kind, rank, outcome, slot) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int), value :: kind, rank
      integer(c_int) :: outcome
      type(c_ptr) :: slot
    end function
    subroutine adapt_fortran_done(array) bind(C)
      import
      type(c_ptr), value :: array
    end subroutine
    type(c_ptr) function adapt_fortran_box_slot(box, lower, upper) bind(C)
      import
      type(c_ptr), value :: box
      integer(c_int64_t) :: lower(*), upper(*)
    end function
    integer(c_int) function adapt_fortran_box_move(window, name, part, boxes, nodes, ghost, grow, &
                                                   release, slot, outcome) bind(C)
      import
      type(c_ptr), value :: window, slot
      character(kind=c_char) :: name(*)
      type(adapt_part) :: part
      type(c_funptr), value :: boxes, grow, release
      integer(c_int) :: nodes(*), ghost(*), outcome
    end function
    integer(c_int) function adapt_fortran_items_move(window, name, part, destination, destinations, &
                                                     grow, slot, outcome) bind(C)
      import
      type(c_ptr), value :: window, slot
      character(kind=c_char) :: name(*)
      type(adapt_part) :: part
      integer(c_int) :: destination(*), outcome
      integer(c_int64_t), value :: destinations
      type(c_funptr), value :: grow
    end function
    integer(c_int) function adapt_fortran_share(window, variable) bind(C)
      import
      type(c_ptr), value :: window
      type(*), dimension(..) :: variable
    end function
    integer(c_int) function adapt_fortran_sums(window, count, values) bind(C)
      import
      type(c_ptr), value :: window
      integer(c_int), value :: count
      real(c_double) :: values(*)
    end function
    integer(c_int) function adapt_fortran_file_owner(window, has_it, successor, owner, rank) bind(C)
      import
      type(c_ptr), value :: window
      integer(c_int), value :: has_it, successor
      integer(c_int) :: owner, rank
    end function
    integer(c_int) function adapt_fortran_file_tell(window, owner, text, length) bind(C)
      import
      type(c_ptr), value :: window
      integer(c_int), value :: owner, length
      character(kind=c_char) :: text(*)
    end function
    integer(c_int) function adapt_fortran_file_end(window, status) bind(C)
      import
      type(c_ptr), value :: window
      integer(c_int), value :: status
    end function
    integer(c_int) function adapt_fortran_position(array, index, of_rank, answer) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int), value :: index, of_rank
      integer(c_int) :: answer
    end function
  end interface

end module adapt_data_base

module adapt_data_real4_1
#define TYPE real(c_float)
#define KIND_CODE 1
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_real4_2
#define TYPE real(c_float)
#define KIND_CODE 1
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_real4_3
#define TYPE real(c_float)
#define KIND_CODE 1
#define RANK 3
#include "adapt_data_part.inc"
end module

module adapt_data_real8_1
#define TYPE real(c_double)
#define KIND_CODE 2
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_real8_2
#define TYPE real(c_double)
#define KIND_CODE 2
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_real8_3
#define TYPE real(c_double)
#define KIND_CODE 2
#define RANK 3
#include "adapt_data_part.inc"
end module

module adapt_data_integer4_1
#define TYPE integer(c_int32_t)
#define KIND_CODE 3
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_integer4_2
#define TYPE integer(c_int32_t)
#define KIND_CODE 3
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_integer4_3
#define TYPE integer(c_int32_t)
#define KIND_CODE 3
#define RANK 3
#include "adapt_data_part.inc"
end module

module adapt_data_integer8_1
#define TYPE integer(c_int64_t)
#define KIND_CODE 4
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_integer8_2
#define TYPE integer(c_int64_t)
#define KIND_CODE 4
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_integer8_3
#define TYPE integer(c_int64_t)
#define KIND_CODE 4
#define RANK 3
#include "adapt_data_part.inc"
end module

module adapt_data_complex4_1
#define TYPE complex(c_float_complex)
#define KIND_CODE 5
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_complex4_2
#define TYPE complex(c_float_complex)
#define KIND_CODE 5
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_complex4_3
#define TYPE complex(c_float_complex)
#define KIND_CODE 5
#define RANK 3
#include "adapt_data_part.inc"
end module

module adapt_data_complex8_1
#define TYPE complex(c_double_complex)
#define KIND_CODE 6
#define RANK 1
#include "adapt_data_part.inc"
end module

module adapt_data_complex8_2
#define TYPE complex(c_double_complex)
#define KIND_CODE 6
#define RANK 2
#include "adapt_data_part.inc"
end module

module adapt_data_complex8_3
#define TYPE complex(c_double_complex)
#define KIND_CODE 6
#define RANK 3
#include "adapt_data_part.inc"
end module

#include "adapt_fields.inc"
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
  public :: adapt_tile, adapt_move_tiles
  public :: adapt_rows, adapt_move_rows, adapt_move_row_values, adapt_move_row_entries
  public :: adapt_ghosts, adapt_ghosts_create, adapt_ghosts_update, adapt_ghosts_restore, adapt_ghosts_free
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
    ! MPIX_Pieces: the slices of a rank as [low, high), counted from 0; how many intervals there are.
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
    ! Derives all that follows from rank and size, in the new world.
    subroutine adapt_after(new_rank, new_size)
      integer, intent(in) :: new_rank, new_size
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
    type(adapt_layout) function MPIX_Layout_block_cyclic(n, block) bind(C, name='MPIX_Layout_block_cyclic')
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
    integer(c_int) function MPIX_Boxes_even(rank, size, most, found, domain) bind(C, name='MPIX_Boxes_even')
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

  ! After adapt_start(array, window, a); makes progress.  Until adapt_wait(array, a) `a` is not touched;
  ! it has the attribute target.
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

  ! adapt_move_box(window, name, a, boxes [, nodes] [, ghost] [, ierror]): moves a field with one box for
  ! each rank.  a(low - ghost : high - 1 + nodes + ghost) along each axis; nodes(:) is 1 where a field has
  ! values on the sides of cells, too.  MPIX_Adapt_boxes_move.

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

  ! adapt_move_items(window, name, a, destination [, ierror]): slice i of a goes to the process with the
  ! new rank destination(i).  What stays comes first, in its order, then what has come, in an order that
  ! depends on nothing but who sends what: arrays with the same destinations stay side by side.  The last
  ! dimension begins where it began; joining processes have nothing allocated.  MPIX_Adapt_items_move.

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

  ! The values of leaving processes are added to those of new rank 0: sums over all ranks are preserved.
  subroutine adapt_sums(window, values, ierror)
    type(adapt_window), intent(in) :: window
    real(c_double), contiguous, intent(inout) :: values(:)
    integer, optional, intent(out) :: ierror
    integer :: code

    code = adapt_fortran_sums(window%handle, size(values), values)
    if (present(ierror)) ierror = code
  end subroutine adapt_sums

  ! If the process that has a file open on `unit`, for writing one record after the other, leaves, new rank
  ! `successor` continues after the written data.  Each process has a unit of its own: one that is not
  ! connected, or any negative number, where the file is not.  Afterwards the unit of the successor is connected (to a
  ! number of open(newunit=) if it was negative), and the leaving process' is -1.  No effect if nobody has it.
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
    if (is_open) inquire (unit=unit, form=text(:word_length), access=text(word_length + 1:2 * word_length), &
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

  ! ---- the window ------------------------------------------------------------------------------

  ! MPI_Probe_adapt: whether there is a window to be opened, with this status.
  logical function adapt_window_probe(status)
    integer, intent(out) :: status

    adapt_window_probe = MPIX_Adapt_window_probe(status) /= 0
  end function adapt_window_probe

  ! MPI_Comm_adapt_begin.  status: the probe's, or that of MPI_Init_adapt on a joining process.
  subroutine adapt_window_open(status, window, ierror)
    integer, intent(in) :: status
    type(adapt_window), intent(out) :: window
    integer, optional, intent(out) :: ierror
    type(adapt_window_numbers) :: shown
    integer :: code

    code = adapt_fortran_open(status, shown, window%handle)
    if (present(ierror)) ierror = code
    if (code /= 0) return
    window%status = shown%status
    window%staying = shown%staying
    window%leaving = shown%leaving
    window%joining = shown%joining
    window%old_size = shown%old_size
    window%new_size = shown%new_size
    window%old_rank = shown%old_rank
    window%new_rank = shown%new_rank
    window%old_world = shown%old_world
    window%intercomm = shown%intercomm
    window%new_world = shown%new_world
    window%all = shown%all
    allocate (window%new_rank_of(0:window%old_size - 1))
    call adapt_fortran_new_ranks(window%handle, window%new_rank_of)
  end subroutine adapt_window_open

  ! MPI_Comm_adapt_commit: leaving processes end here.  If it fails the window is open as before.
  subroutine adapt_window_close(window, ierror)
    type(adapt_window), intent(inout) :: window
    integer, optional, intent(out) :: ierror
    type(adapt_window_numbers) :: shown
    integer :: code

    shown%all = window%all
    code = adapt_fortran_close(shown, window%handle)
    window%all = shown%all
    if (present(ierror)) ierror = code
  end subroutine adapt_window_close

  ! A window in one call: opened, moves(window) called, closed, and after(new_rank, new_size) called when
  ! MPI_COMM_WORLD is the new world.  status as in adapt_window_open.  Leaving processes end here.
  subroutine adapt_in_window(status, moves, after, ierror)
    integer, intent(in) :: status
    procedure(adapt_moves) :: moves
    procedure(adapt_after), optional :: after
    integer, optional, intent(out) :: ierror
    type(adapt_window) :: window
    integer :: code

    call adapt_window_open(status, window, code)
    if (code == 0) call moves(window)
    if (code == 0) call adapt_window_close(window, code)
    if (code == 0 .and. present(after) .and. window%new_rank >= 0) call after(window%new_rank, window%new_size)
    if (present(ierror)) ierror = code
  end subroutine adapt_in_window

  ! The line for the start: true on a joining process, whose data have come by such a window then; false: a new
  ! program, which reads its input and sets first values.  Calls `after` in both cases.
  logical function adapt_enter(status, moves, after, ierror)
    integer, intent(in) :: status
    procedure(adapt_moves) :: moves
    procedure(adapt_after), optional :: after
    integer, optional, intent(out) :: ierror
    integer :: rank, size

    if (present(ierror)) ierror = 0
    adapt_enter = status == adapt_fortran_joining()
    if (adapt_enter) then
      call adapt_in_window(status, moves, after, ierror)
    else if (present(after)) then
      call adapt_rank_and_size(rank, size)
      call after(rank, size)
    end if
  end function adapt_enter

  ! The line for the main loop: a probe and, where it is TRUE, such a window.  Whether the world has changed.
  logical function adapt_world(moves, after, ierror)
    procedure(adapt_moves) :: moves
    procedure(adapt_after), optional :: after
    integer, optional, intent(out) :: ierror
    integer :: status

    if (present(ierror)) ierror = 0
    adapt_world = adapt_window_probe(status)
    if (adapt_world) call adapt_in_window(status, moves, after, ierror)
  end function adapt_world

  ! The text of the last call that failed in this process.
  subroutine adapt_message(text)
    character(len=*), intent(out) :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: k

    text = ''
    call c_f_pointer(MPIX_Adapt_data_message(), letters, [len(text)])
    do k = 1, len(text)
      if (letters(k) == c_null_char) exit
      text(k:k) = letters(k)
    end do
  end subroutine adapt_message

end module adapt_data
