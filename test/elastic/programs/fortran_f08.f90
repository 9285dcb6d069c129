! The operations by "use mpi_f08": initialisation (with a thread level if the second argument is
! "thread"), probe, begin and commit.  Argument: the number of adaptations.
program elastic
  use mpi_f08
  implicit none
  type(MPI_Info) :: info
  type(MPI_Comm) :: inter, next
  include 'fortran.inc'
end program elastic
