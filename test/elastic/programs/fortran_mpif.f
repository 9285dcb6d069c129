C     The five operations by mpif.h: MPI_INIT_ADAPT, MPI_PROBE_ADAPT, MPI_COMM_ADAPT_BEGIN and
C     MPI_COMM_ADAPT_COMMIT, with handles as INTEGER.  Argument: the number of adaptations.
      PROGRAM ELASTIC
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER IERR, ISTAT, IPEND, INFO, RANK, NPROCS, EPOCH, EPOCHS
      INTEGER INTER, NEXT, STAY, LEAVE, JOIN, TOTAL, STATE(1), I, NREM
      LOGICAL LJOIN
      DOUBLE PRECISION LAST
      CHARACTER*32 WORD

      CALL GETARG(1, WORD)
      READ (WORD, *) EPOCHS
      EPOCH = 0
      CALL MPI_INIT_ADAPT(ISTAT, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'init')
      CALL CHECK(ISTAT .EQ. MPI_ADAPT_STATUS_NEW .OR.
     &     ISTAT .EQ. MPI_ADAPT_STATUS_JOINING, 'status')
      LJOIN = ISTAT .EQ. MPI_ADAPT_STATUS_JOINING
      WORD = '1-99, 200'
      CALL MPIX_ADAPT_SIZES(WORD, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'sizes')
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NPROCS, IERR)
      LAST = MPI_WTIME()
   10 IF (EPOCH .LT. EPOCHS) THEN
         CALL CHECK(MPI_WTIME() - LAST .LT. 90D0, 'no adaptation')
         IPEND = -1
         ISTAT = -1
         CALL MPI_PROBE_ADAPT(IPEND, ISTAT, INFO, IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'probe')
         IF (LJOIN) THEN
            CALL CHECK(IPEND .EQ. MPI_ADAPT_TRUE, 'joining: pending')
            CALL CHECK(ISTAT .EQ. MPI_ADAPT_STATUS_JOINING, 'joining')
         ELSE IF (IPEND .EQ. MPI_ADAPT_FALSE) THEN
            CALL CHECK(ISTAT .EQ. MPI_ADAPT_STATUS_STAYING, 'staying')
            CALL CHECK(INFO .EQ. MPI_INFO_NULL, 'info')
            CALL MPI_ALLREDUCE(1, TOTAL, 1, MPI_INTEGER, MPI_SUM,
     &           MPI_COMM_WORLD, IERR)
            CALL CHECK(TOTAL .EQ. NPROCS, 'compute')
            GOTO 10
         ELSE
            CALL CHECK(IPEND .EQ. MPI_ADAPT_TRUE, 'pending')
            CALL MPI_INFO_FREE(INFO, IERR)
         END IF
         CALL MPI_COMM_ADAPT_BEGIN(INTER, NEXT, STAY, LEAVE, JOIN, IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'begin')
         CALL CHECK((NEXT .EQ. MPI_COMM_NULL) .EQV.
     &        (ISTAT .EQ. MPI_ADAPT_STATUS_LEAVING), 'new world')
         CALL CHECK((INTER .EQ. MPI_COMM_NULL) .EQV. (JOIN .EQ. 0),
     &        'intercomm')
         IF (NEXT .NE. MPI_COMM_NULL) THEN
            CALL MPI_ALLREDUCE(1, TOTAL, 1, MPI_INTEGER, MPI_SUM,
     &           NEXT, IERR)
            CALL CHECK(TOTAL .EQ. STAY + JOIN, 'size of new world')
         END IF
         IF (JOIN .GT. 0) THEN
            CALL MPI_COMM_REMOTE_SIZE(INTER, NREM, IERR)
            STATE(1) = EPOCH
            IF (LJOIN) THEN
               CALL MPI_BCAST(STATE, 1, MPI_INTEGER, 0, INTER, IERR)
            ELSE IF (RANK .EQ. 0) THEN
               CALL MPI_BCAST(STATE, 1, MPI_INTEGER, MPI_ROOT, INTER,
     &              IERR)
            ELSE
               CALL MPI_BCAST(STATE, 1, MPI_INTEGER, MPI_PROC_NULL,
     &              INTER, IERR)
            END IF
            EPOCH = STATE(1)
         END IF
         I = STAY + JOIN
         CALL MPI_COMM_ADAPT_COMMIT(IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'commit')
         LJOIN = .FALSE.
         EPOCH = EPOCH + 1
         LAST = MPI_WTIME()
         CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
         CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NPROCS, IERR)
         CALL CHECK(NPROCS .EQ. I, 'size after commit')
         GOTO 10
      END IF
      CALL MPI_ALLREDUCE(1, TOTAL, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, IERR)
      CALL CHECK(TOTAL .EQ. NPROCS, 'the last world')
      IF (RANK .EQ. 0) THEN
         WRITE (*, '(A,I0,A,I0)') 'PASS epoch=', EPOCH, ' size=', NPROCS
      END IF
      CALL MPI_FINALIZE(IERR)
      END

      SUBROUTINE CHECK(OK, WHAT)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      LOGICAL OK
      CHARACTER*(*) WHAT
      INTEGER IERR
      IF (.NOT. OK) THEN
         WRITE (0, *) 'FAIL fortran_mpif: ', WHAT
         CALL MPI_ABORT(MPI_COMM_WORLD, 99, IERR)
      END IF
      END
