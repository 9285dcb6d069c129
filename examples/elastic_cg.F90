! Conjugate gradients for Poisson's equation on a square plate, by a world that grows and shrinks
! (mpi_f08).
!
! Each process has some columns of the unknowns, of the residual and of the search direction, which
! is looked at in the columns beside them, too.  In the window all three move by themselves (module
! adapt_data, ../doc/user/data-fortran.md).  Scalar products are added up column by column, in the
! same order everywhere, so that the solution has the same bits for any history of the world.
!
! Compile with -DHAVE_MPI_ADAPT and -ladapt_data where the library has the adaptation operations;
! without it this is an ordinary MPI program.
!   elastic_cg [SIZE [SYSTEMS [ADAPTATIONS [MILLISECONDS]]]]     (default 64 1 0 0)
! solves at least so many systems, and until so many adaptations have been seen; an iteration takes
! the milliseconds longer, divided by the processes.
program elastic_cg
    use mpi_f08
#ifdef HAVE_MPI_ADAPT
    use adapt_data
#endif
    use, intrinsic :: iso_c_binding, only: c_int
    use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
    implicit none

    interface
        integer(c_int) function usleep(microseconds) bind(C)
            import c_int
            integer(c_int), value :: microseconds
        end function usleep
    end interface

    real(real64), parameter :: tolerance = 1e-10_real64
    integer, parameter :: iteration_ = 1, solved_ = 2, adaptations_ = 3, bits_ = 4
    integer(int64) :: progress(4) = 0           ! the same on all processes
    ! square of the residual's norm, now and at first: likewise
    real(real64) :: rho, rho_first
    real(real64), allocatable :: x(:, :), r(:, :)       ! (1:n, first:last)
    ! (0:n + 1, first - 1:last + 1), zero around the plate
    real(real64), allocatable :: p(:, :)
    real(real64), allocatable :: q(:, :)                ! as x, of one iteration
    integer :: n, systems, adaptations, pause_ms
    integer :: rank, size, first, last
    logical :: joined = .false.
#ifdef HAVE_MPI_ADAPT
    type(adapt_array) :: of_x, of_r, of_p
#endif

    n = argument(1, 64, least=1)
    systems = argument(2, 1, least=1)
    adaptations = argument(3, 0, least=0)
    pause_ms = argument(4, 0, least=0)
    call start()
    do
        if (.not. joined) call new_system()
        joined = .false.
        do while (rho > tolerance**2 * rho_first)
            call iterate()
            call adapt_if_pending()
        end do
        call check_solution()
        if (progress(solved_) >= systems .and. progress(adaptations_) >= adaptations) exit
    end do
    if (rank == 0) then
        print '(a,i0,a)', 'cg: ', progress(adaptations_), ' adaptations'
        print '(a,i0,a,z16.16)', 'cg: after ', progress(solved_), ' systems the solutions are ', &
            progress(bits_)
    end if
    call finish()

