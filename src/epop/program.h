/*
 * The structure of a program, and its validation: SPEC-epop P1, P3, W2 and E1's --print.  Pure: no
 * MPI call, no state, output only to a given stream.
 */

#ifndef EPOP_PROGRAM_H_INCLUDED
#define EPOP_PROGRAM_H_INCLUDED

#include <stdbool.h>
#include <stdio.h>
#include "epop.h"

/* Whether the driver can run the program.  If not, `why` is a sentence that names element and
 * field. */
bool epop_program_is_whole(const program_t * program, char *why, size_t size);

/* The element's name in messages; for an element without a name it is made in `buffer`. */
const char *epop_element_name(const program_t * program, int pc, char *buffer, size_t size);

const char *epop_type_name(int type);

/* Calls the function of INIT, from the field init or phase_exec. */
int epop_program_init(const program_t * program, int *argn, char ***argc, void **data);

/* A hash of number, types and names of the elements: it is the same in processes that run the same
 * program. */
uint64_t epop_structure_hash(const program_t * program);

/* A checksum that detects changes of the array of elements. */
uint64_t epop_elements_sum(const program_t * program);

/* The structure as JSON, one line for each element. */
void epop_program_print(FILE * out, const program_t * program, const char *name);

#endif /* EPOP_PROGRAM_H_INCLUDED */
