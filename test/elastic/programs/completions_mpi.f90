! What completions_fortran.inc does, by "use mpi".
program completions
  use mpi
  implicit none
  integer :: reqs(4), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)
  integer :: indices(4), buf(4), ierr, i, n, idx, round, ignored, handler
  logical :: flag
  include 'completions_fortran.inc'

contains

  integer function tag_of(one)
    integer, intent(in) :: one(MPI_STATUS_SIZE)
    tag_of = one(MPI_TAG)
  end function tag_of

  integer function source_of(one)
    integer, intent(in) :: one(MPI_STATUS_SIZE)
    source_of = one(MPI_SOURCE)
  end function source_of

  subroutine first_of(all, one)
    integer, intent(in) :: all(MPI_STATUS_SIZE, 4)
    integer, intent(out) :: one(MPI_STATUS_SIZE)
    one = all(:, 1)
  end subroutine first_of

  subroutine check_empty(one, what)
    integer, intent(inout) :: one(MPI_STATUS_SIZE)
    character(len=*), intent(in) :: what
    integer :: count

    call MPI_Get_count(one, MPI_INTEGER, count, ierr)
    call check(source_of(one) == MPI_ANY_SOURCE .and. tag_of(one) == MPI_ANY_TAG &
        .and. count == 0, what)
    one(MPI_TAG) = 1234
    one(MPI_SOURCE) = 1234
  end subroutine check_empty

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    if (ok) return
    print '(2a)', 'FAIL ', what
    stop 1
  end subroutine check
end program completions
