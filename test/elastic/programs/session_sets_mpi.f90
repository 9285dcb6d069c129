! The operations on process sets by "use mpi".  Run by 2 processes.
program session_sets
  use mpi
  implicit none
  integer :: session, info, data, world, group, request
  include 'session_sets_fortran.inc'
end program session_sets
