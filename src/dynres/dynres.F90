! The interface of libmpidynres in Fortran: the published names and arguments, over the inline code
! of mpidynres.h (dynres_fortran.c).  Modules mpidynres and mpidynres_sim have handles as integers,
! mpidynres_f08 and mpidynres_sim_f08 as the types of mpi_f08; the rest is one text
! (dynres_part.inc).  A session is a type(c_ptr).  SC3.
!
! Beside mpi_f08 in a scope, or in a procedure of a module that uses it, routines of the same name
! are distinguished by their sessions.  MPI_COMM_CREATE_FROM_GROUP has none: it is ambiguous in
! one scope, and so are constants of both.

module dynres_names
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: dynres_name_len = 256

contains

  ! the text without trailing blanks, ended by a 0
  pure function to_c(text) result(chars)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=len_trim(text) + 1) :: chars

    chars = trim(text) // c_null_char
  end function to_c

  pure subroutine from_c(chars, text)
    character(kind=c_char), intent(in) :: chars(:)
    character(len=*), intent(out) :: text
    integer :: i

    text = ' '
    do i = 1, min(size(chars), len(text))
       if (chars(i) == c_null_char) exit
       text(i:i) = chars(i)
    end do
  end subroutine from_c
end module dynres_names

! routines of dynres_fortran.c; handles are integers
module dynres_calls
  use, intrinsic :: iso_c_binding
  implicit none
  public

  interface
     integer(c_int) function f_init(info, errhandler, session) &
         bind(C, name="mpidynres_f_session_init")
       import :: c_int, c_ptr
       integer(c_int), intent(in) :: info, errhandler
       type(c_ptr), intent(out) :: session
     end function f_init
     integer(c_int) function f_finalize(session) bind(C, name="mpidynres_f_session_finalize")
       import :: c_int, c_ptr
       type(c_ptr), intent(inout) :: session
     end function f_finalize
     integer(c_int) function f_get_info(session, info) bind(C, name="mpidynres_f_session_get_info")
       import :: c_int, c_ptr
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(out) :: info
     end function f_get_info
     integer(c_int) function f_get_psets(session, info, psets) &
         bind(C, name="mpidynres_f_session_get_psets")
       import :: c_int, c_ptr
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(in) :: info
       integer(c_int), intent(out) :: psets
     end function f_get_psets
     integer(c_int) function f_get_pset_info(session, pset_name, info) &
         bind(C, name="mpidynres_f_session_get_pset_info")
       import :: c_int, c_ptr, c_char
       type(c_ptr), intent(in) :: session
       character(kind=c_char), intent(in) :: pset_name(*)
       integer(c_int), intent(out) :: info
     end function f_get_pset_info
     integer(c_int) function f_group(session, pset_name, newgroup) &
         bind(C, name="mpidynres_f_group_from_pset")
       import :: c_int, c_ptr, c_char
       type(c_ptr), intent(in) :: session
       character(kind=c_char), intent(in) :: pset_name(*)
       integer(c_int), intent(out) :: newgroup
     end function f_group
     integer(c_int) function f_comm(group, stringtag, info, errhandler, newcomm) &
          bind(C, name="mpidynres_f_comm_from_group")
       import :: c_int, c_char
       integer(c_int), intent(in) :: group, info, errhandler
       character(kind=c_char), intent(in) :: stringtag(*)
       integer(c_int), intent(out) :: newcomm
     end function f_comm
     integer(c_int) function f_create_op(session, hints, pset1, pset2, op, res) &
          bind(C, name="mpidynres_f_pset_create_op")
       import :: c_int, c_ptr, c_char
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(in) :: hints
       character(kind=c_char), intent(in) :: pset1(*), pset2(*)
       integer(c_int), intent(in) :: op
       character(kind=c_char), intent(out) :: res(*)
     end function f_create_op
     integer(c_int) function f_free(session, pset_name) bind(C, name="mpidynres_f_pset_free")
       import :: c_int, c_ptr, c_char
       type(c_ptr), intent(in) :: session
       character(kind=c_char), intent(in) :: pset_name(*)
     end function f_free
     integer(c_int) function f_hints(session, hints, answer) &
         bind(C, name="mpidynres_f_add_scheduling_hints")
       import :: c_int, c_ptr
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(in) :: hints
       integer(c_int), intent(out) :: answer
     end function f_hints
     integer(c_int) function f_rc_get(session, rc_type, delta_pset, tag, info) &
         bind(C, name="mpidynres_f_rc_get")
       import :: c_int, c_ptr, c_char
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(out) :: rc_type, tag
       character(kind=c_char), intent(out) :: delta_pset(*)
       integer(c_int), intent(out) :: info
     end function f_rc_get
     integer(c_int) function f_rc_accept(session, tag, info) bind(C, name="mpidynres_f_rc_accept")
       import :: c_int, c_ptr
       type(c_ptr), intent(in) :: session
       integer(c_int), intent(in) :: tag
       integer(c_int), intent(in) :: info
     end function f_rc_accept
     subroutine f_exit() bind(C, name="mpidynres_f_exit")
     end subroutine f_exit
     integer(c_int) function f_start(base_communicator, manager_config, program) &
         bind(C, name="mpidynres_f_sim_start")
       import :: c_int, c_funptr
       integer(c_int), intent(in) :: base_communicator, manager_config
       type(c_funptr), value, intent(in) :: program
     end function f_start
  end interface
end module dynres_calls

#define HANDLE(kind) integer(c_int)
#define VALUE(handle) handle
#define MPI_MODULE mpi
#define MODULE_NAME mpidynres
#define SIM_MODULE_NAME mpidynres_sim
#include "dynres_part.inc"

#undef HANDLE
#undef VALUE
#undef MPI_MODULE
#undef MODULE_NAME
#undef SIM_MODULE_NAME
#define HANDLE(kind) type(kind)
#define VALUE(handle) handle%MPI_VAL
#define MPI_MODULE mpi_f08
#define MODULE_NAME mpidynres_f08
#define SIM_MODULE_NAME mpidynres_sim_f08
#define WITH_F08
#include "dynres_part.inc"
