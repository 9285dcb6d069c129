/*
 * The fields of a job that a list can show and sort by, with the letters of squeue's --format and
 * the names of squeue's --Format and sacct's --format.  Pure: JSON as in doc/admin/elasticd-api.md
 * in, text out.
 */

#ifndef ELASTIC_CLI_JOB_FIELDS_H_INCLUDED
#define ELASTIC_CLI_JOB_FIELDS_H_INCLUDED

#include <optional>

#include "cli/output.h"

namespace elastic {

/* What a field is for one job: the text, and of a number or a time what it is sorted by. */
struct FieldValue {
    std::string text;
    std::optional<int64_t> number = std::nullopt;
};

struct JobField {
    const char *names;          /* "jobid,id": the first is shown in messages; lower case */
    char letter;                /* of squeue; 0: none */
    const char *title;
    Table::Align align;
    FieldValue (*value)(const Json &job, int64_t now_ms);
};

/* Whatever the case of the letters; nullptr: there is none. */
const JobField *find_field(const std::string &name);
const JobField *find_field(char letter);
/* "jobid, name, ..." and "%i, %j, ...": for messages. */
std::string field_names();
std::string field_letters();

/* By number if both are one, else by text: below, equal to or above 0. */
int compare(const FieldValue &x, const FieldValue &y);

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_FIELDS_H_INCLUDED */
