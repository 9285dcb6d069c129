/*
 * The format of a list of jobs or nodes: the --format of squeue and sinfo, squeue's --Format and
 * sacct's --format, fields between bars for programs, and squeue's --sort.  Pure.
 */

#ifndef ELASTIC_CLI_LIST_FORMAT_H_INCLUDED
#define ELASTIC_CLI_LIST_FORMAT_H_INCLUDED

#include "base/result.h"
#include "cli/list_fields.h"

namespace elastic {

/* One field of a line, and the text before it. */
struct FormatPart {
    std::string before;
    const Field *field;
    size_t width = 0;           /* 0: the width of its text */
    bool right = false;
};

class ListFormat {
  public:
    /* "%.18i %.9j %T": squeue's --format; the text between the fields is printed as it is. */
    static Result<ListFormat> of_letters(const FieldTable &fields, const std::string &text);
    /* "jobid:8,name:.20,state" (squeue's --Format) or "JobID,JobName%20" (sacct's --format):
     * columns without a given width are as wide as their widest cell. */
    static Result<ListFormat> of_names(const FieldTable &fields, const std::string &text);
    /* Letters if there is a "%" before a letter, else names. */
    static Result<ListFormat> of(const FieldTable &fields, const std::string &text);

    std::vector<std::string> lines(const std::vector<Json> &items, int64_t now_ms,
                                   bool with_header) const;
    std::vector<std::string> titles() const;
    std::vector<std::string> row(const Json &item, int64_t now_ms) const;
    const std::vector<FormatPart> &parts() const { return parts_; }

  private:
    std::vector<FormatPart> parts_;
    std::string end_;           /* after the last field */
    bool is_table_ = false;     /* made of names */
};

/* "t,-p,S", "state,-priority": letters and names of fields, '-' for falling.  Stable. */
struct SortKey {
    const Field *field;
    bool falling = false;
};
Result<std::vector<SortKey>> parse_sort(const FieldTable &fields, const std::string &text);
void sort_items(std::vector<Json> &items, const std::vector<SortKey> &keys, int64_t now_ms);

}  // namespace elastic

#endif /* ELASTIC_CLI_LIST_FORMAT_H_INCLUDED */
