! Large counts in the module mpi_f08 (defect 29): of files, of MPI_Op_create_c, of
! MPI_Status_set_elements.
program interfaces
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  implicit none
  integer(kind=MPI_COUNT_KIND), parameter :: n = 5, many = 5000000000_MPI_COUNT_KIND
  type(MPI_File) :: fh
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Op) :: op
  integer(kind=MPI_COUNT_KIND) :: counted
  integer(kind=MPI_OFFSET_KIND) :: start
  integer :: ierr, i, out(5), in(5), strided(10)

  call MPI_Init(ierr)
  out = [(10 * i, i = 1, 5)]
  start = 0

  call MPI_File_open(MPI_COMM_WORLD, 'interfaces.data', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
      MPI_INFO_NULL, fh, ierr)
  call check(ierr == MPI_SUCCESS, 'open')
  call MPI_File_write_at(fh, start, out, n, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_at')
  in = -1
  call MPI_File_read_at_all(fh, start, in, n, MPI_INTEGER, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, counted)
  call check(ierr == MPI_SUCCESS .and. all(in == out) .and. counted == n, 'read_at_all')
  in = -1
  call MPI_File_iread_at(fh, start, in, n, MPI_INTEGER, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call check(ierr == MPI_SUCCESS .and. all(in == out), 'iread_at')
  strided = -1
  call MPI_File_read(fh, strided(1:9:2), n, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call check(ierr == MPI_SUCCESS .and. all(strided(1:9:2) == out) &
      .and. all(strided(2:10:2) == -1), 'read with strides')
  call MPI_File_close(fh)
  call MPI_File_delete('interfaces.data', MPI_INFO_NULL)

  call MPI_Op_create_c(larger, .true., op, ierr)
  call check(ierr == MPI_SUCCESS, 'op_create_c')
  in = [1, 100, 2, 200, 3]
  call MPI_Reduce_local(out, in, n, MPI_INTEGER, op, ierr)
  call check(ierr == MPI_SUCCESS .and. all(in == [10, 100, 30, 200, 50]), 'reduce_local by it')
  call MPI_Op_free(op)

  call MPI_Status_set_elements(status, MPI_INTEGER, many, ierr)
  call MPI_Get_elements(status, MPI_INTEGER, counted)
  call check(ierr == MPI_SUCCESS .and. counted == many, 'status_set_elements')

  print '(a)', 'PASS interfaces in Fortran'
  call MPI_Finalize(ierr)

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print '(a,a)', 'FAIL ', what
    call MPI_Abort(MPI_COMM_WORLD, 99)
  end subroutine check

  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype == MPI_INTEGER) b = max(a, b)
  end subroutine larger
end program interfaces
