! The operations on process sets by "use mpi_f08".  Run by 2 processes.
program session_sets
  use mpi_f08
  implicit none
  type(MPI_Session) :: session
  type(MPI_Info) :: info, data
  type(MPI_Group) :: world, group
  type(MPI_Request) :: request
  include 'session_sets_fortran.inc'
end program session_sets
