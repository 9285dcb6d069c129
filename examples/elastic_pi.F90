! Monte-Carlo estimate of pi by a world that grows and shrinks (mpi_f08).
!
! The work is a fixed list of batches, each with a random sequence of its own, so the estimate is
! the same for every number of processes.  Each round does the next batches, one per process.  What
! a process knows alone is its number of hits; in the window all old processes add theirs up, so
! that nothing is lost with those that leave, and the joining ones get the round's number.
!
! Compile with -DHAVE_MPI_ADAPT where the library has the adaptation operations; without it this is
! an ordinary MPI program.
!   elastic_pi [BATCHES]           (default 4000)
program elastic_pi
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none

    integer, parameter :: samples_per_batch = 20000
    integer(int64) :: done                  ! batches that are finished, the same on all processes
    integer(int64) :: carried               ! hits up to the last adaptation, on rank 0 only
    integer(int64) :: hits, total           ! own hits since then; sum at the end
    integer(int64) :: batches
    integer :: rank, size
    logical :: joined

    batches = batches_wanted()
    done = 0; carried = 0; hits = 0; joined = .false.
    call start()
    do while (done < batches)
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_size(MPI_COMM_WORLD, size)
        if (done + rank < batches) hits = hits + hits_of_batch(done + rank)
        done = done + size
        if (done < batches) call adapt_if_pending()
    end do

    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) hits = hits + carried
    call MPI_Reduce(hits, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) then
        print '(a,i0,a,i0,a,f12.9)', 'hits ', total, ' of ', batches * samples_per_batch, &
            ', pi is about ', 4.0_real64 * real(total, real64) &
            / real(batches * samples_per_batch, real64)
    end if
    call MPI_Finalize()

contains

    integer(int64) function batches_wanted()
        character(len=32) :: word
        integer :: bad
        batches_wanted = 4000
        if (command_argument_count() < 1) return
        call get_command_argument(1, word)
        read (word, *, iostat=bad) batches_wanted
        if (bad /= 0 .or. batches_wanted < 1) &
            error stop 'usage: elastic_pi [BATCHES], a number above 0'
    end function batches_wanted

    ! Points of the quarter circle among the samples of one batch: a multiplicative congruential
    ! sequence modulo 2**31 - 1 (Park and Miller's multiplier), in integers, exact everywhere.
    integer(int64) function hits_of_batch(batch)
        integer(int64), intent(in) :: batch
        integer(int64), parameter :: modulus = 2147483647_int64
        integer(int64) :: state, x, y
        integer :: sample
        state = mod(batch * 1000003_int64 + 12345_int64, modulus - 1) + 1
        hits_of_batch = 0
        do sample = 1, samples_per_batch
            state = mod(state * 48271_int64, modulus)
            x = state / 2
            state = mod(state * 48271_int64, modulus)
            y = state / 2
            if (x * x + y * y < (modulus / 2)**2) hits_of_batch = hits_of_batch + 1
        end do
    end function hits_of_batch

#ifdef HAVE_MPI_ADAPT
    subroutine start()
        integer :: local_status
        call MPI_Init_adapt(local_status)
        joined = local_status == MPI_ADAPT_STATUS_JOINING
        if (joined) call window()
        joined = .false.
    end subroutine start

    subroutine adapt_if_pending()
        integer :: pending, local_status
        type(MPI_Info) :: info
        call MPI_Probe_adapt(pending, local_status, info)
        if (pending /= MPI_ADAPT_TRUE) return
        call MPI_Info_free(info)
        call window()
    end subroutine adapt_if_pending

    subroutine window()
        type(MPI_Comm) :: intercomm, new_world
        integer :: staying, leaving, joining, root, new_rank
        integer(int64) :: state(2)

        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_adapt_begin(intercomm, new_world, staying, leaving, joining)
        if (.not. joined) then
            if (rank == 0) hits = hits + carried
            call MPI_Allreduce(hits, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
            state = [done, total]
        end if
        if (joining > 0) then           ! from rank 0 of the old world to all joining processes
            root = merge(0, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), joined)
            call MPI_Bcast(state, 2, MPI_INTEGER8, root, intercomm)
        end if
        done = state(1)
        hits = 0
        carried = 0
        if (new_world /= MPI_COMM_NULL) then
            call MPI_Comm_rank(new_world, new_rank)
            if (new_rank == 0) then
                carried = state(2)
                print '(a,i0,a,i0,a,i0)', 'adapted: ', staying + leaving, ' -> ', &
                    staying + joining, ' processes after batch ', done
            end if
        end if
        call MPI_Comm_adapt_commit()    ! leaving processes end here
    end subroutine window
#else
    subroutine start()
        call MPI_Init()
    end subroutine start

    subroutine adapt_if_pending()
    end subroutine adapt_if_pending
#endif

end program elastic_pi
