/*
 * Call sites of MPI in a program: the addresses that the calls return to, and their identities in
 * other processes.  SPEC-performance S1, S3, S4.
 *
 * An identity is 64 bits, computed from the module's build id (without one its base name) and the
 * offset in it: it does not depend on where the module is loaded.  Bit 63 marks identities that the
 * program has given.
 */

#ifndef ADAPT_SITE_H_INCLUDED
#define ADAPT_SITE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MPIR_SITE_GIVEN (UINT64_C(1) << 63)

/* Called before all others: finds the addresses of this library and of the Fortran bindings. */
void MPIR_Site_init(void);
/* Whether the address is in this library: one MPI function has called another. */
bool MPIR_Site_is_own(uintptr_t address);
/* Whether the address is in a Fortran binding: the call site is then in the binding's caller. */
bool MPIR_Site_is_fortran(uintptr_t address);
/* The first caller outside of the bindings, by unwinding the stack; otherwise `address`. */
uintptr_t MPIR_Site_unwind(uintptr_t address);
/* The identity of an address in the program; takes microseconds. */
uint64_t MPIR_Site_identity(uintptr_t address);
/* Write "MODULE+0xOFFSET" for addr2line, "?" if no module is known.  The first has the module's
 * path; the second has its base name, truncated if the text is too short. */
void MPIR_Site_print(uintptr_t address, FILE * file);
void MPIR_Site_name(uintptr_t address, char *text, size_t bytes);

#endif /* ADAPT_SITE_H_INCLUDED */
