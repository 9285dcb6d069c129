C     The operations on process sets by mpif.h.  Run by 2 processes.
      PROGRAM SETS
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER SESS, INFO, DATA, WORLD, REQ, RANK, IERR, N, CALLS
      LOGICAL FLAG, PRIM
      CHARACTER*255 NAME
      CHARACTER*16 NAMES(2), PARTS(2), KEYS(2), VALUE
      CHARACTER*40 TEXT

      CALL MPI_SESSION_INIT(MPI_INFO_NULL, MPI_ERRORS_RETURN, SESS,
     &     IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'init')
      CALL MPI_GROUP_FROM_SESSION_PSET(SESS, 'mpi://WORLD', WORLD, IERR)
      CALL MPI_GROUP_RANK(WORLD, RANK, IERR)
      CALL MPIX_SESSION_GET_DEFAULT_PSET(SESS, NAME, FLAG, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS .AND. NAME .EQ. 'mpi://WORLD'
     &     .AND. .NOT. FLAG, 'default set')
      CALL MPIX_SESSION_GET_PRIMARY_PROCESS(SESS, 'mpi://WORLD', PRIM,
     &     IERR)
      CALL CHECK(PRIM .EQV. RANK .EQ. 0, 'primary')
      CALL MPIX_SESSION_PSET_INCLUDED(SESS, 'mpi://SELF ', FLAG, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS .AND. FLAG, 'included')

      CALL CHECK(MPIX_RC_NONE .EQ. 0 .AND. MPIX_RC_ADD .EQ. 1 .AND.
     &     MPIX_RC_SUB .EQ. 2, 'kinds of changes')
      CALL MPIX_SESSION_RC_GET(SESS, ' ', CALLS, NAME, N,
     &     INFO, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS .AND. CALLS .EQ. MPIX_RC_NONE
     &     .AND. NAME .EQ. ' ' .AND. N .EQ. -1, 'no change')

      CALL CHECK(MPI_MAX_PSET_NAME_LEN .EQ. 255, 'length of names')
      IF (RANK .EQ. 0) THEN
         NAMES(1) = 'mpi://SELF'
         NAMES(2) = 'mpi://WORLD'
         CALL MPI_INFO_CREATE(INFO, IERR)
         CALL MPI_INFO_SET(INFO, 'mpix_name', 'app://union', IERR)
         N = 2
         CALL MPIX_SESSION_PSET_OP(SESS, MPIX_PSETOP_UNION, NAMES, 2,
     &        INFO, PARTS, N, IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS .AND. N .EQ. 1 .AND.
     &        PARTS(1) .EQ. 'app://union', 'union')
         CALL MPI_INFO_SET(INFO, 'mpi_part_sizes', '1,1', IERR)
         NAMES(1) = PARTS(1)
         N = 2
         CALL MPIX_SESSION_PSET_OP(SESS, MPIX_PSETOP_SPLIT, NAMES, 1,
     &        INFO, PARTS, N, IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS .AND. N .EQ. 2 .AND.
     &        PARTS(2) .EQ. 'mpix://op/0.2', 'split')
         CALL MPI_INFO_FREE(INFO, IERR)
         CALL MPIX_SESSION_PSET_FROM_GROUP(SESS, WORLD, MPI_INFO_NULL,
     &        NAME, IERR)
         CALL CHECK(NAME .EQ. 'mpix://op/0.3', 'set of a group')
         CALL MPIX_SESSION_PSET_MOVE(SESS, NAME, 'app://all', IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'move')
         CALL MPI_INFO_CREATE(INFO, IERR)
         CALL MPI_INFO_SET(INFO, 'number', '42', IERR)
         CALL MPIX_SESSION_SET_PSET_DATA(SESS, 'mpi://WORLD', INFO,
     &        IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'set data')
         CALL MPI_INFO_FREE(INFO, IERR)
      END IF
      KEYS(1) = 'number'
      KEYS(2) = 'colour'
      CALL MPIX_SESSION_GET_PSET_DATA(SESS, 'mpi://WORLD',
     &     'mpi://WORLD', KEYS, 1, .TRUE., DATA, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'get data')
      CALL MPI_INFO_GET(DATA, 'number', 16, VALUE, FLAG, IERR)
      CALL CHECK(FLAG .AND. VALUE .EQ. '42', 'data')
      CALL MPI_INFO_FREE(DATA, IERR)
      CALL MPIX_SESSION_IGET_PSET_DATA(SESS, 'mpi://SELF',
     &     'mpi://WORLD', KEYS, 2, .FALSE., DATA, REQ, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'request for data')
      CALL MPI_WAIT(REQ, MPI_STATUS_IGNORE, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'wait for data')
      CALL MPI_INFO_GET(DATA, 'number', 16, VALUE, FLAG, IERR)
      CALL CHECK(FLAG .AND. VALUE .EQ. '42', 'data of the request')
      CALL MPI_INFO_FREE(DATA, IERR)

