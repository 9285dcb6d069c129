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

/* Before all others: learns where this library is, and those with Fortran bindings. */
void MPIR_Site_init(void);
/* The address is in this library: one MPI function has called another. */
bool MPIR_Site_is_own(uintptr_t address);
/* The address is in a Fortran binding: the site is whoever called that. */
bool MPIR_Site_is_fortran(uintptr_t address);
/* The first caller outside of the bindings, by unwinding the stack; otherwise `address`. */
uintptr_t MPIR_Site_unwind(uintptr_t address);
/* Of an address in the program; takes microseconds. */
uint64_t MPIR_Site_identity(uintptr_t address);
/* "MODULE+0xOFFSET" for addr2line, "?" if no module is known: with the module's path, or its base
 * name, of which as much as the text holds. */
void MPIR_Site_print(uintptr_t address, FILE * file);
void MPIR_Site_name(uintptr_t address, char *text, size_t bytes);

#endif /* ADAPT_SITE_H_INCLUDED */
