/*
 * Memory of a GPU, which the library's own copies cannot reach and an MPI that is not built for it
 * sends as garbage or with a crash.  Known are devices of CUDA, if the program has loaded its
 * driver: nothing is loaded for the question.  Private to adapt_data.
 */

#ifndef DEVICE_MEMORY_H_INCLUDED
#define DEVICE_MEMORY_H_INCLUDED

/* Why the library cannot move what is at this address, or NULL.  Managed memory is no error. */
const char *adapt_device_memory(const void *address);

#endif /* DEVICE_MEMORY_H_INCLUDED */
