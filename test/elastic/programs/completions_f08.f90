! What completions_fortran.inc does, by "use mpi_f08".
program completions
  use mpi_f08
  implicit none
  type(MPI_Request) :: reqs(4)
  type(MPI_Status) :: status, statuses(4)
  type(MPI_Errhandler) :: handler
  integer :: indices(4), buf(4), ierr, i, n, idx, round, ignored
  logical :: flag
  include 'completions_fortran.inc'

contains

  integer function tag_of(one)
    type(MPI_Status), intent(in) :: one
    tag_of = one%MPI_TAG
  end function tag_of

  integer function source_of(one)
    type(MPI_Status), intent(in) :: one
    source_of = one%MPI_SOURCE
  end function source_of

  subroutine first_of(all, one)
    type(MPI_Status), intent(in) :: all(4)
    type(MPI_Status), intent(out) :: one
    one = all(1)
  end subroutine first_of

  subroutine check_empty(one, what)
    type(MPI_Status), intent(inout) :: one
    character(len=*), intent(in) :: what
    integer :: count

    call MPI_Get_count(one, MPI_INTEGER, count)
    call check(source_of(one) == MPI_ANY_SOURCE .and. tag_of(one) == MPI_ANY_TAG &
        .and. count == 0, what)
    one%MPI_TAG = 1234
    one%MPI_SOURCE = 1234
  end subroutine check_empty

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    if (ok) return
    print '(2a)', 'FAIL ', what
    stop 1
  end subroutine check
end program completions