C     it runs when rank 1 has begun
      FLAG = .FALSE.
      DO WHILE (.NOT. FLAG)
        CALL MPIX_SESSION_PSET_EXISTS(SESS, 'app://all', FLAG, INFO,
     &                                IERR)
        CALL CHECK(INFO .NE. MPI_INFO_NULL, 'exists')
        CALL MPI_INFO_FREE(INFO, IERR)
      END DO
      CALL MPIX_SESSION_GET_PSETS(SESS, MPI_INFO_NULL, INFO, IERR)
      CALL MPI_INFO_GET(INFO, 'app://all', 16, VALUE, FLAG, IERR)
      CALL CHECK(FLAG .AND. VALUE .EQ. '2', 'list of sets')
      CALL MPI_INFO_FREE(INFO, IERR)
C     Who ends would end the set of the other one
      IF (RANK .EQ. 1) THEN
         CALL MPI_INFO_CREATE(INFO, IERR)
         CALL MPI_INFO_SET(INFO, 'colour', 'seen', IERR)
         CALL MPIX_SESSION_SET_PSET_DATA(SESS, 'mpi://WORLD', INFO,
     &        IERR)
         CALL MPI_INFO_FREE(INFO, IERR)
      END IF
      CALL MPIX_SESSION_GET_PSET_DATA(SESS, 'mpi://WORLD',
     &     'mpi://WORLD', KEYS(2), 1, .TRUE., DATA, IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'seen by the other one')
      CALL MPI_INFO_FREE(DATA, IERR)

      CALLS = 0
      TEXT = ' '
   10 IF (TEXT .EQ. ' ') THEN
         CALLS = CALLS + 1
         IF (PRIM .AND. CALLS .EQ. 3) TEXT = 'a text with blanks'
         CALL MPIX_SESSION_BCAST_PSET_INFO(SESS, 'mpi://WORLD', TEXT,
     &        40, PRIM, IERR)
         CALL CHECK(IERR .EQ. MPI_SUCCESS, 'broadcast')
         GOTO 10
      END IF
      CALL CHECK(TEXT .EQ. 'a text with blanks' .AND. CALLS .GT. 3,
     &     'text')
C     The other one has opened at it
      IF (RANK .EQ. 1)
     &     CALL MPIX_SESSION_PSET_FREE(SESS, 'app://all', IERR)
      CALL CHECK(IERR .EQ. MPI_SUCCESS, 'free')
      CALL MPI_GROUP_FREE(WORLD, IERR)
      CALL MPI_SESSION_FINALIZE(SESS, IERR)
      IF (RANK .EQ. 0) PRINT '(A)', 'PASS session_sets'
      END

      SUBROUTINE CHECK(OK, WHAT)
      IMPLICIT NONE
      LOGICAL OK
      CHARACTER*(*) WHAT
      IF (.NOT. OK) THEN
         PRINT '(2A)', 'FAIL ', WHAT
         STOP 1
      END IF
      END
