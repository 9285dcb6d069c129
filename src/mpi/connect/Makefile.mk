# Shared by adaptations, sessions and process requests: the board, and the communicators of this process.

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/connect

noinst_HEADERS += \
    src/mpi/connect/connect_board.h \
    src/mpi/connect/connect_comms.h

mpi_core_sources += \
    src/mpi/connect/connect_board.c \
    src/mpi/connect/connect_comms.c \
    src/mpi/connect/connect_replies.c
