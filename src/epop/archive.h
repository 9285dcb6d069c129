/* Archives: shared objects that define get_program.  SPEC-epop E1.  They stay loaded. */

#ifndef EPOP_ARCHIVE_H_INCLUDED
#define EPOP_ARCHIVE_H_INCLUDED

#include "epop.h"

#include <stdbool.h>
#include <stddef.h>

/* Finds the file NAME, NAME.epop or NAME.so; the path contains a slash.  False: there is none. */
bool epop_archive_find(const char *name, char *path, size_t size);

/* The archive's get_program.  NULL: `why` is a sentence about the file. */
program_t *(*epop_archive_open(const char *path, char *why, size_t size)) (void);

#endif /* EPOP_ARCHIVE_H_INCLUDED */
