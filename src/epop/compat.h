/*
 * phase_adapt calls begin and commit itself, but the driver has opened the window before (in it, a
 * header selects the phase_adapt that joining processes call).  So the calls of phase_adapt return
 * the results of the driver's begin: SPEC-epop W4.  State: the one open window of the process.
 */

#ifndef EPOP_COMPAT_H_INCLUDED
#define EPOP_COMPAT_H_INCLUDED

#include "epop.h"

/* The window is open, for one begin and one commit. */
void epop_compat_open(const epop_window_t * window);

/* Closes the window.  NULL if both have been called and commit has succeeded; else the error.  An
 * earlier error, such as a second begin, ends the job at once. */
const char *epop_compat_close(void);

#endif /* EPOP_COMPAT_H_INCLUDED */
