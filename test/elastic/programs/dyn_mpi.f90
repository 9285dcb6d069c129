! What dyn_fortran.inc does, by "use mpi".
program dyn
  use mpi
  implicit none
  integer :: inter, req, reqs(2), status(MPI_STATUS_SIZE)
  integer :: ierr, rank, i, class, stage, code
  integer(kind=MPI_ADDRESS_KIND) :: extra
  logical :: flag
  character(len=MPI_MAX_PORT_NAME) :: name
  character(len=MPI_MAX_PROCESSOR_NAME) :: host
  character(len=MPI_MAX_INFO_VAL) :: info
  character(len=8) :: hosts(2), words(2)
  character(len=20) :: args(3), text
  character(len=1000) :: path
  include 'dyn_fortran.inc'

contains

  subroutine welcome(key, bytes, extra, is_welcome)
    integer, intent(in) :: bytes
    character, intent(in) :: key(bytes)
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra
    logical, intent(out) :: is_welcome

    is_welcome = .false.
    if (bytes == 5) is_welcome = extra == 4711 .and. all(key == ['r', 'i', 'g', 'h', 't'])
  end subroutine welcome

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    if (ok) return
    print '(2a)', 'FAIL ', what
    stop 1
  end subroutine check
end program dyn
