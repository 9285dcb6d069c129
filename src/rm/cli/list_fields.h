/*
 * Fields that a list can show and sort by, with their letters and names in Slurm's commands.  Pure:
 * JSON as in doc/admin/elasticd-api.md in, text out.
 */

#ifndef ELASTIC_CLI_LIST_FIELDS_H_INCLUDED
#define ELASTIC_CLI_LIST_FIELDS_H_INCLUDED

#include <optional>
#include <span>

#include "cli/output.h"

namespace elastic {

/* A field of one row: the text, and the sort key of a number or a time. */
struct FieldValue {
    std::string text;
    std::optional<int64_t> number = std::nullopt;
};

struct Field {
    const char *names;          /* "jobid,id": messages show the first one; lower case */
    char letter;                /* of Slurm's --format; 0: none */
    const char *title;
    Table::Align align;
    FieldValue (*value)(const Json &row, int64_t now_ms);
};

/* The fields of one kind of row. */
class FieldTable {
  public:
    constexpr FieldTable(std::span<const Field> fields) : fields_(fields) {}

    /* Ignores the case of letters; nullptr: no such field. */
    const Field *find(const std::string &name) const;
    const Field *find(char letter) const;
    /* "jobid, name, ..." and "%i, %j, ...": for messages. */
    std::string names() const;
    std::string letters() const;

  private:
    std::span<const Field> fields_;
};

/* Compares as numbers if both are numbers, else as text: below, equal to or above 0. */
int compare(const FieldValue &x, const FieldValue &y);

}  // namespace elastic

#endif /* ELASTIC_CLI_LIST_FIELDS_H_INCLUDED */
