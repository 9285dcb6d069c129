/*
 * Common output of all commands of `elastic`: exit codes, lines, tables, times.  Results go to
 * standard output, errors to standard error.  No state.
 */

#ifndef ELASTIC_CLI_OUTPUT_H_INCLUDED
#define ELASTIC_CLI_OUTPUT_H_INCLUDED

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/change.h"

namespace elastic {

using Json = nlohmann::ordered_json;

/* One definition for every command; only `elastic run` returns its job's code instead. */
enum ExitCode { DONE = 0, REFUSED = 1, USAGE = 2, NOT_FOUND = 3, UNREACHABLE = 4 };

/* Text of other processes is printed by these functions alone, in the form of printable(). */
/* Prints "elastic: MESSAGE" to standard error; a message may have several lines. */
void print_note(const std::string &message);
/* The same; returns the code. */
int complain(ExitCode code, const std::string &message);
/* Flushed: the reader may be a pipe. */
void print_line(const std::string &line);
/* One line of JSON, which stays complete: control characters become \u00XX. */
std::string json_line(const Json &json);
void print_json(const Json &json);

/* A member as text: strings bare, everything else as JSON; "null" if it is missing. */
std::string text_of(const Json &object, const char *name);
/* A member, or the default if it is missing, null or of another type.  Never throws: answers
 * come from a program that may be newer than this one. */
std::string string_or(const Json &object, const char *name, const std::string &otherwise);
double number_or(const Json &object, const char *name, double otherwise);
int64_t integer_or(const Json &object, const char *name, int64_t otherwise);
bool bool_or(const Json &object, const char *name, bool otherwise);
/* A member that is a list or object; an empty one of that kind if it does not exist. */
const Json &list_of(const Json &object, const char *name);
const Json &object_of(const Json &object, const char *name);

/* "a|b" for programs: a bar within a cell becomes '?'.  sacct's --parsable has a bar at the end,
 * too. */
enum class Parsable { NO, BARS, BARS_BETWEEN };
std::string parsable_line(const std::vector<std::string> &cells, Parsable parsable);

/* Columns as wide as their widest cell, the last one unlimited. */
class Table {
  public:
    enum Align { LEFT, RIGHT };
    struct Column {
        std::string title;
        Align align = LEFT;
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> cells);
    /* The lines, without newlines; cells lose control characters, and are cut at CELL_MAX.
     * Fields between bars are complete. */
    std::vector<std::string> lines(bool with_header = true) const;
    void print(bool with_header = true, Parsable parsable = Parsable::NO) const;

    static constexpr size_t CELL_MAX = 400;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/* Columns that `text` takes on a terminal, if it is UTF-8 of narrow characters. */
size_t columns_of(const std::string &text);
/* The part of such a text that fits into this number of columns. */
std::string first_columns(const std::string &text, size_t columns);

/* Slurm's format: "0:07", "12:30", "3:00:00", "2-00:00:00"; negative: "-". */
std::string format_duration(int64_t milliseconds);
/* "2026-11-21T14:03:07" in local time; 0 or less: "-". */
std::string format_time(int64_t unix_ms);

}  // namespace elastic

#endif /* ELASTIC_CLI_OUTPUT_H_INCLUDED */
