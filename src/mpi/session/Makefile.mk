# MPI Sessions: what is ours of them, in place of or beside upstream's in src/mpi/init and src/mpi/comm.

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/session

include_HEADERS += src/include/mpi_session_dyn.h src/include/mpidynres.h src/include/mpidynres_sim.h
noinst_HEADERS += \
    src/include/mpir_pset_fortran.h \
    src/include/mpir_session_call.h \
    src/include/session_calls.h \
    src/mpi/session/session.h \
    src/mpi/session/session_agree.h \
    src/mpi/session/session_contact.h

mpi_core_sources += \
    src/mpi/session/session_addresses.c \
    src/mpi/session/session_agree.c \
    src/mpi/session/session_answer.c \
    src/mpi/session/session_apart.c \
    src/mpi/session/session_bcast.c \
    src/mpi/session/session_cache.c \
    src/mpi/session/session_call.c \
    src/mpi/session/session_change.c \
    src/mpi/session/session_comm.c \
    src/mpi/session/session_fortran.c \
    src/mpi/session/session_hints.c \
    src/mpi/session/session_iget.c \
    src/mpi/session/session_inbox.c \
    src/mpi/session/session_introduce.c \
    src/mpi/session/session_join.c \
    src/mpi/session/session_life.c \
    src/mpi/session/session_liveness.c \
    src/mpi/session/session_local_sets.c \
    src/mpi/session/session_lookup.c \
    src/mpi/session/session_members.c \
    src/mpi/session/session_objects.c \
    src/mpi/session/session_open.c \
    src/mpi/session/session_rendezvous.c \
    src/mpi/session/session_request.c \
    src/mpi/session/session_sets.c \
    src/mpi/session/session_user_psets.c \
    src/mpid/ch4/src/ch4_session.c \
    src/mpid/ch4/netmod/ofi/ofi_session.c \
    src/mpid/ch4/shm/posix/posix_session.c \
    src/mpid/ch4/shm/src/shm_session.c
