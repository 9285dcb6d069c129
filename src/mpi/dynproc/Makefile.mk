# Processes that a program starts, and clients and servers (doc/user/dynamic-processes.md).

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/dynproc

include_HEADERS += src/include/mpe_dynamic.h
noinst_HEADERS += \
    src/include/mpir_dynproc_fortran.h \
    src/mpi/dynproc/dynproc.h \
    src/mpi/dynproc/dynproc_events.h \
    src/mpi/dynproc/dynproc_lines.h \
    src/mpi/dynproc/dynproc_link.h \
    src/mpi/dynproc/dynproc_names.h \
    src/mpi/dynproc/dynproc_seal.h \
    src/mpi/dynproc/dynproc_service.h \
    src/mpid/ch4/netmod/ofi/ofi_dynproc.h \
    src/mpid/ch4/src/ch4_dynproc.h \
    src/mpid/ch4/src/ch4_exited.h \
    src/mpid/ch4/src/ch4_unresolved.h

mpi_core_sources += \
    src/mpi/dynproc/attach.c \
    src/mpi/dynproc/contact.c \
    src/mpi/dynproc/dynproc_fortran.c \
    src/mpi/dynproc/events.c \
    src/mpi/dynproc/lines.c \
    src/mpi/dynproc/link.c \
    src/mpi/dynproc/name_directory.c \
    src/mpi/dynproc/name_listen.c \
    src/mpi/dynproc/name_reserve.c \
    src/mpi/dynproc/name_secret.c \
    src/mpi/dynproc/name_service.c \
    src/mpi/dynproc/names.c \
    src/mpi/dynproc/parent.c \
    src/mpi/dynproc/port.c \
    src/mpi/dynproc/requests.c \
    src/mpi/dynproc/seal.c \
    src/mpi/dynproc/service.c \
    src/mpi/dynproc/spawn.c \
    src/mpi/dynproc/watch.c \
    src/mpid/ch4/netmod/ofi/ofi_dynproc.c \
    src/mpid/ch4/netmod/ofi/ofi_unresolved.c \
    src/mpid/ch4/src/ch4_dynproc.c \
    src/mpid/ch4/src/ch4_exited.c \
    src/mpid/ch4/src/ch4_failed_requests.c \
    src/mpid/ch4/src/ch4_unresolved.c
