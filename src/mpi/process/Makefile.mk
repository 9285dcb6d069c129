# Slots and processes that a program starts one by one (doc/user/dynamic-processes.md).

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/process

noinst_HEADERS += \
    src/mpi/process/process.h \
    src/mpi/process/process_world.h

mpi_core_sources += \
    src/mpi/process/process_calls.c \
    src/mpi/process/process_parent.c \
    src/mpi/process/process_requests.c \
    src/mpi/process/process_start.c \
    src/mpi/process/process_stub.c \
    src/mpi/process/process_world.c
