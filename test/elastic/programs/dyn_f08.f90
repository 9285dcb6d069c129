! What dyn_fortran.inc does, by "use mpi_f08".
program dyn
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr, c_char, c_f_pointer
  implicit none
  type(MPI_Comm) :: inter
  type(MPI_Request) :: req, reqs(2)
  type(MPI_Status) :: status
  integer :: ierr, rank, i, class, stage, code
  integer(kind=MPI_ADDRESS_KIND) :: extra
  logical :: flag
  character(len=MPI_MAX_PORT_NAME) :: name
  character(len=MPI_MAX_PROCESSOR_NAME) :: host
  character(len=MPI_MAX_INFO_VAL) :: info
  character(len=8) :: hosts(2), words(2)
  character(len=20) :: args(3), text
  character(len=1000) :: path
  procedure(mpix_key_function), pointer :: of_the_interface
  of_the_interface => welcome
  include 'dyn_fortran.inc'

contains

  subroutine welcome(key, key_bytes, extra_state, welcome_here)
    type(c_ptr), value :: key
    integer :: key_bytes
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: welcome_here
    character(kind=c_char), pointer :: letters(:)

    call c_f_pointer(key, letters, [key_bytes])
    welcome_here = .false.
    if (key_bytes == 5) welcome_here = extra_state == 4711 &
        .and. all(letters == ['r', 'i', 'g', 'h', 't'])
  end subroutine welcome

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    if (ok) return
    print '(2a)', 'FAIL ', what
    stop 1
  end subroutine check
end program dyn