contains

    integer function argument(i, otherwise, least)
        integer, intent(in) :: i, otherwise, least
        character(len=32) :: word
        integer :: bad
        argument = otherwise
        if (command_argument_count() < i) return
        call get_command_argument(i, word)
        read (word, *, iostat=bad) argument
        if (bad /= 0 .or. argument < least) &
            error stop 'usage: elastic_cg [SIZE [SYSTEMS [ADAPTATIONS [MILLISECONDS]]]]'
    end function argument

    ! ---- who has which columns -------------------------------------------------------------------

    ! Columns 1 to n in even parts, as adapt_block(n) has them.
    integer function columns_before(of_rank)
        integer, intent(in) :: of_rank
        columns_before = int(int(of_rank, int64) * n / size)
    end function columns_before

    integer function owner(column)
        integer, intent(in) :: column
        owner = MPI_PROC_NULL
        if (column >= 1 .and. column <= n) owner = int((int(column, int64) * size - 1) / n)
    end function owner

    ! What derives from the world, each time that it is another one.
    subroutine set_up()
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_size(MPI_COMM_WORLD, size)
        first = columns_before(rank) + 1
        last = columns_before(rank + 1)
        if (allocated(q)) deallocate (q)
        allocate (q(n, first:last))
    end subroutine set_up

    ! ---- the system ------------------------------------------------------------------------------

    ! Small whole numbers, other ones in each system.
    real(real64) function source(i, j)
        integer, intent(in) :: i, j
        source = mod(7 * i + 13 * j + mod(i, 29) * mod(j, 31) &
                     + 5 * int(mod(progress(solved_), 1000_int64)), 19) - 9
    end function source

    subroutine new_system()
        integer :: i, j
        if (.not. allocated(x)) &
            allocate (x(n, first:last), r(n, first:last), p(0:n + 1, first - 1:last + 1))
        x = 0
        p = 0
        do j = first, last
            r(:, j) = [(source(i, j), i = 1, n)]
            p(1:n, j) = r(:, j)
        end do
        rho = product_of(r, r)
        rho_first = rho
        progress(iteration_) = 0
    end subroutine new_system

    ! ---- an iteration ----------------------------------------------------------------------------

    ! All columns' parts of a scalar product are added up by every process in their order.
    real(real64) function product_of(a, b)
        real(real64), intent(in) :: a(:, first:), b(:, first:)
        real(real64) :: mine(first:last), all(n)
        integer :: before(0:size), j
        do j = first, last
            mine(j) = dot_product(a(:, j), b(:, j))
        end do
        before = [(columns_before(j), j = 0, size)]
        call MPI_Allgatherv(mine, last - first + 1, MPI_DOUBLE_PRECISION, all, &
                            before(1:) - before(:size - 1), &
                            before(:size - 1), MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
        product_of = 0
        do j = 1, n
            product_of = product_of + all(j)
        end do
    end function product_of

    subroutine exchange_columns()
        integer :: left, right
        if (last < first) return
        left = owner(first - 1)
        right = owner(last + 1)
        call MPI_Sendrecv(p(:, last), n + 2, MPI_DOUBLE_PRECISION, right, 0, p(:, first - 1), &
                          n + 2, MPI_DOUBLE_PRECISION, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(p(:, first), n + 2, MPI_DOUBLE_PRECISION, left, 1, p(:, last + 1), &
                          n + 2, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        if (left == MPI_PROC_NULL) p(:, first - 1) = 0
        if (right == MPI_PROC_NULL) p(:, last + 1) = 0
    end subroutine exchange_columns

    ! q becomes A p.
    subroutine apply()
        integer :: j
        call exchange_columns()
        do j = first, last
            q(:, j) = 4 * p(1:n, j) - p(0:n - 1, j) - p(2:n + 1, j) - p(1:n, j - 1) - p(1:n, j + 1)
        end do
    end subroutine apply

    subroutine iterate()
        real(real64) :: alpha, before
        integer :: j
        call apply()
        before = rho
        alpha = rho / product_of(p(1:n, first:last), q)
        do j = first, last
            x(:, j) = x(:, j) + alpha * p(1:n, j)
            r(:, j) = r(:, j) - alpha * q(:, j)
        end do
        rho = product_of(r, r)
        do j = first, last
            p(1:n, j) = r(:, j) + rho / before * p(1:n, j)
        end do
        progress(iteration_) = progress(iteration_) + 1
        if (progress(iteration_) > 10_int64 * n * n) call fail('the iteration does not converge')
        if (pause_ms > 0) j = usleep(int(1000 * int(pause_ms, int64) / size, c_int))
    end subroutine iterate

    ! ---- the solution ----------------------------------------------------------------------------

    ! The residual by the equations themselves, and all bits of x.
    subroutine check_solution()
        integer(int64) :: mine, all
        integer :: i, j
        mine = 0
        do j = first, last
            do i = 1, n
                mine = ieor(mine, ishftc(transfer(x(i, j), mine), mod(i + 7 * j, 64)))
            end do
            p(1:n, j) = x(:, j)
        end do
        call apply()
        do j = first, last
            r(:, j) = [(source(i, j), i = 1, n)] - q(:, j)
        end do
        if (product_of(r, r) > (100 * tolerance)**2 * rho_first) call fail('x is wrong')
        call MPI_Allreduce(mine, all, 1, MPI_INTEGER8, MPI_BXOR, MPI_COMM_WORLD)
        progress(bits_) = ieor(ishftc(progress(bits_), 1), all)
        progress(solved_) = progress(solved_) + 1
    end subroutine check_solution

    subroutine fail(why)
        character(len=*), intent(in) :: why
        write (error_unit, '(2a)') 'cg: ', why
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine fail

    ! ---- adapting --------------------------------------------------------------------------------

#ifdef HAVE_MPI_ADAPT
    subroutine start()
        integer :: status
        call MPI_Init_adapt(status)
        call adapt_create(of_x, 'x', adapt_block(n), global=.true.)
        call adapt_create(of_r, 'r', adapt_block(n), global=.true.)
        call adapt_create(of_p, 'p', adapt_block(n), global=.true., ghost=1)
        joined = status == MPI_ADAPT_STATUS_JOINING
        if (joined) then
            call adapt(status)
        else
            call set_up()
        end if
    end subroutine start

    subroutine finish()
        call adapt_free(of_x)
        call adapt_free(of_r)
        call adapt_free(of_p)
        call MPI_Finalize()
    end subroutine finish

    subroutine adapt_if_pending()
        integer :: status
        if (adapt_window_probe(status)) call adapt(status)
    end subroutine adapt_if_pending

    subroutine adapt(status)
        integer, intent(in) :: status
        type(adapt_window) :: window
        call adapt_window_open(status, window)
        call adapt_move(of_x, window, x)
        call adapt_move(of_r, window, r)
        call adapt_move(of_p, window, p)
        progress(adaptations_) = progress(adaptations_) + 1
        call adapt_share(window, progress)
        call adapt_share(window, rho)
        call adapt_share(window, rho_first)
        call adapt_window_close(window)         ! leaving processes end here
        call set_up()
        if (rank == 0) print '(3(a,i0))', 'cg: ', size, ' processes after iteration ', &
            progress(iteration_), ' of system ', progress(solved_) + 1
    end subroutine adapt
#else
    subroutine start()
        call MPI_Init()
        call set_up()
    end subroutine start

    subroutine adapt_if_pending()
    end subroutine adapt_if_pending

    subroutine finish()
        call MPI_Finalize()
    end subroutine finish
#endif

end program elastic_cg
