/*
 * The fields of a job, with the letters of squeue's --format and the names of squeue's --Format
 * and sacct's --format.
 */

#ifndef ELASTIC_CLI_JOB_FIELDS_H_INCLUDED
#define ELASTIC_CLI_JOB_FIELDS_H_INCLUDED

#include "cli/list_fields.h"

namespace elastic {

extern const FieldTable JOB_FIELDS;

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_FIELDS_H_INCLUDED */
