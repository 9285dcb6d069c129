/* Texts of error classes: what upstream's errutil.c asks for. */

#ifndef ADAPT_ERROR_CLASSES_H_INCLUDED
#define ADAPT_ERROR_CLASSES_H_INCLUDED

/* Of a class that upstream's table does not have. */
const char *MPIR_Adapt_class_text(int error_class);

#endif /* ADAPT_ERROR_CLASSES_H_INCLUDED */
