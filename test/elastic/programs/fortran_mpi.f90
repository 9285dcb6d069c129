! The operations by "use mpi": initialisation (with a thread level if the second argument is
! "thread"), probe, begin and commit.  Argument: the number of adaptations.
program elastic
  use mpi
  implicit none
  integer :: info
  integer :: inter, next
  include 'fortran.inc'
end program elastic
