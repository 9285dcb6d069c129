! Array sections as buffers in mpi_f08: strides in each dimension, negative ones, counts that end
! within a column, datatypes that are parts of an element.  The other side of each message is
! contiguous.

program sections_f08
  use mpi_f08
  implicit none
  integer, parameter :: rows = 20, columns = 3, layers = 2, n = rows * columns * layers
  integer :: a(rows, columns, layers), i, failed = 0

  call MPI_Init()
  a = reshape([(i, i=1, n)], [rows, columns, layers])
  call try(a(1:rows:2, :, :))
  call try(a(2:rows-1, :, :))
  call try(a(:, 1:columns:2, :))
  call try(a(:, 2:2, :))
  call try(a(1:rows:3, 1:columns:2, :))
  call try(a(rows:1:-1, :, :))
  call try(a(rows:1:-3, columns:1:-1, layers:1:-1))
  if (failed == 0) print '(a)', 'PASS sections_f08'
  call MPI_Finalize()
  if (failed > 0) error stop 99

contains

  subroutine try(section)
    integer, intent(inout) :: section(:, :, :)
    integer :: total

    total = size(section)
    call check(section, total)
    call check(section, total - 1)
    call check(section, size(section, 1) + 1)
    call check(section, 1)
    call check(section, 0)
  end subroutine

  ! Sends the first elements of the section, and receives others into them.
  subroutine check(section, count_of)
    integer, intent(inout) :: section(:, :, :)
    integer, intent(in) :: count_of
    integer :: flat(n), elements(n), new(n), total

    total = size(section)
    elements(1:total) = pack(section, .true.)
    flat = 0
    call MPI_Sendrecv(section, count_of, MPI_INTEGER, 0, 0, flat, count_of, MPI_INTEGER, 0, 0, &
                      MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call compare('sent', flat(1:count_of), elements(1:count_of))
    flat = 0
    call MPI_Sendrecv(section, 4 * count_of - min(count_of, 1), MPI_BYTE, 0, 0, flat, &
                      4 * count_of, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call compare('sent in bytes', flat(1:count_of-1), elements(1:count_of-1))
    new(1:count_of) = -elements(1:count_of)
    call MPI_Sendrecv(new, count_of, MPI_INTEGER, 0, 0, section, count_of, MPI_INTEGER, 0, 0, &
                      MPI_COMM_SELF, MPI_STATUS_IGNORE)
    new(count_of+1:total) = elements(count_of+1:total)
    flat(1:total) = pack(section, .true.)
    call compare('received', flat(1:total), new(1:total))
    section = reshape(elements(1:total), shape(section))
  end subroutine

  subroutine compare(what, got, expected)
    character(*), intent(in) :: what
    integer, intent(in) :: got(:), expected(:)

    if (all(got == expected)) return
    failed = failed + 1
    print '(a, i0, a, i0)', what // ': ', count(got /= expected), ' are wrong of ', size(got)
  end subroutine
end program
