! The interface "v2a" in Fortran: the published names and arguments, over the inline code of
! mpi_session_dyn.h (dynres_fortran.c).  Handles are integers, as in the module mpi; the caller
! passes the arrays of names.  SC3, SC6.

! routines of dynres_fortran.c
module session_dyn_calls
  use, intrinsic :: iso_c_binding
  implicit none
  public

  interface
     integer(c_int) function f_psetop(session, op, inputs, ninput, outputs, noutput, info) &
          bind(C, name="mpi_session_dyn_f_psetop")
       import :: c_int, c_char
       integer(c_int), intent(in) :: session, info
       integer(c_int), intent(inout) :: op, noutput
       integer(c_int), intent(in) :: ninput
       character(kind=c_char), intent(in) :: inputs(*)
       character(kind=c_char), intent(inout) :: outputs(*)
     end function f_psetop
     integer(c_int) function f_query(session, coll_pset, pset, op, outputs, noutput) &
          bind(C, name="mpi_session_dyn_f_query")
       import :: c_int, c_char
       integer(c_int), intent(in) :: session
       character(kind=c_char), intent(in) :: coll_pset(*), pset(*)
       integer(c_int), intent(out) :: op
       integer(c_int), intent(inout) :: noutput
       character(kind=c_char), intent(inout) :: outputs(*)
     end function f_query
     integer(c_int) function f_finalize(session, pset) bind(C, name="mpi_session_dyn_f_finalize")
       import :: c_int, c_char
       integer(c_int), intent(in) :: session
       character(kind=c_char), intent(in) :: pset(*)
     end function f_finalize
     integer(c_int) function f_get_data(session, coll_pset, pset, keys, nkeys, wait, info) &
          bind(C, name="mpi_session_dyn_f_get_data")
       import :: c_int, c_char
       integer(c_int), intent(in) :: session
       character(kind=c_char), intent(in) :: coll_pset(*), pset(*), keys(*)
       integer(c_int), intent(in) :: nkeys, wait
       integer(c_int), intent(out) :: info
     end function f_get_data
     integer(c_int) function f_set_data(session, pset, info) &
         bind(C, name="mpi_session_dyn_f_set_data")
       import :: c_int, c_char
       integer(c_int), intent(in) :: session, info
       character(kind=c_char), intent(in) :: pset(*)
     end function f_set_data
  end interface
end module session_dyn_calls

module mpi_session_dyn
  use, intrinsic :: iso_c_binding
  use dynres_names, only: to_c, from_c, dynres_name_len
  use session_dyn_calls, only: f_psetop, f_query, f_finalize, f_get_data, f_set_data
  implicit none
  private :: to_c, from_c, dynres_name_len, done, all_to_c, all_from_c

  integer, parameter :: MPI_PSETOP_NULL = 0
  integer, parameter :: MPI_PSETOP_ADD = 1
  integer, parameter :: MPI_PSETOP_SUB = 2
  integer, parameter :: MPI_PSETOP_REPLACE = 3
  integer, parameter :: MPI_PSETOP_MALLEABLE = 4
  integer, parameter :: MPI_PSETOP_GROW = 5
  integer, parameter :: MPI_PSETOP_SHRINK = 6
  integer, parameter :: MPI_PSETOP_UNION = 7
  integer, parameter :: MPI_PSETOP_DIFFERENCE = 8
  integer, parameter :: MPI_PSETOP_INTERSECTION = 9
  integer, parameter :: MPI_PSETOP_SPLIT = 10

  private :: f_psetop, f_query, f_finalize, f_get_data, f_set_data

