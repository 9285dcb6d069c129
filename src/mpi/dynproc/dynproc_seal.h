/*
 * Seals (MACs): 16 bytes that only a process with the secret can compute from a message,
 * SipHash-2-4 with 128 bits. No state.
 */

#ifndef SEAL_H_INCLUDED
#define SEAL_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#define MPIR_DYNPROC_SEAL 16

void MPIR_Dynproc_seal(const unsigned char secret[MPIR_DYNPROC_SEAL], const void *bytes, size_t n,
                       unsigned char seal[MPIR_DYNPROC_SEAL]);
/* Compares in constant time. */
int MPIR_Dynproc_same(const unsigned char *one, const unsigned char *other, size_t n);

#endif /* SEAL_H_INCLUDED */
