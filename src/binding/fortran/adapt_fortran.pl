# Our part of the generators (buildiface) of mpif.h and of the modules mpi and mpi_f08.

use strict;
use warnings;

# The names of our integer constants, in the order of mpi_adapt.h; their values are put into the given table.
sub adapt_constants {
    my ($values) = @_;
    my $header = "../../../include/mpi_adapt.h";
    my @names = ("MPIX_ERR_EAGAIN");    # MPICH's, which its Fortran lacks
    my $first = 100;                    # MPICH_ERR_FIRST_MPIX: error classes are sums in mpi.h

    $values->{MPIX_ERR_EAGAIN} = $first + 4;
    open(my $lines, "<", $header) || die "Could not open $header\n";
    while (<$lines>) {
        if (/^#define (MPIX?_\w+) \(MPICH_ERR_FIRST_MPIX \+ (\d+)\)/) {
            $values->{$1} = $first + $2;
        } elsif (/^#define (MPIX?_\w+) (\d+|\(-\d+\))\s/) {
            $values->{$1} = $2;
        } else {
            next;
        }
        push @names, $1;
    }
    close($lines);
    return @names;
}

# mpif.h: constants that are no integers, and functions.
sub adapt_mpif {
    return "       CHARACTER*1 MPIX_ANYWHERE
       PARAMETER (MPIX_ANYWHERE='*')
       INTEGER MPIX_COMM_PARENT, PMPIX_COMM_PARENT ! EXTERNAL
";
}

# mpi_f08: constants that are no integers.
sub adapt_f08 {
    return "character(len=1), parameter :: MPIX_ANYWHERE = '*'\n";
}

# The module mpi: what its generator cannot make of mpi.h.
sub adapt_module {
    return "
        SUBROUTINE MPI_INIT_ADAPT(local_status,ierror)
        INTEGER local_status, ierror
        END SUBROUTINE MPI_INIT_ADAPT

        SUBROUTINE MPI_INIT_THREAD_ADAPT(required,provided,local_status,&
                                         ierror)
        INTEGER required, provided, local_status, ierror
        END SUBROUTINE MPI_INIT_THREAD_ADAPT

        FUNCTION MPIX_COMM_PARENT()
            INTEGER MPIX_COMM_PARENT
        END FUNCTION MPIX_COMM_PARENT

        FUNCTION PMPIX_COMM_PARENT()
            INTEGER PMPIX_COMM_PARENT
        END FUNCTION PMPIX_COMM_PARENT
";
}

1;