contains

  subroutine done(error, ierror)
    integer(c_int), intent(in) :: error
    integer, optional, intent(out) :: ierror

    if (present(ierror)) ierror = error
  end subroutine done

  ! consecutive names, each in the space of one
  function all_to_c(texts, n) result(chars)
    character(len=*), intent(in) :: texts(*)
    integer, intent(in) :: n
    character(kind=c_char) :: chars(dynres_name_len * max(n, 1))
    character(kind=c_char, len=dynres_name_len) :: one
    integer :: i, j

    chars = c_null_char
    do i = 1, n
       one = trim(texts(i))
       do j = 1, min(len_trim(texts(i)), dynres_name_len - 1)
          chars((i - 1) * dynres_name_len + j) = one(j:j)
       end do
    end do
  end function all_to_c

  subroutine all_from_c(chars, n, texts)
    character(kind=c_char), intent(in) :: chars(:)
    integer, intent(in) :: n
    character(len=*), intent(inout) :: texts(*)
    integer :: i

    do i = 1, n
       call from_c(chars((i - 1) * dynres_name_len + 1:i * dynres_name_len), texts(i))
    end do
  end subroutine all_from_c

  subroutine MPI_Session_dyn_v2a_psetop(session, op, input_sets, ninput, output_psets, noutput, &
      info, ierror)
    integer, intent(in) :: session
    integer, intent(inout) :: op
    character(len=*), intent(in) :: input_sets(*)
    integer, intent(in) :: ninput
    character(len=*), intent(inout) :: output_psets(*)
    integer, intent(inout) :: noutput, info
    integer, optional, intent(out) :: ierror
    character(kind=c_char) :: outputs(dynres_name_len * max(noutput, 1))
    integer(c_int) :: error
    integer :: capacity

    capacity = noutput
    error = f_psetop(session, op, all_to_c(input_sets, ninput), ninput, outputs, noutput, info)
    if (error == 0) call all_from_c(outputs, min(capacity, noutput), output_psets)
    call done(error, ierror)
  end subroutine MPI_Session_dyn_v2a_psetop

  subroutine MPI_Session_dyn_v2a_query_psetop(session, coll_pset, input_pset, type, output_psets, &
      noutput, ierror)
    integer, intent(in) :: session
    character(len=*), intent(in) :: coll_pset, input_pset
    integer, intent(out) :: type
    character(len=*), intent(inout) :: output_psets(*)
    integer, intent(inout) :: noutput
    integer, optional, intent(out) :: ierror
    character(kind=c_char) :: outputs(dynres_name_len * max(noutput, 1))
    integer(c_int) :: error
    integer :: capacity

    capacity = noutput
    error = f_query(session, to_c(coll_pset), to_c(input_pset), type, outputs, noutput)
    if (error == 0) call all_from_c(outputs, min(capacity, noutput), output_psets)
    call done(error, ierror)
  end subroutine MPI_Session_dyn_v2a_query_psetop

  subroutine MPI_Session_dyn_finalize_psetop(session, pset_name, ierror)
    integer, intent(in) :: session
    character(len=*), intent(in) :: pset_name
    integer, optional, intent(out) :: ierror

    call done(f_finalize(session, to_c(pset_name)), ierror)
  end subroutine MPI_Session_dyn_finalize_psetop

  subroutine MPI_Session_get_pset_data(session, coll_pset_name, pset_name, keys, nkeys, wait, &
      info_used, ierror)
    integer, intent(in) :: session
    character(len=*), intent(in) :: coll_pset_name, pset_name
    character(len=*), intent(in) :: keys(*)
    integer, intent(in) :: nkeys, wait
    integer, intent(out) :: info_used
    integer, optional, intent(out) :: ierror

    call done(f_get_data(session, to_c(coll_pset_name), to_c(pset_name), all_to_c(keys, nkeys), &
                         nkeys, wait, info_used), ierror)
  end subroutine MPI_Session_get_pset_data

  subroutine MPI_Session_set_pset_data(session, pset_name, info_used, ierror)
    integer, intent(in) :: session
    character(len=*), intent(in) :: pset_name
    integer, intent(in) :: info_used
    integer, optional, intent(out) :: ierror

    call done(f_set_data(session, to_c(pset_name), info_used), ierror)
  end subroutine MPI_Session_set_pset_data
end module mpi_session_dyn
