/*
 * Detects memory of a GPU: the library cannot copy it, and an MPI that is not built for it sends
 * garbage or crashes.  It detects devices of CUDA if the program has loaded the driver; the test
 * loads no library.  Private to adapt_data.
 */

#ifndef DEVICE_MEMORY_H_INCLUDED
#define DEVICE_MEMORY_H_INCLUDED

/* The reason why the library cannot move the data at this address, or NULL.  Managed memory is no
 * error. */
const char *adapt_device_memory(const void *address);

#endif /* DEVICE_MEMORY_H_INCLUDED */
