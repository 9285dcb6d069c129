# Calls of upstream's files and of the device that concern several of adapt, session, dynproc and process.

mpi_core_sources += \
    src/mpi/hooks/device_callbacks.c \
    src/mpi/hooks/hooks.c
