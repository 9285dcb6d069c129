/*
 * The number of bytes that one asynchronous operation on a file transfers.  A system transfers
 * fewer than 2 GiB in one call, and reports success with the transferred bytes.  Longer data are
 * transferred by the blocking operation, in pieces, before the nonblocking call returns.
 */

#ifndef AIO_LIMIT_H_INCLUDED
#define AIO_LIMIT_H_INCLUDED

#define ADIOI_AIO_BYTES_MAX (1 << 30)

#endif /* AIO_LIMIT_H_INCLUDED */
